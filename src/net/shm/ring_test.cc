#include "net/shm/ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <random>
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
    reader_.attach(*header_, bytes_.data(), kCapacity, 4 * kCapacity);
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

TEST_F(RingTest, TheReaderIsToldWhatFillingALongRecordTook) {
  EXPECT_EQ(reader_.filling(), 0u);
  writer_.copied(3000, 2000, 100);
  EXPECT_EQ(reader_.filling(), 0u) << "not all of it has been copied";
  writer_.copied(3000, 1000, 200);
  EXPECT_EQ(reader_.filling(), 101u);
}

TEST_F(RingTest, StartsEmpty) {
  EXPECT_EQ(writer_.room(64), kUsable);
  EXPECT_EQ(reader_.available(), 0u);
  EXPECT_FALSE(reader_.record_here());
}

TEST_F(RingTest, ASmallRecordIsSeenByItsStampAlone) {
  for (int lap = 0; lap < 300; ++lap) {
    ASSERT_FALSE(reader_.record_here());
    *writer_.begin(64) = static_cast<std::byte>(lap);
    ASSERT_FALSE(reader_.record_here());
    writer_.wipe_next();
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
  writer_.begin(832);
  writer_.advance(128);
  writer_.wipe_next();
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

TEST_F(RingTest, ClaimedLinesAreWipedAndNoOthers) {
  writer_.begin(320, kClaimed);
  write(256);
  writer_.wipe_next();
  writer_.publish_head();
  ASSERT_TRUE(reader_.record_here());
  EXPECT_EQ(reader_.record_flags(), kClaimed);
  std::memset(bytes_.data(), 0xff, kCapacity);
  const auto stamp = [this](std::uint64_t line) { return stamp_of(bytes_.data() + line * 64).load(); };
  reader_.claim(256);
  for (std::uint64_t line = 0; line < kCapacity / 64; ++line) EXPECT_EQ(stamp(line), line < 4 ? 0 : ~std::uint64_t{0});
  reader_.advance(kUsable);
  reader_.claim(256);  // round the ring's end
  for (const std::uint64_t line : {kCapacity / 64 - 1, std::uint64_t{0}, std::uint64_t{2}}) EXPECT_EQ(stamp(line), 0u);
  EXPECT_NE(stamp(kCapacity / 64 - 2), 0u);
}

TEST_F(RingTest, WhatIsCopiedAndClaimedAtOnceIsNotClaimedAgain) {
  writer_.begin(320, kClaimed);
  write(256);
  writer_.wipe_next();
  writer_.publish_head();
  ASSERT_TRUE(reader_.record_here());
  std::memset(bytes_.data(), 0xff, kCapacity);
  const auto stamp = [this](std::uint64_t line) { return stamp_of(bytes_.data() + line * 64).load(); };
  std::byte copy[200] = {};
  EXPECT_EQ(reader_.copy_and_claim(copy, sizeof copy), 192u) << "the last line has been read in part";
  EXPECT_EQ(copy[0], std::byte{0xff});
  EXPECT_EQ(copy[199], std::byte{0xff});
  EXPECT_EQ(stamp(2), 0u);
  EXPECT_NE(stamp(3), 0u);
  stamp_of(bytes_.data()).store(5);
  reader_.claim(256, 192);
  EXPECT_EQ(stamp(0), 5u);
  EXPECT_EQ(stamp(3), 0u);
  EXPECT_NE(stamp(4), 0u);
}

// 4 KiB at a time, in a ring where claimed lines cost the writer a half.
TEST_F(RingTest, RecordsAreClaimedWhereThatIsFaster) {
  constexpr std::uint64_t kPayload = 4096;
  writer_.attach(*header_, bytes_.data(), RingTrial::kLeastRing);  // writes nothing
  EXPECT_EQ(writer_.trial_flags(kPayload), 0u);
  RingTrial& trial = *writer_.trials().of(kPayload);
  for (int i = 0; i < 1000; ++i)
    trial.timing() ? trial.timed(kPayload, (writer_.trial_flags(kPayload) & kClaimed) != 0 ? 1 : 2) : trial.copied(kPayload);
  EXPECT_EQ(writer_.trial_flags(kPayload), kClaimed);
  EXPECT_EQ(writer_.trial_flags(RingTrial::kLeastClaimed - 1), kClaimed) << "short ones always are";
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
    const std::uint64_t bytes =
        round * 64 % (kUsable * 3 / 4 / 64 * 64) + 64;  // what a reader may leave unpublished apart
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

// Records between the two sides of a ring that has short laps.
class ShortLapTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kBytes = 32768, kLap = 1024;
  static constexpr std::uint64_t kLongerLap = 4 * kLap;  // of records of one line

  ShortLapTest() { attach(kLap); }

  void attach(std::uint64_t lap) {
    writer_.attach(*header_, bytes_.data(), kBytes, lap);
    reader_.attach(*header_, bytes_.data(), kBytes, lap);
  }

  // A record of so many bytes if there is room, whose payload is made of what the stamps of the lines behind it will be. Returns where
  // it begins in the ring.
  std::uint64_t write(std::uint64_t bytes, std::uint64_t flags = 0) {
    if (writer_.room_to_begin(bytes, bytes - 64) < bytes) return kBytes;
    std::byte* const line = writer_.begin(bytes, flags);
    std::memcpy(line, &bytes, 8);
    const std::uint64_t position = load_relaxed(stamp_of(line)) / 64 * 64;  // of the lap before, or none
    for (std::uint64_t at = 64; at < bytes; at += 64) {
      const std::uint64_t laps = 1 + at / 64 % 2;
      const std::uint64_t stamp = position + laps * kBytes + at + 1 + (at / 128 % 2 == 0 ? 0 : kTurns);
      for (int word = 0; word < 8; ++word) std::memcpy(writer_.next(64).data + 8 * word, &stamp, 8);
      writer_.advance(64);
    }
    writer_.wipe_next();
    writer_.publish_head();
    written_ += bytes;
    return static_cast<std::uint64_t>(line - bytes_.data());
  }

  // To the last kLap bytes of the ring; nothing is unread then.
  void go_to_the_end() {
    for (std::uint64_t at = 0; at < kBytes - kLap; at += 64) {
      ASSERT_EQ(write(64), at);
      const std::uint64_t lag = 1024;  // so far behind that the writer goes on
      ASSERT_EQ(at > lag ? read() : 64u, 64u);
    }
    while (read() != 0) {
    }
  }

  void write_and_read_at_random();

  // Takes the next record, if it is there; its length.
  std::uint64_t read() {
    if (!reader_.record_here()) return 0;
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, reader_.next(64).data, 8);
    reader_.trust(bytes);
    if ((reader_.record_flags() & kClaimed) != 0) reader_.claim(bytes);
    for (std::uint64_t left = bytes; left != 0;) {
      const Piece piece = reader_.next(left);
      (void)reader_.advance(piece.bytes);
      left -= piece.bytes;
    }
    read_ += bytes;
    if (answers_) writer_.answer();
    return bytes;
  }

  bool answers_ = true;
  std::unique_ptr<RingHeader> header_ = std::make_unique<RingHeader>();
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kBytes);
  RingWriter writer_;
  RingReader reader_;
  std::uint64_t written_ = 0, read_ = 0;
};

