#include "engine/engine.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace lapwing::engine {
namespace {

class TestOperation : public Operation {};

// A transport in small: other threads give it operations to complete; it rings when armed, as a peer would, and at rest for what
// is pressing.
class FakeSource final : public Source, public FdHandler {
 public:
  explicit FakeSource(Engine& engine) : engine_(engine), fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    Visit visit(engine_);
    EXPECT_TRUE(engine_.port().add(fd_, EPOLLIN | EPOLLET, *this).ok());
    engine_.add_source(*this);
  }
  ~FakeSource() {
    Visit visit(engine_);
    engine_.remove_source(*this);
    engine_.port().remove(fd_);
    ::close(fd_);
  }

  // As a peer, from any thread: never takes the engine's lock.
  void deliver(TestOperation& operation) {
    mailbox_.store(&operation);
    if (sleeping_.exchange(false)) ring();
  }
  void deliver_pressing(TestOperation& operation) {
    mailbox_.store(&operation);
    if (sleeping_.exchange(false) || resting_.exchange(false)) ring();
  }
  // What no thread needs to be notified of.
  void leave_there(TestOperation& operation) { mailbox_.store(&operation); }
  bool empty() const { return mailbox_.load() == nullptr; }
  bool armed() const { return sleeping_.load(); }
  bool rests() const { return resting_.load(); }

  bool poll() noexcept override {
    TestOperation* operation = mailbox_.exchange(nullptr);
    if (operation == nullptr) return false;
    driven_by_event_thread = engine_.event_thread_drives();
    engine_.finish(*operation);
    return true;
  }
  bool arm() noexcept override {
    resting_.store(false);
    sleeping_.store(true);
    return mailbox_.load() == nullptr;
  }
  bool rest() noexcept override {
    sleeping_.store(false);
    resting_.store(true);
    return mailbox_.load() == nullptr;
  }
  void disarm() noexcept override {
    sleeping_.store(false);
    resting_.store(false);
  }
  void on_ready(std::uint32_t) noexcept override {
    std::uint64_t count;
    [[maybe_unused]] const ssize_t bytes = ::read(fd_, &count, sizeof count);
    engine_.end_rest();
  }

  bool driven_by_event_thread = false;

 private:
  void ring() {
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(fd_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }

  Engine& engine_;
  int fd_;
  std::atomic<TestOperation*> mailbox_{nullptr};
  std::atomic<bool> sleeping_{false};
  std::atomic<bool> resting_{false};
};

class EngineTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    EngineOptions options;
    options.event_thread = GetParam();
    options.spin_budget = 0;
    ASSERT_TRUE(engine.start(options).ok());
  }
  void begin(TestOperation& operation) {
    Visit visit(engine);
    engine.begin(operation);
  }
  SteadyClock clock;
  Engine engine{clock};
};

TEST_P(EngineTest, AWaiterSleepsUntilItsOperationCompletes) {
  FakeSource source(engine);
  for (int round = 0; round < 200; ++round) {
    TestOperation operation;
    begin(operation);
    std::thread peer([&] { source.deliver(operation); });
    Visit(engine).wait(operation);
    EXPECT_TRUE(operation.done());
    peer.join();
  }
}

TEST_P(EngineTest, ManyWaitersEachWakeForTheirOwn) {
  FakeSource source(engine);
  constexpr int kThreads = 4, kRounds = 100;
  std::vector<std::thread> threads;
  std::vector<TestOperation> operations(kThreads);
  std::atomic<int> completed{0};
  for (int round = 0; round < kRounds; ++round) {
    for (auto& operation : operations) begin(operation);
    for (auto& operation : operations)
      threads.emplace_back([&] {
        Visit(engine).wait(operation);
        EXPECT_TRUE(operation.done());
        ++completed;
      });
    for (auto& operation : operations) {
      while (!source.empty()) std::this_thread::yield();
      source.deliver(operation);
    }
    for (auto& thread : threads) thread.join();
    threads.clear();
  }
  EXPECT_EQ(completed, kThreads * kRounds);
}

