#include "wire/handshake.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace lapwing::wire {
namespace {

using Bytes = std::vector<std::byte>;
using State = Handshake::State;

Nonce nonce_of(int value) {
  Nonce nonce;
  nonce.fill(static_cast<std::byte>(value));
  return nonce;
}

constexpr std::uint32_t kJob = 0x01020304;

class HandshakeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(key_.set(std::string(32, 's')).ok());
    ASSERT_TRUE(other_key_.set(std::string(32, 't')).ok());
  }
  Handshake connector(std::uint32_t from = 2, std::uint32_t to = 5) {
    return Handshake::connector(key_, {kJob, from}, {kJob, to}, nonce_of(1));
  }
  Handshake acceptor(std::uint32_t self = 5, int nonce = 9) {
    return Handshake::acceptor(key_, {kJob, self}, 8, nonce_of(nonce));
  }

  JobKey key_, other_key_;
};

Bytes output_of(const Handshake& handshake) {
  return Bytes(handshake.output(), handshake.output() + handshake.output_bytes());
}

// Feeds as a socket would: never more than wanted, `piece` bytes at a time. Returns how many bytes were taken.
std::size_t feed(Handshake& handshake, const Bytes& bytes, std::size_t piece = 1000) {
  std::size_t taken = 0;
  while (taken < bytes.size() && handshake.wanted() > 0) {
    const std::size_t count = std::min({piece, handshake.wanted(), bytes.size() - taken});
    handshake.receive(&bytes[taken], count);
    taken += count;
  }
  return taken;
}

TEST_F(HandshakeTest, Succeeds) {
  for (const std::size_t piece : {1, 7, 1000}) {
    Handshake a = connector(), b = acceptor();
    const Bytes hello = output_of(a);
    EXPECT_EQ(hello.size(), Handshake::kHelloBytes);
    EXPECT_EQ(feed(b, hello, piece), hello.size());
    ASSERT_EQ(b.state(), State::kResponse);
    const Bytes challenge = output_of(b);
    EXPECT_EQ(challenge.size(), Handshake::kChallengeBytes);
    EXPECT_EQ(feed(a, challenge, piece), challenge.size());
    ASSERT_EQ(a.state(), State::kVerdict);
    const Bytes response = output_of(a);
    EXPECT_EQ(response.size(), Handshake::kResponseBytes);
    feed(b, response, piece);
    ASSERT_EQ(b.state(), State::kProven);
    EXPECT_EQ(b.peer(), (JobRank{kJob, 2}));
    b.decide(Verdict::kAccepted, {0x1122334455, 7});
    EXPECT_EQ(b.state(), State::kAccepted);
    Bytes verdict = output_of(b);
    verdict.resize(verdict.size() + 100);  // frames that follow at once are not touched
    EXPECT_EQ(feed(a, verdict, piece), Handshake::kVerdictBytes);
    EXPECT_EQ(a.state(), State::kAccepted);
    EXPECT_EQ(a.peer_position().next_expected, 0x1122334455u);
    EXPECT_EQ(a.peer_position().attempt, 7u);
  }
}

TEST_F(HandshakeTest, PassesTheVerdictOn) {
  for (const auto& [verdict, state] :
       {std::pair(Verdict::kDuplicate, State::kDuplicate), {Verdict::kGone, State::kGone}}) {
    Handshake a = connector(), b = acceptor();
    feed(b, output_of(a));
    feed(a, output_of(b));
    feed(b, output_of(a));
    b.decide(verdict);
    EXPECT_NE(b.state(), State::kAccepted);
    feed(a, output_of(b));
    EXPECT_EQ(a.state(), state);
  }
}

