#include "net/shm/ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace lapwing::net::shm {
namespace {

constexpr std::uint64_t kCapacity = 4096;
constexpr std::uint64_t kUsable = kCapacity - 64;

class RingTest : public testing::Test {
 protected:
  RingTest() {
    writer_.attach(*header_, bytes_.data(), kCapacity);
    reader_.attach(*header_, bytes_.data(), kCapacity);
  }

  // Writes `count` bytes that continue the pattern, in at most two pieces.
  void write(std::uint64_t count) {
    while (count != 0) {
      const Piece piece = writer_.next(count);
      for (std::uint64_t i = 0; i < piece.bytes; ++i) piece.data[i] = pattern(written_ + i);
      writer_.advance(piece.bytes);
      written_ += piece.bytes;
      count -= piece.bytes;
    }
    writer_.publish();
  }

  // Reads and checks `count` bytes.
  bool read(std::uint64_t count) {
    bool right = true;
    while (count != 0) {
      const Piece piece = reader_.next(count);
      for (std::uint64_t i = 0; i < piece.bytes; ++i) right &= piece.data[i] == pattern(read_ + i);
      reader_.advance(piece.bytes);
      read_ += piece.bytes;
      count -= piece.bytes;
    }
    return right;
  }

  static std::byte pattern(std::uint64_t position) { return static_cast<std::byte>(position * 131 + (position >> 8)); }

  std::unique_ptr<RingHeader> header_ = std::make_unique<RingHeader>();
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kCapacity);
  RingWriter writer_;
  RingReader reader_;
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;
};

TEST_F(RingTest, StartsEmpty) {
  EXPECT_EQ(writer_.room(64), kUsable);
  EXPECT_EQ(reader_.available(), 0u);
  EXPECT_FALSE(reader_.record_here());
}

TEST_F(RingTest, ASmallRecordIsSeenByItsStampAlone) {
  for (int lap = 0; lap < 300; ++lap) {
    ASSERT_FALSE(reader_.record_here());
    *writer_.begin() = static_cast<std::byte>(lap);
    ASSERT_FALSE(reader_.record_here());
    writer_.publish_head();
    ASSERT_TRUE(reader_.record_here());
    ASSERT_EQ(reader_.available(), 0u);  // the tail has not moved
    reader_.trust(64);
    ASSERT_EQ(reader_.available(), 64u);
    ASSERT_EQ(reader_.next(64).data[0], static_cast<std::byte>(lap));
    reader_.advance(64);
    ASSERT_GE(writer_.room(64), 64u);
  }
  EXPECT_EQ(header_->tail.load(), 0u);
}

TEST_F(RingTest, ALongRecordIsSeenByItsStampAndGoesOnByTheTail) {
  writer_.begin();
  writer_.advance(128);
  writer_.publish_head();
  ASSERT_TRUE(reader_.record_here());
  reader_.trust(192);
  EXPECT_EQ(reader_.available(), 192u);
  reader_.advance(192);
  EXPECT_EQ(reader_.available(), 0u);
  writer_.advance(640);
  EXPECT_EQ(reader_.available(), 0u);
  writer_.publish();
  EXPECT_EQ(reader_.available(), 640u);
}

// Every word of a record's payload is what the stamp of some line of the next lap will be.
TEST_F(RingTest, LeftOverBytesNeverPassForAStamp) {
  for (std::uint64_t position = 0; position < 50 * kCapacity;) {
    writer_.begin();
    const std::uint64_t payload = position % (kCapacity / 4);
    for (std::uint64_t done = 0; done < payload; done += 64) {
      const std::uint64_t stamp = position + 64 + done + kCapacity + 1;
      for (int word = 0; word < 8; ++word) std::memcpy(writer_.next(64).data + 8 * word, &stamp, 8);
      writer_.advance(64);
    }
    writer_.publish_head();
    ASSERT_TRUE(reader_.record_here());
    reader_.trust(64 + payload);
    for (std::uint64_t left = 64 + payload; left != 0;) {
      const Piece piece = reader_.next(left);
      reader_.advance(piece.bytes);
      left -= piece.bytes;
    }
    ASSERT_FALSE(reader_.record_here()) << position;
    position += 64 + payload;
    ASSERT_GE(writer_.room(kCapacity / 4), kCapacity / 4);
  }
}

TEST_F(RingTest, TakesExactlyItsCapacityAndNoMore) {
  write(kUsable);
  EXPECT_EQ(writer_.room(64), 0u);
  EXPECT_EQ(reader_.available(), kUsable);
  EXPECT_TRUE(read(kUsable));
  EXPECT_EQ(writer_.room(64), kUsable);
}

TEST_F(RingTest, WrapsAnywhere) {
  for (std::uint64_t round = 1; round < 500; ++round) {
    const std::uint64_t bytes = round * 64 % (kUsable * 3 / 4 / 64 * 64) + 64;  // what a reader may leave unpublished apart
    ASSERT_GE(writer_.room(bytes), bytes);
    write(bytes);
    ASSERT_EQ(reader_.available(), bytes);
    ASSERT_TRUE(read(bytes));
  }
}

TEST_F(RingTest, AFullRingIsAlwaysReopenedByReadingIt) {
  // The reader's position is published once per quarter: what is unpublished never keeps the writer out for good.
  write(kUsable - 64);
  EXPECT_TRUE(read(kCapacity / 4 - 64));
  EXPECT_EQ(writer_.room(128), 64u);
  write(64);
  EXPECT_EQ(writer_.room(64), 0u);
  EXPECT_TRUE(read(64));
  EXPECT_EQ(writer_.room(64), kCapacity / 4);
}

TEST_F(RingTest, ImpossibleWritePositionBreaksTheReader) {
  for (const std::uint64_t tail : {kCapacity + 64, std::uint64_t{32}, ~std::uint64_t{63}}) {
    RingReader reader;
    reader.attach(*header_, bytes_.data(), kCapacity);
    store_release(header_->tail, tail);
    EXPECT_EQ(reader.available(), 0u);
    EXPECT_TRUE(reader.broken());
  }
}

TEST_F(RingTest, ImpossibleReadPositionBreaksTheWriter) {
  write(kUsable);
  for (const std::uint64_t head : {kCapacity + 64, std::uint64_t{32}, ~std::uint64_t{63}}) {
    RingWriter writer = writer_;
    store_release(header_->head, head);
    EXPECT_EQ(writer.room(64), 0u);
    EXPECT_TRUE(writer.broken());
  }
}

TEST_F(RingTest, StreamsBetweenThreads) {
  constexpr std::uint64_t kTotal = 4 << 20;
  std::thread producer([this] {
    for (std::uint64_t step = 0; written_ < kTotal;) {
      const std::uint64_t room = writer_.room(64);
      if (room == 0) {
        std::this_thread::yield();
        continue;
      }
      const std::uint64_t wanted = 64 * (1 + step++ % 40);
      write(std::min({room, wanted, kTotal - written_}));
    }
  });
  bool right = true;
  while (read_ < kTotal) {
    const std::uint64_t available = reader_.available();
    if (available == 0) std::this_thread::yield();
    right &= read(available);
  }
  producer.join();
  EXPECT_TRUE(right);
}

}  // namespace
}  // namespace lapwing::net::shm
