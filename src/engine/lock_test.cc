#include "engine/lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace lapwing::engine {
namespace {

TEST(Lock, ExcludesAndLetsOthersIn) {
  Lock lock;
  long counter = 0;
  constexpr int kThreads = 4;
  constexpr long kRounds = 20000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (long round = 0; round < kRounds; ++round) {
        lock.lock();
        ++counter;
        if (round % 64 == 0) lock.breathe();
        lock.unlock();
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(counter, kThreads * kRounds);
}

TEST(Lock, BreatheAdmitsAWaitingThread) {
  Lock lock;
  std::atomic<bool> admitted{false};
  lock.lock();
  std::thread other([&] {
    lock.lock();
    admitted = true;
    lock.unlock();
  });
  while (!admitted) lock.breathe();  // ends only if breathing lets the other in
  lock.unlock();
  other.join();
}

}  // namespace
}  // namespace lapwing::engine