TEST_P(EngineTest, AWaitForSeveralCountsArrivals) {
  FakeSource source(engine);
  TestOperation first, second;
  begin(first);
  begin(second);
  std::thread peer([&] {
    source.deliver(first);
    while (!source.empty()) std::this_thread::yield();
    source.deliver(second);
  });
  {
    Visit visit(engine);
    Waiter waiter(2);
    for (TestOperation* operation : {&first, &second})
      if (!engine.watch(*operation, waiter)) engine.arrive(waiter);  // complete already
    engine.wait(waiter);
  }
  EXPECT_TRUE(first.done());
  EXPECT_TRUE(second.done());
  peer.join();
}

TEST_P(EngineTest, ContinuationsRunOnceAndMayStartTheNext) {
  struct Chain : Operation {
    Engine* engine = nullptr;
    int left = 1000;
  } chain;
  chain.engine = &engine;
  chain.set_continuation([](Operation& operation) noexcept {
    auto& self = static_cast<Chain&>(operation);
    if (--self.left == 0) return;
    self.engine->begin(self);
    self.engine->finish(self);
  });
  {
    Visit visit(engine);
    engine.begin(chain);
    engine.finish(chain);
    EXPECT_EQ(chain.left, 1000) << "continuations never run where the operation completes";
  }
  EXPECT_EQ(chain.left, 0);
}

TEST_P(EngineTest, UserCallbacksRunOnApplicationThreadsWithoutTheLock) {
  FakeSource source(engine);
  struct Callback : Tasklet {
    Callback() : Tasklet([](Tasklet& tasklet) noexcept { static_cast<Callback&>(tasklet).run(); }) {}
    void run() {
      ran_on = std::this_thread::get_id();
      Visit visit(*engine);  // would deadlock if the lock were held
      engine->finish(*result);
    }
    Engine* engine = nullptr;
    TestOperation* result = nullptr;
    std::thread::id ran_on;
  } callback;
  struct Trigger : TestOperation {
    Engine* engine = nullptr;
    Callback* callback = nullptr;
  } trigger;
  TestOperation result;
  callback.engine = trigger.engine = &engine;
  callback.result = &result;
  trigger.callback = &callback;
  trigger.set_continuation([](Operation& operation) noexcept {
    auto& self = static_cast<Trigger&>(operation);
    self.engine->defer_to_application(*self.callback);
  });
  begin(trigger);
  begin(result);
  std::thread peer([&] { source.deliver(trigger); });
  Visit(engine).wait(result);
  EXPECT_EQ(callback.ran_on, std::this_thread::get_id());
  peer.join();
}

// A thread that tests must not take from the event port what was meant to wake the sleeping driver.
TEST_P(EngineTest, AnotherThreadsTurnDoesNotSwallowTheDriversWakeUp) {
  for (int round = 0; round < 50; ++round) {
    TestOperation operation;
    begin(operation);
    std::thread waiting([&] { Visit(engine).wait(operation); });
    const std::uint64_t slept_before = static_cast<std::uint64_t>(round);
    for (bool asleep = false; !asleep; std::this_thread::yield()) {
      Visit visit(engine);
      asleep = engine.counters().waits_slept > slept_before;
    }
    {
      Visit visit(engine);
      engine.finish(operation);
      engine.turn();
    }
    waiting.join();
  }
}

// Work that a thread has given a source is found when it goes to sleep as well, though the driver looked before.
TEST_P(EngineTest, AThreadThatSleepsBesideTheDriverWakesItForWork) {
  FakeSource source(engine);
  TestOperation first, second;
  begin(first);
  std::thread driving([&] { Visit(engine).wait(first); });
  for (bool asleep = false; !asleep; std::this_thread::yield()) {
    Visit visit(engine);
    asleep = engine.counters().waits_slept > 0;
  }
  {
    Visit visit(engine);
    engine.begin(second);
    source.leave_there(second);
    Waiter waiter(1);
    if (engine.watch(second, waiter)) engine.wait(waiter);
  }
  EXPECT_TRUE(second.done());
  source.deliver(first);
  driving.join();
}

