// Frames through a RecordWriter and a RecordReader, in pieces of every kind.
#include <gtest/gtest.h>
#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "net/tcp/record_reader.h"
#include "net/tcp/record_writer.h"

namespace lapwing::net::tcp {
namespace {

using Bytes = std::vector<std::byte>;

wire::RecordGuard guard(bool sealed) {
  if (!sealed) return {};
  return {wire::Cipher::kChaCha20Poly1305, wire::Secret()};
}

Bytes random_bytes(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// Both ends of one direction.
struct Stream {
  explicit Stream(bool sealed, std::size_t most_body = 16 << 10, std::size_t most_waiting = 64 << 10)
      : writer(guard(sealed), most_body, most_waiting), reader(guard(sealed)) {}

  // Carries all that waits, at most `most` bytes at a time; what came out is added to `out`.
  void carry(std::size_t most) {
    while (!writer.waiting().empty()) {
      const auto room = reader.room();
      const std::size_t count = std::min({most, room.size(), writer.waiting().size()});
      std::memcpy(room.data(), writer.waiting().data(), count);
      left += writer.left(count);
      reader.filled(count);
      read();
    }
  }
  void read() {
    while (const std::size_t bytes = reader.next()) {
      ++records;
      const std::size_t before = out.size();
      const bool direct = records % 2 == 0;
      out.resize(before + bytes);
      const std::byte* body = reader.open(direct ? &out[before] : nullptr);
      ASSERT_NE(body, nullptr);
      if (!direct) std::memcpy(&out[before], body, bytes);
    }
  }

  RecordWriter writer;
  RecordReader reader;
  std::uint64_t left = 0;
  int records = 0;
  Bytes out;
};

iovec piece(const Bytes& bytes, std::size_t at, std::size_t count) {
  return {const_cast<std::byte*>(&bytes[at]), count};
}

class RecordStream : public ::testing::TestWithParam<bool> {
  void SetUp() override { ASSERT_GE(sodium_init(), 0); }
};

TEST_P(RecordStream, AllBytesComeOutInOrder) {
  std::mt19937 random(1);
  const Bytes bytes = random_bytes(3 << 20, 2);
  for (const std::size_t most_body : {4096u, 16384u, 65536u}) {
    for (const std::size_t chunk : {1000u, 70'000u, 1'000'000u}) {
      Stream stream(GetParam(), most_body, 70'000);
      while (stream.left < bytes.size()) {
        std::vector<iovec> pieces;
        std::size_t at = stream.left;
        for (unsigned i = random() % 20 + 1; i > 0 && at < bytes.size(); --i) {
          const std::size_t count = std::min<std::size_t>(random() % 3 == 0 ? random() % 200'000 + 1 : random() % 300 + 1, bytes.size() - at);
          pieces.push_back(piece(bytes, at, count));
          at += count;
        }
        stream.writer.write(pieces);
        ASSERT_FALSE(stream.writer.waiting().empty());
        EXPECT_LE(stream.writer.waiting().size(), std::max<std::size_t>(70'000, most_body + 24));
        stream.carry(chunk);
        ASSERT_EQ(stream.out.size(), stream.left);
      }
      EXPECT_TRUE(stream.out == bytes);
      EXPECT_EQ(stream.reader.missing(0), 0u);
    }
  }
}

TEST_P(RecordStream, WhatIsShortSharesARecordAndWhatIsLongHasItsOwn) {
  const Bytes bytes = random_bytes(100'000, 3);
  Stream small(GetParam());
  const std::vector<iovec> frames(20, piece(bytes, 0, 72));
  small.writer.write(frames);
  small.carry(1 << 20);
  EXPECT_EQ(small.records, 1);
  Stream large(GetParam());
  const iovec header_and_payload[] = {piece(bytes, 0, 64), piece(bytes, 64, 40'000), piece(bytes, 50'000, 64)};
  large.writer.write(header_and_payload);
  large.carry(1 << 20);
  EXPECT_EQ(large.records, 1 + 3 + 1);  // 16384, 16384, 7232
  EXPECT_EQ(large.left, 40'128u);
}

// The peer may answer a frame whose last byte it has: that byte must count as sent then, and no byte of a record that is not whole.
TEST_P(RecordStream, BytesHaveLeftWithTheEndOfTheirRecord) {
  const Bytes bytes = random_bytes(1000, 4);
  Stream stream(GetParam());
  const iovec frame = piece(bytes, 0, 1000);
  stream.writer.write({&frame, 1});
  const std::size_t all = stream.writer.waiting().size();
  EXPECT_EQ(stream.writer.left(all - 1), 0u);
  EXPECT_EQ(stream.writer.waiting().size(), 1u);
  EXPECT_EQ(stream.writer.left(1), 1000u);
  EXPECT_TRUE(stream.writer.waiting().empty());
}

// A thread sleeps until the connection has so much: it must never be told more than will come.
TEST_P(RecordStream, KnowsAtLeastWhatIsMissing) {
  const Bytes bytes = random_bytes(9000, 5);
  Stream stream(GetParam());
  const iovec frame = piece(bytes, 0, 9000);
  stream.writer.write({&frame, 1});
  const Bytes record(stream.writer.waiting().begin(), stream.writer.waiting().end());
  EXPECT_EQ(stream.reader.missing(9000), 9000u);
  for (std::size_t here = 1; here < record.size(); ++here) {
    const auto room = stream.reader.room();
    room[0] = record[here - 1];
    stream.reader.filled(1);
    EXPECT_EQ(stream.reader.next(), 0u);
    for (const std::uint64_t of_frame : {0u, 9000u}) {
      EXPECT_GE(stream.reader.missing(of_frame), 1u) << here;
      EXPECT_LE(stream.reader.missing(of_frame), record.size() - here) << here;
    }
    EXPECT_GE(stream.reader.missing(20'000), 20'000 - here);
  }
}

TEST_P(RecordStream, NothingComesOutAfterAWrongRecord) {
  const Bytes bytes = random_bytes(1000, 6);
  for (const std::size_t at : {0u, 4u, 8u, 500u, 1009u}) {
    Stream stream(GetParam());
    const iovec frame = piece(bytes, 0, 1000);
    stream.writer.write({&frame, 1});
    const auto room = stream.reader.room();
    std::memcpy(room.data(), stream.writer.waiting().data(), stream.writer.waiting().size());
    room[at] ^= std::byte{1};
    stream.reader.filled(stream.writer.waiting().size());
    if (stream.reader.next() > 0) {
      EXPECT_EQ(stream.reader.open(nullptr), nullptr);
    }
    EXPECT_TRUE(stream.reader.wrong());
    EXPECT_EQ(stream.reader.next(), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, RecordStream, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& info) { return info.param ? "sealed" : "checked"; });

}  // namespace
}  // namespace lapwing::net::tcp
