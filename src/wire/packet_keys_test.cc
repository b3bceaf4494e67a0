#include "wire/packet_keys.h"

#include <gtest/gtest.h>

#include <string>

namespace lapwing::wire {
namespace {

class PacketKeysTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(job_.set(std::string(JobKey::kBytes, 's')).ok());
    ASSERT_TRUE(other_job_.set(std::string(JobKey::kBytes, 't')).ok());
    ASSERT_TRUE(with_key_file_.set(std::string(JobKey::kBytes, 's'), std::string(64, 'k')).ok());
  }
  static SessionKeys agree(const PacketKeys& own, const JobKey& job, std::uint32_t self, std::uint32_t peer, const PacketKeys::Public& peers) {
    SessionKeys keys;
    EXPECT_TRUE(own.agree(job, self, peer, peers, keys));
    return keys;
  }
  JobKey job_, other_job_, with_key_file_;
};

TEST_F(PacketKeysTest, BothSidesFindTheSameKeysAndNoOtherPairDoes) {
  const PacketKeys a, b, stranger;
  const SessionKeys ours = agree(a, job_, 3, 5, b.own()), theirs = agree(b, job_, 5, 3, a.own());
  EXPECT_EQ(ours.own.bytes, theirs.peers.bytes);
  EXPECT_EQ(ours.peers.bytes, theirs.own.bytes);
  EXPECT_NE(ours.own.bytes, ours.peers.bytes) << "a packet that is sent back must not be right";
  EXPECT_NE(ours.own.bytes, agree(a, job_, 3, 6, b.own()).own.bytes);
  EXPECT_NE(ours.own.bytes, agree(a, other_job_, 3, 5, b.own()).own.bytes);
  EXPECT_NE(ours.own.bytes, agree(a, with_key_file_, 3, 5, b.own()).own.bytes) << "the secret alone opens nothing where there is a key file";
  EXPECT_NE(ours.own.bytes, agree(stranger, job_, 3, 5, b.own()).own.bytes);
  EXPECT_NE(ours.own.bytes, agree(a, job_, 3, 5, stranger.own()).own.bytes);
}

// What a card says of its processor stands in the key, so that who changes it gains nothing.
TEST_F(PacketKeysTest, WithoutAesOnOneSideTheyUseTheOtherCipher) {
  const PacketKeys with(true), without(false);
  EXPECT_EQ(agree(with, job_, 0, 1, without.own()).cipher, Cipher::kChaCha20Poly1305);
  EXPECT_EQ(agree(without, job_, 1, 0, with.own()).cipher, Cipher::kChaCha20Poly1305);
  EXPECT_EQ(agree(with, job_, 0, 1, PacketKeys(true).own()).cipher, Cipher::kAes256Gcm);
  PacketKeys::Public changed = with.own();
  changed.has_aes = false;
  EXPECT_NE(agree(without, job_, 1, 0, changed).own.bytes, agree(with, job_, 0, 1, without.own()).peers.bytes);
}

TEST_F(PacketKeysTest, APublicKeyMustBeOne) {
  const PacketKeys own;
  SessionKeys keys;
  EXPECT_FALSE(own.agree(job_, 0, 1, PacketKeys::Public(), keys)) << "of zeros";
}

TEST_F(PacketKeysTest, ACardHasThePublicKeyAndWhichCipherItCan) {
  for (const bool has_aes : {false, true}) {
    const PacketKeys keys(has_aes);
    const std::string text = encode_packet_key(keys.own());
    EXPECT_EQ(text.size(), 64u + (has_aes ? 4 : 0));
    PacketKeys::Public read;
    ASSERT_TRUE(decode_packet_key(text, read)) << text;
    EXPECT_EQ(read.key, keys.own().key);
    EXPECT_EQ(read.has_aes, has_aes);
  }
}

TEST_F(PacketKeysTest, WhatIsNoPublicKeyIsRefused) {
  const std::string digits(64, 'a');
  PacketKeys::Public key;
  EXPECT_TRUE(decode_packet_key(digits, key));
  for (const std::string& text : {std::string(), digits.substr(1), digits + "a", digits + ",des", digits + ",aes,aes", digits.substr(4) + ",aes",
                                  "g" + digits.substr(1), digits.substr(1) + " "})
    EXPECT_FALSE(decode_packet_key(text, key)) << text;
}

}  // namespace
}  // namespace lapwing::wire
