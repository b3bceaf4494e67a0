// Time stands still in these tests: a wait that looked again after a while would not end.
#include "process/settling.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace lapwing::process {
namespace {

class SettlingTest : public ::testing::TestWithParam<bool> {
 protected:
  struct Reason final : engine::WaitReason {
    using WaitReason::WaitReason;
  };

  void SetUp() override {
    engine::EngineOptions options;
    options.event_thread = GetParam();
    options.spin_budget = 0;
    ASSERT_TRUE(engine.start(options).ok());
  }
  void TearDown() override { engine.stop(); }
  void wait_until_settled() {
    engine::Visit visit(engine);
    const Reason reason("MPI_Finalize");
    wait_until(engine, reason, [this] {
      ++looks;
      return settled;
    });
  }

  ManualClock clock;
  engine::Engine engine{clock};
  bool settled = false;  // under the lock
  std::atomic<int> looks{0};
};

TEST_P(SettlingTest, WhatHoldsAlreadyIsNotWaitedFor) {
  settled = true;
  wait_until_settled();
  EXPECT_EQ(looks, 1);
}

// As the last thing before the thread would sleep.
TEST_P(SettlingTest, ATaskletOfItsOwnTurnEndsIt) {
  struct Settle final : engine::Tasklet {
    explicit Settle(bool& flag) : Tasklet(&run), settled(flag) {}
    static void run(engine::Tasklet& tasklet) noexcept { static_cast<Settle&>(tasklet).settled = true; }
    bool& settled;
  } settle(settled);
  {
    engine.lock().lock();
    engine.defer(settle);
    engine.lock().unlock();
  }
  wait_until_settled();
  EXPECT_TRUE(settled);
}

// Whether the waiting thread sleeps by then or not.
TEST_P(SettlingTest, ACallOfAnotherThreadEndsIt) {
  std::thread other([this] {
    while (looks < 2) std::this_thread::yield();
    engine::Visit visit(engine);
    settled = true;
  });
  wait_until_settled();
  other.join();
  EXPECT_TRUE(settled);
}

INSTANTIATE_TEST_SUITE_P(Progress, SettlingTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "thread" : "polling"; });

}  // namespace
}  // namespace lapwing::process
