#include "wire/handshake.h"

#include <sodium.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <string>
#include <utility>

#include "base/internal_error.h"
#include "wire/little_endian.h"
#include "wire/raw_bytes.h"

namespace lapwing::wire {
namespace {

// Every message:  0..3 magic | 4..5 version | 6 kind | 7 code, in all versions.
constexpr char kMagic[4] = {'L', 'P', 'W', 'G'};
constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kKindAt = 6;
constexpr std::size_t kCodeAt = 7;

// Hello, after the prefix.
constexpr std::size_t kJobIdAt = Handshake::kPrefixBytes;
constexpr std::size_t kFromAt = kJobIdAt + JobKey::kIdBytes;
constexpr std::size_t kToAt = kFromAt + 8;
constexpr std::size_t kNonceAt = kToAt + 8;
constexpr std::size_t kTermsAt = kNonceAt + kNonceBytes;
static_assert(kTermsAt + Terms::kBytes == Handshake::kHelloBytes);

// Challenge.
constexpr std::size_t kAcceptorNonceAt = Handshake::kPrefixBytes;
constexpr std::size_t kAcceptorTermsAt = kAcceptorNonceAt + kNonceBytes;
constexpr std::size_t kAcceptorProofAt = kAcceptorTermsAt + Terms::kBytes;
static_assert(kAcceptorProofAt + kProofBytes == Handshake::kChallengeBytes);
static_assert(Handshake::kHelloBytes <= Handshake::kMaxMessageBytes &&
              Handshake::kChallengeBytes <= Handshake::kMaxMessageBytes);

// Equally long, so that the transcripts of the two roles differ in the label alone.
constexpr std::string_view kConnectorLabel = "lapwing connector 2 ";
constexpr std::string_view kAcceptorLabel = "lapwing acceptor  2 ";
static_assert(kConnectorLabel.size() == kAcceptorLabel.size());
constexpr std::string_view kConnectorKeyLabel = "lapwing connector seals 2 ";
constexpr std::string_view kAcceptorKeyLabel = "lapwing acceptor seals  2 ";
static_assert(kConnectorKeyLabel.size() == kAcceptorKeyLabel.size());
constexpr std::string_view kVerdictLabel = "lapwing verdict 2 ";

static_assert(crypto_scalarmult_BYTES == Terms::kPublicKeyBytes && crypto_scalarmult_SCALARBYTES == Secret::kBytes);

void encode(const Position& position, std::byte* out) noexcept {
  store_little(out, position.next_expected);
  store_little(out + 8, position.attempt);
}

Status unsound_key() {
  return Status::error(MPI_ERR_OTHER, "what the peer gives as its public key is none");
}

Position decode_position(const std::byte* in) noexcept {
  return {load_little<std::uint64_t>(in), load_little<std::uint64_t>(in + 8)};
}

void encode(const GivingUp& how, std::byte* out) noexcept {
  store_little(out, how.unreached_ms);
  store_little(out + 8, how.ago_ms);
}

void encode(const Terms& terms, std::byte* out) noexcept {
  store_little(out, static_cast<std::uint16_t>(terms.features));
  store_little(out + 2, terms.rail);
  store_little(out + 4, terms.frame_limit);
  encode(terms.position, out + 8);
  std::memcpy(out + 24, terms.public_key.data(), Terms::kPublicKeyBytes);
}

}  // namespace

std::uint32_t features_of(Protection protection) noexcept {
  switch (protection) {
    case Protection::kPlain:
      break;
    case Protection::kChecked:
      return kFeatureChecked;
    case Protection::kSealed:
      return kFeatureSealed | (Aead::has_aes() ? kFeatureAes : 0);
  }
  return 0;
}

Nonce random_nonce() noexcept {
  Nonce nonce;
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

// ---- both roles -----------------------------------------------------------------------------------------------------

Handshake::Handshake(const JobKey& key, Role role, State state, JobRank self, const Nonce& nonce, const Terms& terms,
                     const Secret& ephemeral)
    : key_(&key), role_(role), state_(state), self_(self), own_nonce_(nonce), own_terms_(terms), ephemeral_(ephemeral) {
  if (key.has_key_file()) own_terms_.features |= kFeatureKeyFile;
  expect(kPrefixBytes);
}

Handshake Handshake::connector(const JobKey& key, JobRank self, JobRank peer, const Nonce& nonce, const Terms& terms,
                               const Secret& ephemeral) {
  Handshake handshake(key, Role::kConnector, State::kChallenge, self, nonce, terms, ephemeral);
  handshake.peer_ = peer;
  handshake.make_public_key();
  std::byte names[2 * JobRank::kBytes];
  self.encode(names);
  peer.encode(names + JobRank::kBytes);
  handshake.begin_output(Kind::kHello, 0);
  handshake.append_output(key.id().data(), JobKey::kIdBytes);
  handshake.append_output(names, sizeof names);
  handshake.append_output(nonce.data(), kNonceBytes);
  handshake.append_terms();
  return handshake;
}

Handshake Handshake::acceptor(const JobKey& key, JobRank self, std::uint32_t job_size, const Nonce& nonce,
                              const Terms& terms, const Secret& ephemeral) {
  Handshake handshake(key, Role::kAcceptor, State::kHello, self, nonce, terms, ephemeral);
  handshake.job_size_ = job_size;
  return handshake;
}

std::size_t Handshake::wanted() const noexcept {
  return input_wanted_ - input_bytes_;
}

void Handshake::expect(std::size_t bytes) noexcept {
  input_bytes_ = 0;
  input_wanted_ = bytes;
}

void Handshake::begin_output(Kind kind, std::uint8_t code) noexcept {
  std::memcpy(output_.data(), kMagic, sizeof kMagic);
  store_little(&output_[kVersionAt], kVersion);
  store_little(&output_[kKindAt], static_cast<std::uint8_t>(kind));
  store_little(&output_[kCodeAt], code);
  output_bytes_ = kPrefixBytes;
}

void Handshake::append_output(const std::byte* bytes, std::size_t count) noexcept {
  std::memcpy(&output_[output_bytes_], bytes, count);
  output_bytes_ += count;
}

void Handshake::make_public_key() noexcept {
  if (protection() == Protection::kSealed)
    crypto_scalarmult_base(raw(own_terms_.public_key.data()), raw(ephemeral_.bytes.data()));
}

void Handshake::append_terms() noexcept {
  std::byte terms[Terms::kBytes];
  encode(own_terms_, terms);
  append_output(terms, sizeof terms);
}

// False: the connection cannot be had on these terms. Says so only of a peer that has proven itself.
bool Handshake::take_terms(const std::byte* in) {
  peer_terms_.features = load_little<std::uint16_t>(in);
  peer_terms_.rail = load_little<std::uint16_t>(in + 2);
  peer_terms_.frame_limit = load_little<std::uint32_t>(in + 4);
  peer_terms_.position = decode_position(in + 8);
  std::memcpy(peer_terms_.public_key.data(), in + 24, Terms::kPublicKeyBytes);
  return peer_terms_.frame_limit >= kLeastFrameLimit && asked_for(peer_terms_) == protection();
}

Protection Handshake::asked_for(const Terms& terms) noexcept {
  if ((terms.features & kFeatureSealed) != 0) return Protection::kSealed;
  return (terms.features & kFeatureChecked) != 0 ? Protection::kChecked : Protection::kPlain;
}

// Both sides have proven themselves. The proofs stand for all that was said, the public keys included. False: the peer's is no sound one.
bool Handshake::agree_on_keys() noexcept {
  if (protection() != Protection::kSealed || asked_for(peer_terms_) != Protection::kSealed) return true;
  constexpr std::size_t kLabelBytes = kConnectorKeyLabel.size();
  std::byte text[kLabelBytes + Secret::kBytes + 2 * kProofBytes];
  if (crypto_scalarmult(raw(text + kLabelBytes), raw(ephemeral_.bytes.data()), raw(peer_terms_.public_key.data())) != 0) return false;
  prove(Role::kConnector, text + kLabelBytes + Secret::kBytes);
  prove(Role::kAcceptor, text + kLabelBytes + Secret::kBytes + kProofBytes);
  Secret& connectors = role_ == Role::kConnector ? session_keys_.own : session_keys_.peers;
  Secret& acceptors = role_ == Role::kConnector ? session_keys_.peers : session_keys_.own;
  std::memcpy(text, kConnectorKeyLabel.data(), kLabelBytes);
  key_->authenticate(text, sizeof text, connectors.bytes.data());
  std::memcpy(text, kAcceptorKeyLabel.data(), kLabelBytes);
  key_->authenticate(text, sizeof text, acceptors.bytes.data());
  sodium_memzero(text, sizeof text);
  session_keys_.cipher = has(kFeatureAes) ? Cipher::kAes256Gcm : Cipher::kChaCha20Poly1305;
  return true;
}

void Handshake::fail(Status why, Fault fault) {
  state_ = State::kFailed;
  failure_ = std::move(why);
  fault_ = fault;
  expect(0);
}

Status Handshake::disagreement() const {
  if (const Protection theirs = asked_for(peer_terms_); theirs != protection())
    return Status::error(MPI_ERR_OTHER, "rank %u has LAPWING_WIRE=%s and this rank LAPWING_WIRE=%s; every rank of a job needs the same",
                         peer_.rank, name_of(theirs), name_of(protection()));
  return Status::error(MPI_ERR_OTHER, "rank %u takes frames of at most %u bytes; every rank must take %u", peer_.rank,
                       peer_terms_.frame_limit, kLeastFrameLimit);
}

// What it says of its key file is not proven, but if it lies, it only spoils this text.
Status Handshake::not_proven() const {
  const bool ours = key_->has_key_file(), theirs = peer_has_key_file();
  if (ours && theirs)
    return Status::error(MPI_ERR_OTHER,
                         "what answers there does not know the job's secret, or has another key file than this rank (LAPWING_KEY_FILE): all hosts "
                         "need the same one");
  if (ours != theirs)
    return Status::error(MPI_ERR_OTHER,
                         "what answers there says that it has %s key file (LAPWING_KEY_FILE), and this rank has %s; all hosts need the same one, "
                         "made by `lapwing key`",
                         theirs ? "a" : "no", ours ? "one" : "none");
  return Status::error(MPI_ERR_OTHER, "what answers there does not know the job's secret");
}

void Handshake::receive(const std::byte* bytes, std::size_t count) {
  LAPWING_CHECK(count <= wanted());
  if (count == 0) return;
  std::memcpy(&input_[input_bytes_], bytes, count);
  input_bytes_ += count;
  output_bytes_ = 0;
  if (input_bytes_ < input_wanted_) return;
  if (input_wanted_ == kPrefixBytes) return receive_prefix();
  switch (state_) {
    case State::kHello:
      return receive_hello();
    case State::kChallenge:
      return receive_challenge();
    case State::kResponse:
      return receive_response();
    case State::kVerdict:
      return receive_verdict();
    default:
      LAPWING_CHECK(!"a handshake message of variable length in this state");
  }
}

void Handshake::receive_prefix() {
  if (std::memcmp(input_.data(), kMagic, sizeof kMagic) != 0)
    return fail(Status::error(MPI_ERR_OTHER, "what answers there is not Lapwing"), Fault::kStranger);
  if (const auto version = load_little<std::uint16_t>(&input_[kVersionAt]); version != kVersion) {
    version_differs_ = true;
    fail(Status::error(MPI_ERR_OTHER,
                       "the other side speaks version %u of Lapwing's wire format and this rank version %u; run "
                       "all ranks with the same Lapwing",
                       static_cast<unsigned>(version), static_cast<unsigned>(kVersion)),
         Fault::kSettings);
    if (role_ == Role::kAcceptor) begin_output(Kind::kVerdict, static_cast<std::uint8_t>(Verdict::kVersion));
    return;
  }
  const auto kind = static_cast<Kind>(input_[kKindAt]);
  const auto code = static_cast<std::uint8_t>(input_[kCodeAt]);
  if (kind == Kind::kVerdict && state_ == State::kVerdict) {
    input_wanted_ = verdict_bytes();
  } else if (code == 0 && kind == Kind::kHello && state_ == State::kHello) {
    input_wanted_ = kHelloBytes;
  } else if (code == 0 && kind == Kind::kChallenge && state_ == State::kChallenge) {
    input_wanted_ = kChallengeBytes;
  } else if (code == 0 && kind == Kind::kResponse && state_ == State::kResponse) {
    input_wanted_ = kResponseBytes;
  } else {
    fail(Status::error(MPI_ERR_OTHER, "unexpected handshake message (kind %u, code %u)", static_cast<unsigned>(kind),
                       static_cast<unsigned>(code)));
  }
}

// proof = HMAC(job's key, label | job id | connector's name | acceptor's name | connector's nonce and terms | acceptor's nonce and terms)
void Handshake::prove(Role role, std::byte* proof) const noexcept {
  const bool connects = role_ == Role::kConnector;
  const std::string_view label = role == Role::kConnector ? kConnectorLabel : kAcceptorLabel;
  const Nonce& connector_nonce = connects ? own_nonce_ : peer_nonce_;
  const Nonce& acceptor_nonce = connects ? peer_nonce_ : own_nonce_;

  std::byte text[kConnectorLabel.size() + JobKey::kIdBytes + 2 * JobRank::kBytes + 2 * (kNonceBytes + Terms::kBytes)];
  std::byte* out = text;
  std::memcpy(out, label.data(), label.size());
  out += label.size();
  std::memcpy(out, key_->id().data(), JobKey::kIdBytes);
  out += JobKey::kIdBytes;
  (connects ? self_ : peer_).encode(out);
  (connects ? peer_ : self_).encode(out + JobRank::kBytes);
  out += 2 * JobRank::kBytes;
  std::memcpy(out, connector_nonce.data(), kNonceBytes);
  encode(connects ? own_terms_ : peer_terms_, out + kNonceBytes);
  out += kNonceBytes + Terms::kBytes;
  std::memcpy(out, acceptor_nonce.data(), kNonceBytes);
  encode(connects ? peer_terms_ : own_terms_, out + kNonceBytes);
  key_->authenticate(text, sizeof text, proof);
}

// ---- the acceptor ---------------------------------------------------------------------------------------------------

void Handshake::receive_hello() {
  if (std::memcmp(&input_[kJobIdAt], key_->id().data(), JobKey::kIdBytes) != 0)
    return fail(Status::error(MPI_ERR_OTHER, "a rank of another job asked for a connection"));
  const JobRank from = JobRank::decode(&input_[kFromAt]);
  const JobRank to = JobRank::decode(&input_[kToAt]);
  if (from.job != self_.job || from.rank >= job_size_ || from == self_ || to != self_)
    return fail(Status::error(
        MPI_ERR_OTHER, "a connection from rank %u of job %u to rank %u of job %u arrived at rank %u of %u of job %u",
        from.rank, from.job, to.rank, to.job, self_.rank, job_size_, self_.job));
  peer_ = from;
  terms_agree_ = take_terms(&input_[kTermsAt]);
  std::copy_n(&input_[kNonceAt], kNonceBytes, peer_nonce_.begin());
  make_public_key();  // not before: a stranger is not worth its 30 us
  std::byte proof[kProofBytes];
  prove(Role::kAcceptor, proof);
  begin_output(Kind::kChallenge, 0);
  append_output(own_nonce_.data(), kNonceBytes);
  append_terms();
  append_output(proof, kProofBytes);
  state_ = State::kResponse;
  expect(kPrefixBytes);
}

void Handshake::receive_response() {
  prove(Role::kConnector, connectors_proof_.data());
  if (sodium_memcmp(&input_[kPrefixBytes], connectors_proof_.data(), kProofBytes) != 0)
    return fail(Status::error(MPI_ERR_OTHER, "a connection that claims to be rank %u does not know the job's secret",
                              peer_.rank));
  if (!terms_agree_) return fail(disagreement());
  if (!agree_on_keys()) return fail(unsound_key());
  state_ = State::kProven;
  expect(0);
}

void Handshake::decide(Verdict verdict, const Position& own, const GivingUp& how) {
  LAPWING_CHECK(state_ == State::kProven);
  static_assert(sizeof(GivingUp) == sizeof(Position));
  std::byte position[sizeof(Position)];
  encode(own, position);
  if (verdict == Verdict::kGivenUp) {
    if (has(kFeatureGivenUp))
      encode(how, position);
    else
      verdict = Verdict::kGone;
  }
  begin_output(Kind::kVerdict, static_cast<std::uint8_t>(verdict));
  append_output(position, sizeof position);
  if (protection() != Protection::kPlain) {
    std::byte proof[kProofBytes];
    prove_verdict(output_.data(), proof);
    append_output(proof, sizeof proof);
  }
  state_ = verdict == Verdict::kAccepted ? State::kAccepted : State::kDuplicate;
}

// ---- the connector --------------------------------------------------------------------------------------------------

void Handshake::receive_challenge() {
  std::copy_n(&input_[kAcceptorNonceAt], kNonceBytes, peer_nonce_.begin());
  terms_agree_ = take_terms(&input_[kAcceptorTermsAt]);
  std::byte proof[kProofBytes];
  prove(Role::kAcceptor, proof);
  if (sodium_memcmp(&input_[kAcceptorProofAt], proof, kProofBytes) != 0)
    return fail(not_proven(), key_->has_key_file() || peer_has_key_file() ? Fault::kSettings : Fault::kStranger);
  if (!terms_agree_) return fail(disagreement(), Fault::kSettings);
  if (!agree_on_keys()) return fail(unsound_key());
  prove(Role::kConnector, connectors_proof_.data());
  begin_output(Kind::kResponse, 0);
  append_output(connectors_proof_.data(), kProofBytes);
  state_ = State::kVerdict;
  expect(kPrefixBytes);
}

std::size_t Handshake::verdict_bytes() const noexcept {
  return kVerdictBytes + (protection() == Protection::kPlain ? 0 : kProofBytes);
}

void Handshake::prove_verdict(const std::byte* verdict, std::byte* proof) const noexcept {
  std::byte text[kVerdictLabel.size() + kProofBytes + kVerdictBytes];
  std::memcpy(text, kVerdictLabel.data(), kVerdictLabel.size());
  std::memcpy(text + kVerdictLabel.size(), connectors_proof_.data(), kProofBytes);
  std::memcpy(text + kVerdictLabel.size() + kProofBytes, verdict, kVerdictBytes);
  key_->authenticate(text, sizeof text, proof);
}

void Handshake::receive_verdict() {
  if (protection() != Protection::kPlain) {
    std::byte proof[kProofBytes];
    prove_verdict(input_.data(), proof);
    if (sodium_memcmp(&input_[kVerdictBytes], proof, kProofBytes) != 0)
      return fail(Status::error(MPI_ERR_OTHER, "the last message of its handshake was changed on the way"));
  }
  const auto verdict = static_cast<Verdict>(input_[kCodeAt]);
  switch (verdict) {
    case Verdict::kAccepted:
      peer_terms_.position = decode_position(&input_[kPrefixBytes]);
      state_ = State::kAccepted;
      return expect(0);
    case Verdict::kDuplicate:
      state_ = State::kDuplicate;
      return expect(0);
    case Verdict::kGone:
      fail(Status::error(MPI_ERR_OTHER, "rank %u has closed its connection to this rank for good", peer_.rank));
      state_ = State::kGone;
      return;
    case Verdict::kGivenUp:
      giving_up_ = {load_little<std::uint64_t>(&input_[kPrefixBytes]), load_little<std::uint64_t>(&input_[kPrefixBytes + 8])};
      fail(Status::error(MPI_ERR_OTHER, "rank %u has given this rank up", peer_.rank));
      state_ = State::kGivenUp;
      return;
    case Verdict::kVersion:
      break;
  }
  fail(Status::error(MPI_ERR_OTHER, "rank %u answers with the verdict %u, which this rank does not know; run all ranks with the same Lapwing", peer_.rank,
                     static_cast<unsigned>(verdict)));
}

}  // namespace lapwing::wire
