#include "wire/packet_seal.h"

#include <gtest/gtest.h>
#include <sodium.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "wire/little_endian.h"

namespace lapwing::wire {
namespace {

using Bytes = std::vector<std::byte>;
using Outcome = PacketOpener::Outcome;

Secret secret_of(int value) {
  Secret secret;
  secret.bytes.fill(static_cast<std::byte>(value));
  return secret;
}

// A packet of data, as a link builds it. `number` shows in its body too.
Bytes packet(std::uint32_t number, std::uint16_t body = 100) {
  PacketHeader header;
  header.kind = PacketKind::kData;
  header.to = {1, 2, 0x1122334455667788};
  header.number = number;
  header.bytes = body;
  Bytes bytes(kPacketHeaderBytes + body);
  encode(header, bytes.data());
  for (std::size_t i = kPacketHeaderBytes; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(number + i);
  return bytes;
}

class PacketSealTest : public ::testing::TestWithParam<Cipher> {
 protected:
  void SetUp() override {
    ASSERT_GE(sodium_init(), 0);
    if (GetParam() == Cipher::kAes256Gcm && !Aead::has_aes()) GTEST_SKIP() << "this processor has no instructions for AES-GCM";
  }
  PacketSealer sealer(int key = 1, std::uint64_t per_key = kPacketsPerKey) { return {GetParam(), secret_of(key), per_key}; }
  PacketOpener opener(int key = 1, std::uint64_t per_key = kPacketsPerKey) { return {GetParam(), secret_of(key), per_key}; }

  static Bytes close(PacketSealer& sealer, const Bytes& packet) {
    Bytes sealed(packet.size() + kPacketSealBytes);
    EXPECT_EQ(sealer.close(packet.data(), sealed.data()), sealed.size());
    return sealed;
  }
  // `opened`: the packet, where it could be opened.
  static Outcome open(PacketOpener& opener, const Bytes& sealed, Bytes& opened) {
    PacketHeader header;
    if (!decode_header(sealed.data(), sealed.size(), header).ok()) return Outcome::kWrong;
    opened.resize(kPacketHeaderBytes + header.bytes);
    return opener.open(header, sealed.data(), sealed.size(), opened.data());
  }
  static Outcome open(PacketOpener& opener, const Bytes& sealed) {
    Bytes opened;
    return open(opener, sealed, opened);
  }
};

TEST_P(PacketSealTest, WhatIsSealedCanBeOpened) {
  PacketSealer ours = sealer();
  PacketOpener theirs = opener();
  for (const std::uint16_t body : {0, 1, 16, 100, 1460, 1900}) {
    const Bytes plain = packet(7, body), sealed = close(ours, plain);
    if (body > 8) {
      EXPECT_EQ(std::search(sealed.begin(), sealed.end(), plain.begin() + kPacketHeaderBytes, plain.end()), sealed.end()) << "it can be read";
    }
    Bytes opened;
    ASSERT_EQ(open(theirs, sealed, opened), Outcome::kOpened) << body;
    EXPECT_EQ(opened, plain);
  }
}

TEST_P(PacketSealTest, WhatEthernetFillsUpIsPassedOver) {
  PacketSealer ours = sealer();
  PacketOpener theirs = opener();
  Bytes sealed = close(ours, packet(7, 0)), opened;
  sealed.resize(sealed.size() + 30);
  ASSERT_EQ(open(theirs, sealed, opened), Outcome::kOpened);
  EXPECT_EQ(opened, packet(7, 0));
}

TEST_P(PacketSealTest, EveryBitThatIsChangedIsFound) {
  PacketSealer ours = sealer();
  const Bytes sealed = close(ours, packet(7, 50));
  for (std::size_t bit = 0; bit < 8 * sealed.size(); ++bit) {
    Bytes changed = sealed;
    changed[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    PacketOpener theirs = opener();
    EXPECT_EQ(open(theirs, changed), Outcome::kWrong) << bit;
    EXPECT_EQ(open(theirs, sealed), Outcome::kOpened) << "a wrong one changes nothing";
  }
}

TEST_P(PacketSealTest, OneThatIsCutShortIsFound) {
  PacketSealer ours = sealer();
  const Bytes sealed = close(ours, packet(7, 50));
  for (std::size_t bytes = 0; bytes < sealed.size(); ++bytes) {
    PacketOpener theirs = opener();
    EXPECT_EQ(open(theirs, Bytes(sealed.begin(), sealed.begin() + static_cast<std::ptrdiff_t>(bytes))), Outcome::kWrong) << bytes;
  }
}

TEST_P(PacketSealTest, OneThatIsSentAgainLooksLikeNoOther) {
  PacketSealer ours = sealer();
  PacketOpener theirs = opener();
  const Bytes first = close(ours, packet(7)), again = close(ours, packet(7));
  EXPECT_FALSE(std::equal(first.begin() + kPacketHeaderBytes, first.end(), again.begin() + kPacketHeaderBytes));
  EXPECT_EQ(open(theirs, first), Outcome::kOpened);
  EXPECT_EQ(open(theirs, again), Outcome::kOpened) << "which of the two the link needs is its matter";
}

// Each packet is opened once at most, in whatever order they come, however often each comes; and in the order that networks bring them, all are.
TEST_P(PacketSealTest, NoneIsOpenedTwice) {
  constexpr std::size_t kPackets = 5000, kDisorder = 500;
  PacketSealer ours = sealer();
  PacketOpener theirs = opener();
  std::vector<Bytes> sealed;
  for (std::uint32_t i = 0; i < kPackets; ++i) sealed.push_back(close(ours, packet(i)));
  std::mt19937 chance(1);
  std::vector<std::size_t> order(kPackets);
  for (std::size_t i = 0; i < kPackets; ++i) order[i] = i;
  for (std::size_t i = 0; i + kDisorder < kPackets; i += kDisorder) {
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(i);
    std::shuffle(begin, begin + kDisorder, chance);
  }
  for (const std::size_t i : order) {
    Bytes opened;
    ASSERT_EQ(open(theirs, sealed[i], opened), Outcome::kOpened) << i;
    ASSERT_EQ(opened, packet(static_cast<std::uint32_t>(i)));
    ASSERT_EQ(open(theirs, sealed[i]), Outcome::kAgain);
  }
  for (const Bytes& one : sealed) EXPECT_EQ(open(theirs, one), Outcome::kAgain);
}

TEST_P(PacketSealTest, AnotherKeyOpensNothing) {
  PacketSealer ours = sealer(1);
  PacketOpener theirs = opener(2);
  EXPECT_EQ(open(theirs, close(ours, packet(7))), Outcome::kWrong);
}

TEST_P(PacketSealTest, KeysAreRenewed) {
  PacketSealer ours = sealer(1, 3);
  PacketOpener theirs = opener(1, 3), with_the_first_key = opener(1);
  for (std::uint32_t i = 0; i < 20; ++i) {
    const Bytes sealed = close(ours, packet(i));
    EXPECT_EQ(open(theirs, sealed), Outcome::kOpened) << i;
    EXPECT_EQ(open(with_the_first_key, sealed), i < 3 ? Outcome::kOpened : Outcome::kWrong) << i;
  }
}

// While keys are renewed packets are lost and overtake each other; those of the key before count as lost.
TEST_P(PacketSealTest, ARenewalSurvivesLossAndDisorder) {
  PacketSealer ours = sealer(1, 100);
  PacketOpener theirs = opener(1, 100);
  std::vector<Bytes> sealed;
  for (std::uint32_t i = 0; i < 400; ++i) sealed.push_back(close(ours, packet(i)));
  EXPECT_EQ(open(theirs, sealed[90]), Outcome::kOpened);
  EXPECT_EQ(open(theirs, sealed[105]), Outcome::kOpened);
  EXPECT_EQ(open(theirs, sealed[99]), Outcome::kAgain);
  EXPECT_EQ(open(theirs, sealed[100]), Outcome::kOpened);
  EXPECT_EQ(open(theirs, sealed[350]), Outcome::kWrong) << "two keys ahead: no honest peer is";
  EXPECT_EQ(open(theirs, sealed[250]), Outcome::kOpened);
  EXPECT_EQ(open(theirs, sealed[350]), Outcome::kOpened);
}

// Somebody who makes numbers up cannot lead the receiver to another key, nor out of its window.
TEST_P(PacketSealTest, NumbersThatAreMadeUpChangeNothing) {
  PacketSealer ours = sealer(1, 100);
  PacketOpener theirs = opener(1, 100);
  for (std::uint32_t i = 0; i < 99; ++i) ASSERT_EQ(open(theirs, close(ours, packet(i))), Outcome::kOpened);
  for (const std::uint64_t number : {std::uint64_t{99}, std::uint64_t{100}, std::uint64_t{5000}, ~std::uint64_t{0}}) {
    Bytes forged = packet(7);
    forged.resize(forged.size() + kPacketSealBytes);
    store_little(forged.data() + packet(7).size(), number);
    EXPECT_EQ(open(theirs, forged), Outcome::kWrong) << number;
  }
  for (std::uint32_t i = 99; i < 300; ++i) ASSERT_EQ(open(theirs, close(ours, packet(i))), Outcome::kOpened);
}

std::string name_of_cipher(const ::testing::TestParamInfo<Cipher>& info) {
  return info.param == Cipher::kAes256Gcm ? "aes" : "chacha";
}
INSTANTIATE_TEST_SUITE_P(Ciphers, PacketSealTest, ::testing::Values(Cipher::kChaCha20Poly1305, Cipher::kAes256Gcm), name_of_cipher);

TEST(ReplayWindow, FarBehindCountsAsCome) {
  ReplayWindow window;
  window.note(10 * ReplayWindow::kNumbers);
  EXPECT_FALSE(window.is_new(10 * ReplayWindow::kNumbers));
  EXPECT_TRUE(window.is_new(9 * ReplayWindow::kNumbers + 1));
  EXPECT_FALSE(window.is_new(9 * ReplayWindow::kNumbers));
  EXPECT_FALSE(window.is_new(0));
}

// Against a list of all that has come.
TEST(ReplayWindow, KnowsWhatHasCome) {
  std::mt19937 chance(2);
  ReplayWindow window;
  std::vector<bool> came(200'000, false);
  std::uint64_t highest = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t ahead = chance() % 4 == 0 ? chance() % 3 : 0, jump = chance() % 1000 == 0 ? chance() % 5000 : 0;
    const std::uint64_t at = highest + ahead + jump, behind = std::min<std::uint64_t>(at, chance() % 3000);
    const std::uint64_t number = std::min<std::uint64_t>(at - behind, came.size() - 1);
    const bool within = number + ReplayWindow::kNumbers > highest;
    ASSERT_EQ(window.is_new(number), within && !came[number]) << number << ' ' << highest;
    if (!window.is_new(number)) continue;
    window.note(number);
    came[number] = true;
    highest = std::max(highest, number);
  }
}

}  // namespace
}  // namespace lapwing::wire
