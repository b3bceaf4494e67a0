// Both ends of a shared pull, by turns and by two threads: every piece is copied once.
#include "net/shm/shared_pull.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace lapwing::net::shm {
namespace {

class SharedPull : public testing::Test {
 protected:
  SharedPull() {
    taker_.attach(words_);
    helper_.attach(words_);
  }
  void open(std::uint64_t bytes) {
    from_.resize(bytes), to_.assign(bytes, 0);
    for (std::size_t i = 0; i < bytes; ++i) from_[i] = static_cast<unsigned char>(i * 7 + i / 4096 + opened_);
    ++opened_;
    taker_.open(address(from_), address(to_), bytes);
  }
  static std::uint64_t address(const std::vector<unsigned char>& bytes) {
    return reinterpret_cast<std::uint64_t>(bytes.data());
  }
  bool take() {
    const Range range = taker_.claim();
    std::memcpy(to_.data() + range.offset, from_.data() + range.offset, range.bytes);
    taken_ += range.bytes;
    return range.bytes != 0;
  }
  bool help() {
    const PullHelper::Piece piece = helper_.claim();
    if (piece.bytes == 0) return false;
    std::memcpy(reinterpret_cast<void*>(piece.to), reinterpret_cast<void*>(piece.from), piece.bytes);
    helped_ += piece.bytes;
    helper_.finish(true);
    return true;
  }

  PullWords words_{};
  PullTaker taker_;
  PullHelper helper_;
  std::vector<unsigned char> from_, to_;
  std::uint64_t taken_ = 0, helped_ = 0;
  unsigned opened_ = 0;
};

TEST_F(SharedPull, PiecesAreFewAndNeverTooMany) {
  EXPECT_EQ(piece_bytes(64 * 1024), 32u * 1024);
  EXPECT_EQ(piece_bytes(1 << 20), 128u * 1024);
  EXPECT_EQ(piece_bytes(64 << 20), 256u * 1024);
  for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{1} << 34, std::uint64_t{1} << 45, std::uint64_t{3} << 50})
    EXPECT_LT(bytes / piece_bytes(bytes), 0x8000u);
}

TEST_F(SharedPull, NothingIsOpenAtFirst) {
  EXPECT_FALSE(helper_.open());
  EXPECT_EQ(helper_.claim().bytes, 0u);
}

TEST_F(SharedPull, TheReceiverNeedsNoHelp) {
  for (const std::uint64_t bytes : {1u, 32u * 1024, 100'001u, 3u << 20}) {
    open(bytes);
    while (take()) {
    }
    EXPECT_TRUE(taker_.complete());
    EXPECT_FALSE(taker_.failed());
    EXPECT_EQ(from_, to_);
    EXPECT_FALSE(helper_.open());
  }
}

TEST_F(SharedPull, TheSenderMayDoAllOfIt) {
  open(777'777);
  while (help()) {
  }
  EXPECT_FALSE(take());
  EXPECT_TRUE(taker_.complete());
  EXPECT_EQ(from_, to_);
}

TEST_F(SharedPull, TheReceiverWaitsForThePieceUnderWay) {
  open(200'000);
  const PullHelper::Piece piece = helper_.claim();
  ASSERT_NE(piece.bytes, 0u);
  while (take()) {
  }
  EXPECT_FALSE(taker_.complete());
  std::memcpy(reinterpret_cast<void*>(piece.to), reinterpret_cast<void*>(piece.from), piece.bytes);
  helper_.finish(true);
  EXPECT_FALSE(take());
  EXPECT_TRUE(taker_.complete());
  EXPECT_EQ(from_, to_);
}

TEST_F(SharedPull, WhatTheSenderCannotCopyTheReceiverDoes) {
  open(900'000);
  ASSERT_TRUE(help());
  ASSERT_NE(helper_.claim().bytes, 0u);
  helper_.finish(false);
  EXPECT_FALSE(helper_.open());
  while (take()) {
  }
  EXPECT_TRUE(taker_.complete());
  EXPECT_TRUE(taker_.failed());
  EXPECT_EQ(from_, to_);
  EXPECT_EQ(taken_ + helped_, 900'000u);
}

TEST_F(SharedPull, ImpossibleNumbersAreAFailure) {
  for (const std::uint64_t word : {std::uint64_t{7} << 32 | 3, std::uint64_t{8} << 32 | std::uint64_t{5} << 16,
                                   std::uint64_t{8} << 32 | 9, ~std::uint64_t{0}}) {
    open(8 * 32 * 1024);
    words_.pieces.store(word);
    while (take()) {
    }
    EXPECT_TRUE(taker_.complete());
    EXPECT_TRUE(taker_.failed());
    EXPECT_EQ(from_, to_);
    taker_ = PullTaker();
    taker_.attach(words_);
  }
  open(8 * 32 * 1024);
  words_.pushed.store(9);
  while (take()) {
  }
  EXPECT_TRUE(taker_.complete());
  EXPECT_EQ(from_, to_);
}

TEST_F(SharedPull, TwoThreadsCopyEachPieceOnce) {
  constexpr int kMessages = 300;
  std::atomic<bool> stop{false};
  std::thread sender([&] {
    while (!stop.load()) {
      if (!helper_.open() || !help()) std::this_thread::yield();
    }
  });
  std::uint64_t all = 0;
  for (int i = 0; i < kMessages; ++i) {
    const std::uint64_t bytes = 64 * 1024 + static_cast<std::uint64_t>(i) * 4099;
    open(bytes);
    while (!taker_.complete()) {
      if (!take()) std::this_thread::yield();
    }
    EXPECT_EQ(from_, to_);
    all += bytes;
  }
  stop.store(true);
  sender.join();
  EXPECT_FALSE(taker_.failed());
  EXPECT_EQ(taken_ + helped_, all);
}

}  // namespace
}  // namespace lapwing::net::shm