TEST_F(ShortLapTest, RecordsThatAreReadAtOnceBeginInTheFirstBytes) {
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const std::uint64_t bytes = 64 + i * 7 % 3 * 64;
    ASSERT_LT(write(bytes), kBytes / 2) << i;
    ASSERT_EQ(read(), bytes) << i;
    ASSERT_EQ(read(), 0u) << i;
  }
}

TEST_F(ShortLapTest, AReaderThatLagsLeavesTheWholeRing) {
  for (int time = 0; time < 20; ++time) {
    while (write(64) != kBytes) {
    }
    EXPECT_EQ(written_ - read_, kBytes - 64);
    while (read() != 0) {
    }
    EXPECT_EQ(read_, written_);
    // It has caught up: within a short lap the records are back in the first bytes, and so would the next be.
    for (std::uint64_t bytes = 0; bytes < kLongerLap + 64; bytes += 64) {
      write(64);
      ASSERT_EQ(read(), 64u);
    }
    EXPECT_LE(write(64), kLongerLap);
    ASSERT_EQ(read(), 64u);
    // Full laps begin at the ring's beginning, where nothing is skipped.
    while (write(64) != 0) ASSERT_EQ(read(), 64u);
    ASSERT_EQ(read(), 64u);
  }
}

TEST_F(ShortLapTest, AStreamTakesLongerLapsTheLongerItsRecords) {
  answers_ = false;
  for (const std::uint64_t record : {64u, 128u, 320u}) {
    std::uint64_t furthest = 0;
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t begins = write(record);
      ASSERT_EQ(read(), record);
      if (i > 1000) furthest = std::max(furthest, begins);
    }
    EXPECT_GE(furthest, 64 * record);
    EXPECT_LE(furthest, 64 * record + kLap + record);
  }
}

