// The two sides of a queue of lent receives, on two threads. (test/model/lending_test.cc looks at every interleaving of a few steps.)
#include "net/lent_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace lapwing::net {
namespace {

constexpr LentQueue::Key kKey{8, 3};

TEST(LentQueue, TheOldestReceiveWithTheKeyIsClaimed) {
  LentQueue queue;
  int receives[3];
  queue.lend({8, 4}, 100, {nullptr, &receives[0]});
  queue.lend(kKey, 100, {nullptr, &receives[1]});
  queue.lend(kKey, 100, {nullptr, &receives[2]});
  std::uint64_t claimed = 0;
  ASSERT_TRUE(queue.claim(kKey, 50, claimed));
  EXPECT_EQ(queue.room(claimed).receive, &receives[1]);
  EXPECT_FALSE(queue.claim({8, 5}, 50, claimed));
  EXPECT_FALSE(queue.claim({8, 4}, 101, claimed)) << "it is too long for the oldest";
}

TEST(LentQueue, NothingIsClaimedBehindAMessageThatIsNotTakenIn) {
  LentQueue queue;
  queue.lend(kKey, 100, {});
  queue.pass_on();
  std::uint64_t claimed = 0;
  EXPECT_FALSE(queue.claim(kKey, 50, claimed));
  queue.take_in();
  EXPECT_TRUE(queue.claim(kKey, 50, claimed));
}

TEST(LentQueue, WhatIsClaimedCannotBeTakenBackAndWhatIsTakenBackCannotBeClaimed) {
  LentQueue queue;
  const std::uint64_t first = queue.lend(kKey, 100, {}), second = queue.lend(kKey, 100, {});
  EXPECT_TRUE(queue.take_back(first));
  std::uint64_t claimed = 0;
  ASSERT_TRUE(queue.claim(kKey, 50, claimed));
  EXPECT_EQ(claimed, second);
  EXPECT_FALSE(queue.take_back(second));
  EXPECT_FALSE(queue.claim(kKey, 50, claimed));
}

TEST(LentQueue, PlacesAreUsedAgainWhenTheOldestIsFree) {
  LentQueue queue;
  const std::uint64_t first = queue.lend(kKey, 100, {}), second = queue.lend(kKey, 100, {});
  while (!queue.full()) queue.lend(kKey, 100, {});
  EXPECT_TRUE(queue.take_back(second));
  EXPECT_TRUE(queue.full());
  EXPECT_TRUE(queue.take_back(first));
  EXPECT_FALSE(queue.full());
}

// One key; every message has a number. The process posts receives, takes some back, and takes in what is passed on, which it gives to the oldest
// receive or keeps for the next.
class TwoThreads {
 public:
  void run() {
    std::thread carrier([&] { carry(); });
    std::mt19937 random(1);
    while (received_.size() < kMessages) {
      if (random() % 8 == 0) take_back_newest();
      post();
      lend();
      take_in();
      queue_.collect([&](const LentRoom& room, const wire::FrameHeader&) { finish(*static_cast<Receive*>(room.receive)); });
    }
    carrier.join();
    for (std::size_t i = 0; i < kMessages; ++i) ASSERT_EQ(received_[i], i) << "lost, doubled or overtaken";
    EXPECT_GT(claimed_, 0u);
  }

 private:
  static constexpr std::size_t kMessages = 50'000;
  struct Receive {
    std::uint64_t message = 0, position = 0;
    bool lent = false, done = false;
  };

  void carry() {
    for (std::uint64_t message = 0; message < kMessages; ++message) {
      std::uint64_t position = 0;
      // Where messages come without a pause there is always one that is not taken in, and none would ever be claimed.
      while (message % 16 == 0 && (!queue_.open() || queue_.reached() == queue_.oldest())) std::this_thread::yield();
      if (queue_.claim(kKey, sizeof message, position)) {
        ++claimed_;
        *reinterpret_cast<std::uint64_t*>(queue_.room(position).base) = message;
        queue_.land(position, {});
      } else {
        queue_.pass_on();
        while (!push(message)) std::this_thread::yield();
      }
    }
  }

  // The socket between the two takes a few messages.
  bool push(std::uint64_t message) {
    const std::lock_guard guard(mutex_);
    if (passed_.size() >= 8) return false;
    passed_.push_back(message);
    return true;
  }

  void post() {
    if (posted_.size() >= 40) return;
    Receive& receive = posted_.emplace_back();
    if (!kept_.empty()) {
      receive.message = kept_.front();
      kept_.pop_front();
      return finish(receive);
    }
  }
  void lend() {
    for (Receive& receive : posted_) {
      if (receive.lent || receive.done) continue;
      if (queue_.full()) return;
      receive.lent = true;
      receive.position =
          queue_.lend(kKey, sizeof receive.message, {reinterpret_cast<std::byte*>(&receive.message), &receive});
    }
  }
  void take_back_newest() {
    if (posted_.empty()) return;
    Receive& receive = posted_.back();
    if (!receive.done && (!receive.lent || queue_.take_back(receive.position))) posted_.pop_back();
  }
  void take_in() {
    std::uint64_t message;
    {
      const std::lock_guard guard(mutex_);
      if (passed_.empty()) return;
      message = passed_.front();
      passed_.pop_front();
    }
    Receive* receive = oldest();
    if (receive != nullptr) {
      receive->message = message;
      receive->lent = false;
      finish(*receive);
    } else {
      kept_.push_back(message);
    }
    queue_.take_in();
  }
  // That has no message, and is not lent any more.
  Receive* oldest() {
    for (Receive& receive : posted_) {
      if (!receive.done && (!receive.lent || queue_.take_back(receive.position))) return &receive;
    }
    return nullptr;
  }
  // In the order in which the receives were posted.
  void finish(Receive& receive) {
    receive.done = true;
    while (!posted_.empty() && posted_.front().done) {
      received_.push_back(posted_.front().message);
      posted_.pop_front();
    }
  }

  LentQueue queue_;
  std::mutex mutex_;
  std::deque<std::uint64_t> passed_;
  std::uint64_t claimed_ = 0;  // the carrier's
  std::deque<Receive> posted_;
  std::deque<std::uint64_t> kept_;
  std::vector<std::uint64_t> received_;
};

TEST(LentQueue, TwoThreadsLoseDoubleAndOvertakeNothing) {
  TwoThreads().run();
}

}  // namespace
}  // namespace lapwing::net