// One that has been given up hears when and why, if it knows that verdict; else that the connection is over.
TEST_F(HandshakeTest, OneThatIsGivenUpIsTold) {
  Terms knows, knows_not;
  knows.features = kFeatureGivenUp;
  for (const bool connector_too : {false, true}) {
    for (const bool acceptor_too : {false, true}) {
      Handshake a = Handshake::connector(key_, {kJob, 2}, {kJob, 5}, nonce_of(1), connector_too ? knows : knows_not);
      Handshake b = Handshake::acceptor(key_, {kJob, 5}, 8, nonce_of(9), acceptor_too ? knows : knows_not);
      feed(b, output_of(a));
      feed(a, output_of(b));
      feed(b, output_of(a));
      b.decide(Verdict::kGivenUp, {17, 2}, {60'000, 1500});
      EXPECT_NE(b.state(), State::kAccepted);
      const bool both = connector_too && acceptor_too;
      const Bytes verdict = output_of(b);
      const unsigned char pinned[24] = {'L', 'P', 'W', 'G', 3, 0, 4, 5, 0x60, 0xea, 0, 0, 0, 0, 0, 0, 0xdc, 5};
      ASSERT_EQ(verdict.size(), sizeof pinned);
      EXPECT_EQ(std::memcmp(verdict.data(), pinned, sizeof pinned) == 0, both);
      feed(a, verdict);
      ASSERT_EQ(a.state(), both ? State::kGivenUp : State::kGone);
      EXPECT_FALSE(a.failure().ok());
      if (!both) continue;
      EXPECT_EQ(a.giving_up().unreached_ms, 60'000u);
      EXPECT_EQ(a.giving_up().ago_ms, 1500u);
    }
  }
}

TEST_F(HandshakeTest, AVerdictThatIsNotKnownIsTold) {
  for (const std::uint8_t code : {0, 4, 6, 255}) {
    Handshake a = connector(), b = acceptor();
    feed(b, output_of(a));
    feed(a, output_of(b));
    feed(b, output_of(a));
    b.decide(static_cast<Verdict>(code));
    feed(a, output_of(b));
    EXPECT_EQ(a.state(), State::kFailed);
    EXPECT_EQ(a.failure().text(), "rank 5 answers with the verdict " + std::to_string(code) +
                                      ", which this rank does not know; run all ranks with the same Lapwing");
  }
}

TEST_F(HandshakeTest, HelloBytesArePinned) {
  const Bytes hello = output_of(connector());
  const unsigned char prefix[8] = {'L', 'P', 'W', 'G', 3, 0, 1, 0};
  EXPECT_EQ(std::memcmp(hello.data(), prefix, 8), 0);
  EXPECT_EQ(std::memcmp(&hello[8], key_.id().data(), 16), 0);
  const unsigned char names[16] = {4, 3, 2, 1, 2, 0, 0, 0, 4, 3, 2, 1, 5, 0, 0, 0};  // job and rank of each
  EXPECT_EQ(std::memcmp(&hello[24], names, 16), 0);
  EXPECT_EQ(hello[40], std::byte{1});
  const unsigned char terms[56] = {0, 0, 0, 0, 0, 0, 0, 4};
  EXPECT_EQ(std::memcmp(&hello[72], terms, 56), 0);
  EXPECT_EQ(hello.size(), 128u);
  EXPECT_EQ(Handshake::kChallengeBytes, 128u);
  EXPECT_EQ(Handshake::kVerdictBytes, 24u);
}

TEST_F(HandshakeTest, AnotherJobIsRefusedAtHello) {
  Handshake b = acceptor();
  feed(b, output_of(Handshake::connector(other_key_, {kJob, 2}, {kJob, 5}, nonce_of(1))));
  EXPECT_EQ(b.state(), State::kFailed);
  EXPECT_EQ(b.output_bytes(), 0u);
  EXPECT_STREQ(b.failure().text(), "a rank of another job asked for a connection");
}

TEST_F(HandshakeTest, AnAcceptorWithoutTheSecretIsNoticed) {
  Handshake a = connector(), b = acceptor();
  feed(b, output_of(a));
  Bytes challenge = output_of(b);
  challenge.back() ^= std::byte{1};
  feed(a, challenge);
  EXPECT_EQ(a.state(), State::kFailed);
  EXPECT_EQ(a.output_bytes(), 0u) << "no proof may go to a program that happens to answer there";
}

TEST_F(HandshakeTest, AConnectorWithoutTheSecretIsNoticed) {
  Handshake a = connector(), b = acceptor();
  feed(b, output_of(a));
  feed(a, output_of(b));
  Bytes response = output_of(a);
  response[Handshake::kPrefixBytes] ^= std::byte{0x80};
  feed(b, response);
  EXPECT_EQ(b.state(), State::kFailed);
}

TEST_F(HandshakeTest, TermsAreProvenAndMustAgree) {
  Terms small;
  small.frame_limit = 1000;
  {
    Handshake a = connector(), b = acceptor();
    Bytes hello = output_of(a);
    hello[72] ^= std::byte{1};  // a feature that the connector did not ask for
    feed(b, hello);
    feed(a, output_of(b));
    EXPECT_EQ(a.state(), State::kFailed) << "the acceptor's proof covers what it has read";
  }
  {
    Handshake a = connector(), b = Handshake::acceptor(key_, {kJob, 5}, 8, nonce_of(9), small);
    feed(b, output_of(a));
    feed(a, output_of(b));
    EXPECT_EQ(a.state(), State::kFailed);
    EXPECT_EQ(a.output_bytes(), 0u);
    EXPECT_STREQ(a.failure().text(), "rank 5 takes frames of at most 1000 bytes; every rank must take 1048576");
  }
  Handshake a = Handshake::connector(key_, {kJob, 2}, {kJob, 5}, nonce_of(1), small), b = acceptor();
  feed(b, output_of(a));
  feed(a, output_of(b));
  EXPECT_EQ(b.state(), State::kResponse) << "nothing is said to a stranger";
  feed(b, output_of(a));
  EXPECT_EQ(b.state(), State::kFailed);
  EXPECT_EQ(b.peer_terms().frame_limit, 1000u);
}

TEST_F(HandshakeTest, AFeatureIsOnWhenBothSidesAskForIt) {
  Terms resumes;
  resumes.features = kFeatureResume;
  resumes.frame_limit = kLeastFrameLimit;
  resumes.position = {41, 3};
  for (const bool connector_too : {false, true}) {
    for (const bool acceptor_too : {false, true}) {
      Handshake a = Handshake::connector(key_, {kJob, 2}, {kJob, 5}, nonce_of(1), connector_too ? resumes : Terms());
      Handshake b = Handshake::acceptor(key_, {kJob, 5}, 8, nonce_of(9), acceptor_too ? resumes : Terms());
      feed(b, output_of(a));
      feed(a, output_of(b));
      feed(b, output_of(a));
      ASSERT_EQ(b.state(), State::kProven);
      EXPECT_EQ(a.has(kFeatureResume), connector_too && acceptor_too);
      EXPECT_EQ(b.has(kFeatureResume), connector_too && acceptor_too);
      EXPECT_EQ(b.peer_position().next_expected, connector_too ? 41u : 0u);
      EXPECT_EQ(b.peer_position().attempt, connector_too ? 3u : 0u);
    }
  }
}

// ---- how frames are protected ----------------------------------------------------------------------------------------

Terms asking_for(Protection protection) {
  Terms terms;
  terms.features = features_of(protection);
  return terms;
}

Secret secret_of(int value) {
  Secret secret;
  secret.bytes.fill(static_cast<std::byte>(value));
  return secret;
}

// Two sides, up to the acceptor's decision.
struct Pair {
  Pair(const JobKey& key, const Terms& connectors, const Terms& acceptors, int connectors_secret = 3, int acceptors_secret = 4)
      : a(Handshake::connector(key, {kJob, 2}, {kJob, 5}, nonce_of(1), connectors, secret_of(connectors_secret))),
        b(Handshake::acceptor(key, {kJob, 5}, 8, nonce_of(9), acceptors, secret_of(acceptors_secret))) {
    feed(b, output_of(a));
    feed(a, output_of(b));
    if (a.output_bytes() > 0) feed(b, output_of(a));
  }
  Handshake a, b;
};

TEST_F(HandshakeTest, RanksThatProtectFramesInDifferentWaysAreTold) {
  constexpr Protection kAll[] = {Protection::kPlain, Protection::kChecked, Protection::kSealed};
  for (const Protection connectors : kAll) {
    for (const Protection acceptors : kAll) {
      Pair pair(key_, asking_for(connectors), asking_for(acceptors));
      if (connectors == acceptors) {
        EXPECT_EQ(pair.b.state(), State::kProven);
        EXPECT_EQ(pair.a.protection(), connectors);
        continue;
      }
      EXPECT_EQ(pair.a.state(), State::kFailed);
      EXPECT_EQ(pair.a.failure().text(), std::string("rank 5 has LAPWING_WIRE=") + name_of(acceptors) + " and this rank LAPWING_WIRE=" +
                                             name_of(connectors) + "; every rank of a job needs the same");
      EXPECT_NE(pair.b.state(), State::kProven);
    }
  }
}

TEST_F(HandshakeTest, BothSidesFindTheSameKeysAndNoOtherPairDoes) {
  const Terms terms = asking_for(Protection::kSealed);
  const Pair pair(key_, terms, terms), again(key_, terms, terms), other(key_, terms, terms, 5), other_secret(other_key_, terms, terms);
  ASSERT_EQ(pair.b.state(), State::kProven);
  const SessionKeys &ours = pair.a.session_keys(), &theirs = pair.b.session_keys();
  EXPECT_EQ(ours.own.bytes, theirs.peers.bytes);
  EXPECT_EQ(ours.peers.bytes, theirs.own.bytes);
  EXPECT_NE(ours.own.bytes, ours.peers.bytes) << "a record that is sent back must not be right";
  EXPECT_EQ(ours.cipher, Aead::has_aes() ? Cipher::kAes256Gcm : Cipher::kChaCha20Poly1305);
  EXPECT_EQ(ours.own.bytes, again.a.session_keys().own.bytes);
  EXPECT_NE(ours.own.bytes, other.a.session_keys().own.bytes);
  EXPECT_NE(ours.own.bytes, other_secret.a.session_keys().own.bytes);
}

TEST_F(HandshakeTest, SealedWithoutAesOnOneSideUsesTheOtherCipher) {
  Terms without = asking_for(Protection::kSealed);
  without.features &= ~kFeatureAes;
  const Pair pair(key_, asking_for(Protection::kSealed), without);
  ASSERT_EQ(pair.b.state(), State::kProven);
  EXPECT_EQ(pair.a.session_keys().cipher, Cipher::kChaCha20Poly1305);
  EXPECT_EQ(pair.b.session_keys().cipher, Cipher::kChaCha20Poly1305);
}

// A man in the middle puts a public key of his own in the place of one, or asks for less.
TEST_F(HandshakeTest, PublicKeysAndWhatIsAskedForAreProven) {
  constexpr std::size_t kFeaturesAt = 72, kPublicKeyAt = 96;
  for (const auto& [at, change] : {std::pair(kPublicKeyAt, std::byte{1}), {kFeaturesAt, std::byte{kFeatureSealed}}, {kFeaturesAt, std::byte{kFeatureAes}}}) {
    Handshake a = Handshake::connector(key_, {kJob, 2}, {kJob, 5}, nonce_of(1), asking_for(Protection::kSealed), secret_of(3));
    Handshake b = Handshake::acceptor(key_, {kJob, 5}, 8, nonce_of(9), asking_for(Protection::kSealed), secret_of(4));
    Bytes hello = output_of(a);
    hello[at] ^= change;
    feed(b, hello);
    feed(a, output_of(b));
    EXPECT_EQ(a.state(), State::kFailed);
    EXPECT_STREQ(a.failure().text(), "what answers there does not know the job's secret");
  }
}

TEST_F(HandshakeTest, TheVerdictIsProvenWhereFramesAreProtected) {
  for (const Protection protection : {Protection::kPlain, Protection::kChecked, Protection::kSealed}) {
    for (std::size_t at = 0; at < Handshake::kVerdictBytes + kProofBytes; ++at) {
      Pair pair(key_, asking_for(protection), asking_for(protection));
      pair.b.decide(Verdict::kAccepted, {17, 2});
      Bytes verdict = output_of(pair.b);
      EXPECT_EQ(verdict.size(), Handshake::kVerdictBytes + (protection == Protection::kPlain ? 0 : kProofBytes));
      if (at == verdict.size()) break;
      if (protection == Protection::kPlain && at >= Handshake::kPrefixBytes) continue;  // the position is taken as it comes
      verdict[at] ^= std::byte{2};
      feed(pair.a, verdict);
      EXPECT_NE(pair.a.state(), State::kAccepted) << at;
      if (protection != Protection::kPlain) {
        EXPECT_EQ(pair.a.state(), State::kFailed) << at;
      }
    }
  }
}

// As Hydra shows it to anybody on the network.
TEST_F(HandshakeTest, TheSecretAloneDoesNotSufficeWhereThereIsAKeyFile) {
  JobKey with_file, same_file, other_file;
  ASSERT_TRUE(with_file.set(std::string(32, 's'), std::string(32, 'f')).ok());
  ASSERT_TRUE(same_file.set(std::string(32, 's'), std::string(32, 'f')).ok());
  ASSERT_TRUE(other_file.set(std::string(32, 's'), std::string(32, 'g')).ok());
  const auto failure = [](const JobKey& connectors, const JobKey& acceptors) -> std::string {
    Handshake a = Handshake::connector(connectors, {kJob, 2}, {kJob, 5}, nonce_of(1));
    Handshake b = Handshake::acceptor(acceptors, {kJob, 5}, 8, nonce_of(9));
    feed(b, output_of(a));
    feed(a, output_of(b));
    if (a.output_bytes() > 0) feed(b, output_of(a));
    EXPECT_EQ(a.failure().ok(), b.state() == State::kProven);
    return a.failure().ok() ? "" : a.failure().text();
  };
  EXPECT_EQ(failure(with_file, same_file), "");
  EXPECT_NE(failure(with_file, key_).find("says that it has no key file (LAPWING_KEY_FILE), and this rank has one"), std::string::npos);
  EXPECT_NE(failure(key_, with_file).find("says that it has a key file (LAPWING_KEY_FILE), and this rank has none"), std::string::npos);
  EXPECT_NE(failure(with_file, other_file).find("has another key file than this rank"), std::string::npos);
  EXPECT_EQ(with_file.id(), key_.id()) << "they are ranks of one job, and must be able to say so";
}

// By a member of the job that does not play by the rules: its public key makes all shared secrets 0.
TEST_F(HandshakeTest, APublicKeyMustBeOne) {
  Terms plays_sealed = asking_for(Protection::kPlain);  // so that the handshake does not fill in a key
  Handshake a = Handshake::connector(key_, {kJob, 2}, {kJob, 5}, nonce_of(1), plays_sealed);
  Bytes hello = output_of(a);
  hello[72] |= std::byte{kFeatureSealed};
  Handshake b = Handshake::acceptor(key_, {kJob, 5}, 8, nonce_of(9), asking_for(Protection::kSealed), secret_of(4));
  feed(b, hello);
  ASSERT_EQ(b.state(), State::kResponse);
  Bytes transcript;
  const auto add = [&](const void* bytes, std::size_t count) {
    const auto* begin = static_cast<const std::byte*>(bytes);
    transcript.insert(transcript.end(), begin, begin + count);
  };
  const Bytes challenge = output_of(b);
  add("lapwing connector 2 ", 20);
  add(&hello[8], 32);                              // job id and names
  add(&hello[40], kNonceBytes + Terms::kBytes);
  add(&challenge[8], kNonceBytes + Terms::kBytes);
  Bytes response(Handshake::kResponseBytes);
  std::memcpy(response.data(), "LPWG\3\0\3\0", 8);
  key_.authenticate(transcript.data(), transcript.size(), &response[Handshake::kPrefixBytes]);
  feed(b, response);
  EXPECT_EQ(b.state(), State::kFailed);
  EXPECT_STREQ(b.failure().text(), "what the peer gives as its public key is none");
}

TEST_F(HandshakeTest, AReplayFails) {
  Handshake a = connector(), first = acceptor(5, 9), second = acceptor(5, 10);
  const Bytes hello = output_of(a);
  feed(first, hello);
  feed(a, output_of(first));
  const Bytes response = output_of(a);
  feed(second, hello);
  feed(second, response);
  EXPECT_EQ(second.state(), State::kFailed);
}

// An attacker who sends an acceptor's own proof back gains nothing.
TEST_F(HandshakeTest, AReflectionFails) {
  Handshake a = connector(), b = acceptor();
  feed(b, output_of(a));
  const Bytes challenge = output_of(b);
  feed(a, challenge);
  Bytes response = output_of(a);
  std::copy(challenge.end() - kProofBytes, challenge.end(), response.end() - kProofBytes);
  feed(b, response);
  EXPECT_EQ(b.state(), State::kFailed);
}

TEST_F(HandshakeTest, RanksAreChecked) {
  const struct {
    std::uint32_t from, to;
  } wrong[] = {{2, 4}, {5, 5}, {8, 5}, {0xffffffff, 5}};
  for (const auto& pair : wrong) {
    Handshake b = acceptor();
    feed(b, output_of(connector(pair.from, pair.to)));
    EXPECT_EQ(b.state(), State::kFailed) << pair.from << " " << pair.to;
  }
}

TEST_F(HandshakeTest, OtherVersionsAreToldApart) {
  Handshake a = connector(), b = acceptor();
  Bytes hello = output_of(a);
  hello[4] = std::byte{1};
  EXPECT_EQ(feed(b, hello), Handshake::kPrefixBytes);
  EXPECT_EQ(b.state(), State::kFailed);
  EXPECT_TRUE(b.version_differs());
  Bytes answer = output_of(b);
  EXPECT_EQ(answer.size(), Handshake::kPrefixBytes);
  answer[4] = std::byte{4};  // as that newer connector sees it: not its own version
  feed(a, answer);
  EXPECT_EQ(a.state(), State::kFailed);
  EXPECT_TRUE(a.version_differs());
  EXPECT_STREQ(
      a.failure().text(),
      "the other side speaks version 4 of Lapwing's wire format and this rank version 3; run all ranks with the same "
      "Lapwing");
}

TEST_F(HandshakeTest, GarbageEndsAtThePrefix) {
  Handshake b = acceptor();
  const char request[] = "GET / HTTP/1.1\r\n\r\n";
  const auto* bytes = reinterpret_cast<const std::byte*>(request);
  EXPECT_EQ(feed(b, Bytes(bytes, bytes + sizeof request)), Handshake::kPrefixBytes);
  EXPECT_EQ(b.state(), State::kFailed);
  EXPECT_EQ(b.output_bytes(), 0u);

  Handshake a = connector();
  feed(a, output_of(connector()));  // connected to itself
  EXPECT_EQ(a.state(), State::kFailed);
}

TEST_F(HandshakeTest, TheKeyHasOneLength) {
  JobKey key;
  EXPECT_FALSE(key.set("short").ok());
  EXPECT_FALSE(key.known());
  EXPECT_NE(key_.id(), other_key_.id());
}

}  // namespace
}  // namespace lapwing::wire
