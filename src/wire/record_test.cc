#include "wire/record.h"

#include <gtest/gtest.h>
#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace lapwing::wire {
namespace {

using Bytes = std::vector<std::byte>;

Secret secret_of(int value) {
  Secret secret;
  secret.bytes.fill(static_cast<std::byte>(value));
  return secret;
}

Bytes text(std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 3);
  return bytes;
}

// Of what kinds a connection may be. AES only where the processor has it.
enum class Kind { kChecked, kChaCha, kAes };

RecordGuard guard(Kind kind, int key = 1, std::uint64_t records_per_key = Aead::kRecordsPerKey) {
  if (kind == Kind::kChecked) return {};
  return {kind == Kind::kAes ? Cipher::kAes256Gcm : Cipher::kChaCha20Poly1305, secret_of(key), records_per_key};
}

class RecordTest : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    ASSERT_GE(sodium_init(), 0);
    if (GetParam() == Kind::kAes && !Aead::has_aes()) GTEST_SKIP() << "this processor has no instructions for AES-GCM";
  }
  RecordGuard make(int key = 1, std::uint64_t records_per_key = Aead::kRecordsPerKey) { return guard(GetParam(), key, records_per_key); }
  bool sealed() const { return GetParam() != Kind::kChecked; }

  static Bytes close(RecordGuard& guard, const Bytes& body) {
    Bytes record(guard.record_bytes(body.size()));
    guard.close(record.data(), body.data(), body.size());
    return record;
  }
  // Empty: wrong.
  static Bytes open(RecordGuard& guard, Bytes record) {
    const std::size_t bytes = guard.read_header(record.data());
    if (bytes == 0 || guard.record_bytes(bytes) > record.size()) return {};
    Bytes out(bytes);
    return guard.open(record.data(), bytes, out.data()) ? out : Bytes();
  }
};

TEST_P(RecordTest, WhatIsClosedCanBeOpened) {
  RecordGuard ours = make(), theirs = make();
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{64}, std::size_t{1000}, kMostRecordBody}) {
    const Bytes body = text(bytes);
    const Bytes record = close(ours, body);
    EXPECT_EQ(record.size(), kRecordHeaderBytes + bytes + (sealed() ? 16 : 4));
    EXPECT_LE(record.size(), kMostRecordBytes);
    if (bytes > 8) {
      EXPECT_EQ(std::search(record.begin(), record.end(), body.begin(), body.end()) == record.end(), sealed());
    }
    EXPECT_EQ(open(theirs, record), body);
  }
}

TEST_P(RecordTest, MayBeMadeAndOpenedInItsPlace) {
  RecordGuard ours = make(), theirs = make(), in_place = make();
  const Bytes body = text(5000);
  const Bytes expected = close(ours, body);
  Bytes record(expected.size());
  std::copy(body.begin(), body.end(), record.begin() + kRecordHeaderBytes);
  in_place.close(record.data(), record.data() + kRecordHeaderBytes, body.size());
  EXPECT_EQ(record, expected);
  ASSERT_EQ(theirs.read_header(record.data()), body.size());
  ASSERT_TRUE(theirs.open(record.data(), body.size(), record.data() + kRecordHeaderBytes));
  EXPECT_TRUE(std::equal(body.begin(), body.end(), record.begin() + kRecordHeaderBytes));
}

TEST_P(RecordTest, EveryBitThatIsChangedIsFound) {
  RecordGuard ours = make();
  const Bytes body = text(50);
  const Bytes record = close(ours, body);
  for (std::size_t bit = 0; bit < 8 * record.size(); ++bit) {
    Bytes changed = record;
    changed[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    RecordGuard theirs = make();
    EXPECT_EQ(open(theirs, changed), Bytes()) << bit;
    if (bit < 8 * kRecordHeaderBytes) {
      RecordGuard again = make();
      EXPECT_EQ(again.read_header(changed.data()), 0u) << "a reader would wait for what does not come";
    }
  }
}

// Repeated, left out, out of order.
TEST_P(RecordTest, OnlyTheRecordThatIsDueIsRight) {
  RecordGuard ours = make();
  std::vector<Bytes> records;
  for (std::size_t i = 0; i < 4; ++i) records.push_back(close(ours, text(100)));
  for (std::size_t due = 0; due < records.size(); ++due) {
    for (std::size_t comes = 0; comes < records.size(); ++comes) {
      RecordGuard theirs = make();
      for (std::size_t i = 0; i < due; ++i) ASSERT_EQ(open(theirs, records[i]), text(100));
      EXPECT_EQ(open(theirs, records[comes]).empty(), comes != due) << due << ' ' << comes;
    }
  }
}

TEST_P(RecordTest, ALengthMustBePossible) {
  RecordGuard theirs = make();
  for (const std::uint32_t length : {0u, 65537u, 0xffffffffu}) {
    Bytes header(kRecordHeaderBytes);
    std::memcpy(header.data(), &length, sizeof length);
    EXPECT_EQ(theirs.read_header(header.data()), 0u) << length;
  }
}

TEST_P(RecordTest, AnotherKeyOpensNothing) {
  if (!sealed()) GTEST_SKIP() << "there is no key";
  RecordGuard ours = make(1), theirs = make(2);
  EXPECT_EQ(open(theirs, close(ours, text(100))), Bytes());
}

TEST_P(RecordTest, KeysAreRenewed) {
  if (!sealed()) GTEST_SKIP() << "there is no key";
  RecordGuard ours = make(1, 3), theirs = make(1, 3), with_the_first_key = make(1);
  for (std::size_t i = 0; i < 20; ++i) {
    const Bytes record = close(ours, text(100));
    EXPECT_EQ(open(theirs, record), text(100)) << i;
    EXPECT_EQ(open(with_the_first_key, record).empty(), i >= 3) << i;
  }
}

std::string name_of_kind(const ::testing::TestParamInfo<Kind>& info) {
  return info.param == Kind::kChecked ? "checked" : info.param == Kind::kAes ? "aes" : "chacha";
}
INSTANTIATE_TEST_SUITE_P(Kinds, RecordTest, ::testing::Values(Kind::kChecked, Kind::kChaCha, Kind::kAes), name_of_kind);

std::string hex(const Bytes& bytes) {
  std::string digits(2 * bytes.size() + 1, '\0');
  sodium_bin2hex(digits.data(), digits.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  digits.pop_back();
  return digits;
}

// The second record of a connection, with the body "lapwing": a change of these bytes is a change of the wire format.
std::string second_record(RecordGuard guard) {
  const char* const word = "lapwing";
  Bytes record(guard.record_bytes(7));
  for (int i = 0; i < 2; ++i) guard.close(record.data(), reinterpret_cast<const std::byte*>(word), 7);
  return hex(record);
}

TEST(Record, BytesArePinned) {
  ASSERT_GE(sodium_init(), 0);
  EXPECT_EQ(second_record(guard(Kind::kChecked)), "07000000a7d911036c617077696e67168e6e7b");
  EXPECT_EQ(second_record(guard(Kind::kChaCha)), "07000000a7d911036e32de175f264dff34f6b8e904484092b9992913cb0c56");
  EXPECT_EQ(second_record(guard(Kind::kChaCha, 1, 1)), "07000000a7d911038fc507efb2913a34fd6766068ca13e59fc96d11b81c282");
  if (Aead::has_aes()) {
    EXPECT_EQ(second_record(guard(Kind::kAes)), "07000000a7d911033bf66c4f413098c774acda905db21efc07f4f20f2de75c");
  }
}

}  // namespace
}  // namespace lapwing::wire