TEST_F(ShortLapTest, LongRecordsTurnWhereTwoOfThemHaveRoom) {
  std::uint64_t furthest = 0;
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t begins = write(1024);
    ASSERT_EQ(read(), 1024u);
    if (i > 10) furthest = std::max(furthest, begins);
  }
  EXPECT_EQ(furthest, 2 * (1024u + 64u));  // each with the line that is left out behind it
}

TEST_F(ShortLapTest, ALineIsLeftOutBehindLongerRecordsThatAreSentByTurns) {
  const auto begins = [this](std::uint64_t bytes) {
    const std::uint64_t at = write(bytes, kClaimed);
    EXPECT_EQ(read(), bytes);
    return at;
  };
  for (int i = 0; i < 4; ++i) begins(64);
  EXPECT_EQ(begins(kLeastByTurns), 256u);
  EXPECT_EQ(begins(kLeastByTurns - 64), 256 + kLeastByTurns + 64);
  EXPECT_EQ(begins(64), 576 + kLeastByTurns);
  answers_ = false;
  begins(64);
  begins(64);
  const std::uint64_t at = begins(kLeastByTurns);
  EXPECT_EQ(begins(64), at + kLeastByTurns);
}

TEST_F(ShortLapTest, RecordsOfFewLinesTakeLongerLaps) {
  for (int i = 0; i < 1000; ++i) {
    ASSERT_LE(write(128), 2 * kLongerLap) << i;
    ASSERT_EQ(read(), 128u);
  }
}

// Half of a ring is empty where a turn has skipped more than half.
TEST_F(ShortLapTest, WhatATurnSkipsIsNotFull) {
  while (write(64) != kLongerLap) ASSERT_EQ(read(), 64u);
  EXPECT_TRUE(writer_.half_empty());
  ASSERT_EQ(write(64), 0u);  // turned, while one record is unread
  EXPECT_TRUE(writer_.half_empty());
  EXPECT_EQ(read(), 64u);
  EXPECT_EQ(read(), 64u);
  EXPECT_EQ(read(), 0u);
  while (writer_.half_empty()) ASSERT_NE(write(64), kBytes);
  EXPECT_GT(written_ - read_, kBytes / 2 - 64);
}

// A reader that is not notified while half of the ring is empty is notified before the writer has no room.
TEST_F(ShortLapTest, BehindATurnHalfOfAShortLapIsLeftEmpty) {
  while (write(64) != kLongerLap) ASSERT_EQ(read(), 64u);
  ASSERT_EQ(write(64), 0u);  // turned, while one record is unread
  while (writer_.half_empty()) ASSERT_NE(write(64), kBytes);
  EXPECT_LT(written_ - read_, kLongerLap);
}

TEST_F(ShortLapTest, ARecordThatWouldHaveToWaitAtTheBeginningBeginsWhereItIs) {
  while (write(64) != kLap - 64) ASSERT_EQ(read(), 64u);
  ASSERT_EQ(read(), 64u);
  EXPECT_EQ(write(kLap), kLap);
  EXPECT_EQ(read(), kLap);
  EXPECT_EQ(write(64), 2 * kLap + 64);
}