// MPI_Isend and MPI_Wait in turn: what is kept back gathers. Two waits without a post between them: the application has no more.
TEST_P(EngineTest, AWishedForTurnIsDueAtTheSecondWaitThatNeedsNone) {
  Visit visit(engine);
  EXPECT_FALSE(engine.turn_is_due());
  for (int i = 0; i < 3; ++i) {
    engine.want_turn();
    EXPECT_TRUE(engine.turn_wanted());
    EXPECT_FALSE(engine.turn_is_due());
  }
  EXPECT_TRUE(engine.turn_is_due());
  EXPECT_TRUE(engine.turn_wanted());
  engine.turn();
  EXPECT_FALSE(engine.turn_is_due());
  EXPECT_FALSE(engine.turn_wanted());
}

TEST_P(EngineTest, TimersWakeASleepingDriver) {
  struct Alarm : Timer {
    Alarm()
        : Timer([](Timer& timer) noexcept {
            auto& self = static_cast<Alarm&>(timer);
            self.engine->arrive(*self.waiter);
          }) {}
    Engine* engine = nullptr;
    Waiter* waiter = nullptr;
  } alarm;
  Visit visit(engine);
  Waiter waiter(1);
  alarm.engine = &engine;
  alarm.waiter = &waiter;
  engine.set_timer(alarm, clock.now() + 1000);
  engine.wait(waiter);
  EXPECT_FALSE(alarm.pending());
}

// The alarm was set for a timer that is cancelled: it must ring for the one that was set after it all the same.
TEST_P(EngineTest, ACancelledTimerTakesNoOtherAlong) {
  struct Alarm : Timer {
    explicit Alarm(Engine& engine)
        : Timer([](Timer& timer) noexcept {
            auto& self = static_cast<Alarm&>(timer);
            self.engine.arrive(*self.waiter);
          }),
          engine(engine) {}
    Engine& engine;
    Waiter* waiter = nullptr;
  } first(engine), second(engine);
  Visit visit(engine);
  Waiter waiter(1);
  first.waiter = second.waiter = &waiter;
  engine.set_timer(first, clock.now() + 1'000'000);
  engine.set_timer(second, clock.now() + 20'000'000);
  engine.cancel_timer(first);
  engine.wait(waiter);
  EXPECT_FALSE(second.pending());
}

INSTANTIATE_TEST_SUITE_P(Progress, EngineTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "thread" : "polling"; });

TEST(EventThread, DrivesWhileTheApplicationIsOutside) {
  SteadyClock clock;
  Engine engine(clock);
  ASSERT_TRUE(engine.start({}).ok());
  FakeSource source(engine);
  for (int round = 0; round < 100; ++round) {
    TestOperation operation;
    {
      Visit visit(engine);
      engine.begin(operation);
    }
    source.deliver(operation);
    while (!operation.done()) std::this_thread::yield();  // outside MPI: only the event thread can complete it
    Visit visit(engine);
    EXPECT_TRUE(source.driven_by_event_thread);
  }
}

TEST(EventThread, StaysArmedWhenAWaitFindsWhatHasCome) {
  SteadyClock clock;
  Engine engine(clock);
  ASSERT_TRUE(engine.start({}).ok());
  FakeSource source(engine);
  TestOperation operation, another;  // which stays in flight
  {
    Visit visit(engine);
    engine.begin(operation);
    engine.begin(another);
  }
  for (bool armed = false; !armed; std::this_thread::yield()) {
    const std::lock_guard guard(engine.lock());  // no thread is arming it just now
    armed = source.armed();
    if (armed) source.leave_there(operation);
  }
  Visit(engine).wait(operation);
  EXPECT_TRUE(operation.done());
  EXPECT_TRUE(source.armed());
  EXPECT_FALSE(source.driven_by_event_thread);
  Visit visit(engine);
  engine.finish(another);
}

