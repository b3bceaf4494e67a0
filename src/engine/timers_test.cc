#include "engine/timers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

namespace lapwing::engine {
namespace {

struct TestTimer : Timer {
  TestTimer() : Timer([](Timer&) noexcept {}) {}
};

// What the engine does with a queue, and an alarm that a test lets ring.
class Driver {
 public:
  void set(Timer& timer, std::int64_t deadline) {
    if (timer.pending()) queue.cancel(timer);
    if (queue.set(timer, deadline)) alarm = queue.alarm(), ++programmed;
  }
  void cancel(Timer& timer) {
    if (timer.pending()) queue.cancel(timer);
  }
  // `now` has come: the alarm rings if it is set, and then what is due runs.
  template <typename Run>
  void pass(std::int64_t now, Run run) {
    if (alarm > now) return;
    alarm = TimerQueue::kNever;
    queue.went_off();
    look(now, run);
  }
  // A thread that is here anyway.
  template <typename Run>
  void look(std::int64_t now, Run run) {
    queue.begin_run();
    while (Timer* timer = queue.take_due(now)) run(*timer);
    if (queue.end_run(now)) alarm = queue.alarm(), ++programmed;
  }
  std::vector<Timer*> pass(std::int64_t now) {
    std::vector<Timer*> ran;
    pass(now, [&](Timer& timer) { ran.push_back(&timer); });
    return ran;
  }

  TimerQueue queue;
  std::int64_t alarm = TimerQueue::kNever;
  int programmed = 0;
};

using Ran = std::vector<Timer*>;

TEST(TimerQueue, TheNextTimerIsNotLostWithACancelledOne) {
  Driver driver;
  TestTimer first, second;
  driver.set(first, 100);
  driver.set(second, 200);
  driver.cancel(first);
  EXPECT_EQ(driver.pass(100), Ran{});
  EXPECT_EQ(driver.pass(200), Ran{&second});
  EXPECT_EQ(driver.alarm, TimerQueue::kNever);
}

TEST(TimerQueue, OfEqualDeadlinesTheFirstSetRunsFirst) {
  Driver driver;
  TestTimer timers[4];
  for (int i : {2, 0, 3, 1}) driver.set(timers[i], 50);
  driver.set(timers[0], 50);
  EXPECT_EQ(driver.pass(50), (Ran{&timers[2], &timers[3], &timers[1], &timers[0]}));
}

TEST(TimerQueue, ATimerThatIsCancelledByOneThatRunsDoesNotRun) {
  Driver driver;
  TestTimer first, second, third;
  driver.set(first, 10);
  driver.set(second, 10);
  driver.set(third, 30);
  Ran ran;
  driver.pass(20, [&](Timer& timer) {
    ran.push_back(&timer);
    driver.cancel(second);
  });
  EXPECT_EQ(ran, Ran{&first});
  EXPECT_EQ(driver.pass(30), Ran{&third});
}

TEST(TimerQueue, ATimerThatSetsItselfAgainWaitsForTheNextRun) {
  Driver driver;
  TestTimer timer;
  int runs = 0;
  driver.set(timer, 10);
  const auto again = [&](Timer& self) {
    ++runs;
    driver.set(self, 10);
  };
  driver.pass(20, again);
  EXPECT_EQ(runs, 1);
  driver.pass(20, again);
  EXPECT_EQ(runs, 2);
  driver.cancel(timer);
  driver.pass(20, again);
  EXPECT_EQ(runs, 2);
}

// To set the alarm takes microseconds: a timer that is set and cancelled for each of many messages pays for it once.
TEST(TimerQueue, ACancelledTimerThatIsSetForLaterKeepsTheAlarm) {
  Driver driver;
  TestTimer timer;
  for (int i = 0; i < 1000; ++i) {
    driver.set(timer, 1000 + i);
    driver.cancel(timer);
  }
  EXPECT_EQ(driver.programmed, 1);
}

// A thread that looks finds what is due before the alarm has rung. That ring is worth nothing then, and the next is asked for.
TEST(TimerQueue, AThreadThatComesBeforeTheAlarmAsksForTheNext) {
  Driver driver;
  TestTimer first, second;
  driver.set(first, 100);
  driver.set(second, 200);
  Ran ran;
  driver.look(150, [&](Timer& timer) { ran.push_back(&timer); });
  EXPECT_EQ(ran, Ran{&first});
  EXPECT_EQ(driver.alarm, 200);
}

// Against a list of deadlines that is looked through. Time goes in random steps; at each the alarm rings if it is due.
TEST(TimerQueue, RunsWhatAListOfDeadlinesWould) {
  struct Entry {
    std::int64_t deadline;
    std::uint64_t stamp;
    int index;
  };
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t bound) { return static_cast<int>(random() % bound); };
    Driver driver;
    std::vector<TestTimer> timers(6);
    std::vector<Entry> list;
    std::uint64_t stamp = 0;
    std::int64_t now = 0;
    const auto cancel = [&](int index) {
      driver.cancel(timers[static_cast<std::size_t>(index)]);
      std::erase_if(list, [&](const Entry& entry) { return entry.index == index; });
    };
    const auto set = [&](int index, std::int64_t deadline) {
      cancel(index);
      driver.set(timers[static_cast<std::size_t>(index)], deadline);
      list.push_back({deadline, ++stamp, index});
    };
    const auto change = [&](std::int64_t least) {
      if (below(3) == 0)
        cancel(below(6));
      else
        set(below(6), now + least + below(20));
    };
    // One run: everything due at its start, in order, and not what is set meanwhile.
    const auto expect_run = [&](Timer* ran, std::uint64_t limit) {
      const auto first = std::min_element(list.begin(), list.end(), [](const Entry& a, const Entry& b) {
        return a.deadline != b.deadline ? a.deadline < b.deadline : a.stamp < b.stamp;
      });
      ASSERT_NE(first, list.end());
      ASSERT_LE(first->deadline, now);
      ASSERT_LE(first->stamp, limit);
      ASSERT_EQ(ran, &timers[static_cast<std::size_t>(first->index)]);
      list.erase(first);
    };
    for (int step = 0; step < 300; ++step) {
      for (int changes = below(3); changes > 0; --changes) change(0);
      now += below(10);
      const std::uint64_t limit = stamp;
      const auto run = [&](Timer& timer) {
        expect_run(&timer, limit);
        if (below(2) == 0) change(1);
      };
      if (below(8) == 0)
        driver.look(now, run);
      else
        driver.pass(now, run);
      for (const Entry& entry : list) {
        ASSERT_TRUE(entry.stamp > limit || entry.deadline > now) << "overdue, and not run: seed " << seed;
        ASSERT_LE(driver.alarm, entry.deadline) << "the alarm would be late: seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace lapwing::engine