TEST_F(ShortLapTest, ARecordThatComesRoundIsNoLapsLast) {
  go_to_the_end();
  EXPECT_EQ(write(kLap + 512), kBytes - kLap);
  EXPECT_EQ(read(), kLap + 512);
  EXPECT_EQ(write(64), 512u + 64u);
}

// What is unread may begin before the ring's end, so that there is more of it than has been written behind the beginning.
TEST_F(ShortLapTest, NoTurnGoesIntoWhatIsUnread) {
  go_to_the_end();
  EXPECT_EQ(write(2 * kLap + 64), kBytes - kLap);
  writer_.answer();
  EXPECT_EQ(write(kLap + 512), kLap + 128);
  EXPECT_EQ(write(64), 2 * kLap + 128 + 512 + 64);
  EXPECT_EQ(read(), 2 * kLap + 64);
  EXPECT_EQ(read(), kLap + 512);
  EXPECT_EQ(read(), 64u);
}

// A line that is left out keeps what it had, and may be one where the reader looks a lap later.
TEST_F(ShortLapTest, ALineThatIsLeftOutDoesNotPassForAStampLater) {
  constexpr std::uint64_t kLine = 512;
  const auto exchange = [this](std::uint64_t bytes, std::uint64_t flags = kClaimed) {
    const std::uint64_t at = write(bytes, flags);
    if (flags == 0) store_relaxed(stamp_of(bytes_.data() + kLine), 2 * kBytes + kLine + 1);
    EXPECT_EQ(read(), bytes);
    return at;
  };
  const auto end_lap = [&] {
    while (exchange(64) != kLongerLap) {
    }
  };
  for (int i = 0; i < 4; ++i) exchange(64);
  ASSERT_EQ(exchange(kLeastByTurns, 0), 256u);  // payload that is not claimed, in that line too
  end_lap();
  for (int i = 0; i < 3; ++i) exchange(64);
  ASSERT_EQ(exchange(kLeastByTurns), kLine - kLeastByTurns);
  ASSERT_EQ(exchange(64), kLine + 64);  // left out
  end_lap();
  while (exchange(64) != kLine - 64) {
  }
  EXPECT_EQ(read(), 0u);
}

// Whatever the two sides do, each record is read once, and nothing that is none.
void ShortLapTest::write_and_read_at_random() {
  std::mt19937 random(17);
  std::deque<std::uint64_t> expected;
  for (int step = 0; step < 200'000; ++step) {
    const std::uint64_t bytes = 64 * (1 + random() % (random() % 4 == 0 ? 24 : 2));
    const bool lags = step / 1000 % 3 == 0;
    answers_ = step / 3000 % 2 == 0;
    const std::uint64_t flags = random() % 8 == 0 || step / 5000 % 2 == 0 ? 0 : kClaimed;
    if (random() % 2 == 0 && write(bytes, flags) != kBytes) expected.push_back(bytes);
    if (lags && random() % 4 != 0) continue;
    const std::uint64_t taken = read();
    ASSERT_EQ(taken, expected.empty() ? 0 : expected.front()) << step;
    if (taken != 0) expected.pop_front();
  }
}

TEST_F(ShortLapTest, LeftOverBytesNeverPassForAStamp) {
  write_and_read_at_random();
}

TEST_F(ShortLapTest, NorWhereAllLapsAreLong) {
  attach(kBytes);
  write_and_read_at_random();
}

TEST_F(ShortLapTest, RecordsBetweenThreads) {
  constexpr std::uint64_t kRecords = 200'000;
  answers_ = false;  // the writer is the producer's
  std::thread producer([this] {
    for (std::uint64_t i = 0; i < kRecords;) {
      if (i / 1000 % 2 == 0) writer_.answer();
      if (write(64 * (1 + i % 9)) == kBytes)
        std::this_thread::yield();
      else
        ++i;
    }
  });
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < kRecords;) {
    const std::uint64_t bytes = read();
    if (bytes == 0) {
      std::this_thread::yield();
      continue;
    }
    wrong += bytes != 64 * (1 + i % 9);
    ++i;
  }
  producer.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(written_, read_);
}

}  // namespace
}  // namespace lapwing::net::shm