// With nothing in flight.
class AtRest : public ::testing::Test {
 protected:
  void SetUp() override {
    EngineOptions options;
    options.spin_budget = 0;
    ASSERT_TRUE(engine.start(options).ok());
    source.emplace(engine);
  }
  // An operation that another process would know of, but nothing of the application's.
  void begin_detached(TestOperation& operation) {
    Visit visit(engine);
    engine.begin(operation);
    engine.unhold();
  }
  void end_detached() {
    Visit visit(engine);
    engine.hold();
  }
  std::uint64_t event_thread_wakeups() {
    Visit visit(engine);
    return engine.counters().event_thread_wakeups;
  }
  SteadyClock clock;
  Engine engine{clock};
  std::optional<FakeSource> source;
};

TEST_F(AtRest, WhatComesIsLeftToTheNextCall) {
  TestOperation operation;
  begin_detached(operation);
  EXPECT_TRUE(source->rests());
  source->deliver(operation);
  EXPECT_FALSE(operation.done());
  {
    Visit visit(engine);
    engine.turn();
  }
  EXPECT_TRUE(operation.done());
  EXPECT_FALSE(source->driven_by_event_thread);
  EXPECT_EQ(event_thread_wakeups(), 0u);
  end_detached();
}

TEST_F(AtRest, IsEndedByASourceThatComesLater) {
  FakeSource late(engine);
  {
    Visit visit(engine);
  }
  EXPECT_TRUE(source->rests());
  EXPECT_TRUE(late.rests());
}

TEST_F(AtRest, WhatIsPressingWakesTheEventThread) {
  for (int round = 0; round < 100; ++round) {
    TestOperation operation;
    begin_detached(operation);
    source->deliver_pressing(operation);
    while (!operation.done()) std::this_thread::yield();
    end_detached();
    EXPECT_TRUE(source->driven_by_event_thread);
  }
}

TEST_F(AtRest, IsOverForAThreadThatExpectsAnAnswerAtOnce) {
  for (int round = 0; round < 100; ++round) {
    TestOperation operation;
    {
      Visit visit(engine);
      engine.begin(operation);
      engine.expect_wait();
      EXPECT_FALSE(source->rests());
      source->deliver_pressing(operation);
      visit.wait(operation);
    }
    EXPECT_FALSE(source->driven_by_event_thread);
  }
}

// Waits that find what they wait for by polling take no system call and leave none behind.
TEST_F(AtRest, OutlastsWaitsThatPoll) {
  const auto system_calls = [&] {
    const SystemCalls& calls = engine.system_calls();
    return calls.timers + calls.watches + calls.notifications + calls.polls;
  };
  for (int round = 0; round < 100; ++round) {
    TestOperation operation;
    Visit visit(engine);
    const std::uint64_t before = system_calls();
    engine.begin(operation);
    source->leave_there(operation);
    visit.wait(operation);
    EXPECT_EQ(system_calls(), before);
    EXPECT_TRUE(source->rests());
  }
  EXPECT_EQ(event_thread_wakeups(), 0u);
}

// The kernel refuses to watch a port in which descriptors are nested as deeply as it allows: as it does when the user's
// watches are used up.
TEST(EventThread, GoesOnWithoutTheWatchThatTheKernelRefuses) {
  constexpr int kDeepest = 5;
  struct Nobody : FdHandler {
    void on_ready(std::uint32_t) noexcept override {}
  } nobody;
  int nested[kDeepest];
  for (int i = 0; i < kDeepest; ++i) nested[i] = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  for (int i = kDeepest - 2; i >= 0; --i) EXPECT_EQ(epoll_ctl(nested[i], EPOLL_CTL_ADD, nested[i + 1], &event), 0);
  SteadyClock clock;
  std::optional<Engine> started;
  int in_port;  // the outermost that the port takes
  for (bool armed = true; armed;) {
    started.emplace(clock);
    ASSERT_TRUE(started->start({}).ok());
    Visit visit(*started);
    armed = started->counters().arms != 0;  // by the event thread, which the wake-ups that start() measured have left awake
    for (in_port = 0; in_port < kDeepest && !started->port().add(nested[in_port], EPOLLIN, nobody).ok();) ++in_port;
  }
  Engine& engine = *started;
  ASSERT_LT(in_port, kDeepest);
  FakeSource source(
      engine);  // not before: a call that leaves would have the port watched while the kernel still allows it
  const auto complete_one_outside = [&] {
    TestOperation operation;
    {
      Visit visit(engine);
      engine.begin(operation);
    }
    source.deliver(operation);
    while (!operation.done()) std::this_thread::yield();
    Visit visit(engine);
    EXPECT_TRUE(source.driven_by_event_thread);
  };
  for (int round = 0; round < 20; ++round) complete_one_outside();
  const auto arms = [&] {
    Visit visit(engine);
    return engine.counters().arms;
  };
  EXPECT_EQ(arms(), 0u);
  {
    Visit visit(engine);
    engine.port().remove(nested[in_port]);
  }
  do complete_one_outside();  // not only to ask: an application that keeps calling is left alone
  while (arms() == 0);
  for (const int fd : nested) ::close(fd);
}

