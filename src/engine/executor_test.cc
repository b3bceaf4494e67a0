#include "engine/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "base/futex.h"
#include "engine/engine.h"

namespace lapwing::engine {
namespace {

// Work that blocks until it is let go, and completes an operation.
class Gate final : public Work, public Operation {
 public:
  Gate(Engine& engine, std::string& log, char name) noexcept : Work(&block, &complete), engine_(engine), log_(log), name_(name) {}

  void let_go() noexcept { open_.store(true), open_.notify_all(); }
  bool has_begun() const noexcept { return begun_.load(); }
  void wait_until_begun() const noexcept { begun_.wait(false); }
  Work* next = nullptr;  // submitted when this one completes

 private:
  static void block(Work& work) noexcept {
    auto& self = static_cast<Gate&>(work);
    self.begun_.store(true), self.begun_.notify_all();
    self.open_.wait(false);
  }
  static void complete(Work& work) noexcept {
    auto& self = static_cast<Gate&>(work);
    self.log_ += self.name_;
    if (self.next != nullptr) {
      EXPECT_TRUE(self.engine_.submit(*self.next).ok());
    }
    self.engine_.finish(self);
  }

  Engine& engine_;
  std::string& log_;
  const char name_;
  std::atomic<bool> begun_{false}, open_{false};
};

class ExecutorTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    EngineOptions options;
    options.event_thread = GetParam();
    ASSERT_TRUE(engine.start(options).ok());
  }
  void TearDown() override { engine.stop(); }

  void submit(Gate& gate) {
    Visit visit(engine);
    engine.begin(gate);
    EXPECT_TRUE(engine.submit(gate).ok());
  }

  SteadyClock clock;
  Engine engine{clock};
  std::string log;
};

TEST_P(ExecutorTest, BlocksWithoutTheLockAndWakesAThreadThatSleeps) {
  Gate gate(engine, log, 'a');
  submit(gate);
  gate.wait_until_begun();
  std::thread other([&] {
    Visit visit(engine);  // not held up
    gate.let_go();
  });
  Visit visit(engine);
  visit.wait(gate);
  EXPECT_EQ(log, "a");
  engine.lock().unlock();
  other.join();
  engine.lock().lock();
}

TEST_P(ExecutorTest, PiecesFollowEachOtherInOrder) {
  Gate first(engine, log, 'a'), second(engine, log, 'b');
  submit(first);
  submit(second);
  second.let_go();
  first.wait_until_begun();
  EXPECT_FALSE(second.has_begun());
  first.let_go();
  Visit visit(engine);
  visit.wait(second);
  EXPECT_EQ(log, "ab");
}

TEST_P(ExecutorTest, MoreWorkMayComeFromAnEndOrAfterARest) {
  for (int round = 0; round < 20; ++round) {
    Gate first(engine, log, 'a'), second(engine, log, 'b');
    first.next = &second;
    {
      Visit visit(engine);
      engine.begin(second);
    }
    submit(first);
    first.let_go();
    second.let_go();
    Visit visit(engine);
    visit.wait(second);
  }
  EXPECT_EQ(log.size(), 40u);
}

TEST_P(ExecutorTest, WhatHasNotBegunIsDroppedAtTheEnd) {
  Executor executor(engine);
  Gate first(engine, log, 'a'), second(engine, log, 'b');
  {
    Visit visit(engine);
    engine.begin(first);
    EXPECT_TRUE(executor.submit(first).ok());
    EXPECT_TRUE(executor.submit(second).ok());
  }
  first.wait_until_begun();
  std::thread ends([&] { executor.stop(); });
  while (executor.has_waiting()) std::this_thread::yield();
  first.let_go();
  ends.join();
  EXPECT_EQ(log, "a");
  EXPECT_FALSE(second.has_begun());
}

INSTANTIATE_TEST_SUITE_P(Progress, ExecutorTest, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "EventThread" : "Polling"; });

}  // namespace
}  // namespace lapwing::engine