TEST(Timers, RunInOrderAndNotBeforeTheirTime) {
  ManualClock clock;
  Engine engine(clock);
  EngineOptions options;
  options.event_thread = false;
  ASSERT_TRUE(engine.start(options).ok());
  static std::vector<int> order;
  order.clear();
  struct Numbered : Timer {
    explicit Numbered(int number)
        : Timer([](Timer& timer) noexcept { order.push_back(static_cast<Numbered&>(timer).number); }), number(number) {}
    int number;
  } late(3), early(1), middle(2), cancelled(9);
  Visit visit(engine);
  engine.set_timer(late, 300);
  engine.set_timer(early, 100);
  engine.set_timer(middle, 200);
  engine.set_timer(cancelled, 150);
  engine.cancel_timer(cancelled);
  engine.turn();
  EXPECT_TRUE(order.empty());
  clock.advance(200);
  engine.turn();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  clock.advance(1000);
  engine.turn();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

// For as long as the loop does nothing else, and a source moves nothing.
TEST(Progress, ALoopOfTestsGivesTheCoreAwayWhereRanksOutnumberCores) {
  ManualClock clock;
  Engine engine(clock);
  EngineOptions options;
  options.event_thread = false;
  options.ranks_per_core = 2;
  ASSERT_TRUE(engine.start(options).ok());
  FakeSource source(engine);
  const auto test = [&](std::int64_t computed) {
    clock.advance(computed);
    Visit visit(engine);
    const std::uint64_t before = engine.system_calls().yields;
    engine.quick_turn();
    return engine.system_calls().yields != before;
  };
  EXPECT_FALSE(test(tuning().engine_test_pause));
  EXPECT_TRUE(test(100));
  EXPECT_TRUE(test(100));
  EXPECT_FALSE(test(tuning().engine_test_pause + 1)) << "it has computed";
  EXPECT_TRUE(test(100));
  TestOperation operation;
  {
    Visit visit(engine);
    engine.begin(operation);
  }
  source.deliver(operation);
  test(100);
  EXPECT_TRUE(operation.done());
  EXPECT_FALSE(test(100)) << "another wait begins";
}

TEST(EventPort, StaleReadinessFindsNobody) {
  struct Counter : FdHandler {
    void on_ready(std::uint32_t) noexcept override { ++calls; }
    int calls = 0;
  } removed, successor;
  EventPort port;
  ASSERT_TRUE(port.open().ok());
  const int first = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC), second = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  ASSERT_TRUE(port.add(first, EPOLLIN | EPOLLET, removed).ok());
  EventPort::Batch batch;
  port.collect(batch, 0);
  EXPECT_EQ(batch.count, 1);
  port.remove(first);
  ASSERT_TRUE(port.add(second, EPOLLIN | EPOLLET, successor).ok());  // takes the freed slot
  EXPECT_FALSE(port.deliver(batch));
  EXPECT_EQ(removed.calls + successor.calls, 0);
  ::close(first);
  ::close(second);
}

}  // namespace
}  // namespace lapwing::engine
