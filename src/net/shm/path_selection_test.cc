// The choice among paths, with simulated paths and a manual clock: no byte moves and no time passes.
#include "net/shm/path_selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/clock.h"

namespace lapwing::net::shm {
namespace {

constexpr std::uint64_t kSize = 256 * 1024;

// Messages whose times are those of the path that is asked for, with noise.
class Simulation {
 public:
  explicit Simulation(unsigned seed = 1) : random_(seed) {
    selection.allow(Path::kPull);
    selection.allow(Path::kShared);
    selection.allow(Path::kStream);
  }

  // Nanoseconds of a message of kSize; of another size as many per byte.
  double costs[kPaths] = {40'000, 40'000, 40'000, 40'000};
  double noise = 0.1;       // part of the time, at most
  double preemptions = 0;   // part of the messages during which a core is lost
  PathSelection selection;
  ManualClock clock;

  Path next(std::uint64_t bytes = kSize) const { return selection.path(PathSelection::class_of(bytes)); }
  Path chosen(std::uint64_t bytes = kSize) const { return selection.chosen(PathSelection::class_of(bytes)); }

  void send(int messages, std::uint64_t bytes = kSize) {
    for (int i = 0; i < messages; ++i) send_one(next(bytes), bytes);
  }
  void send_one(Path path, std::uint64_t bytes = kSize) {
    const std::int64_t began = clock.now();
    const double scale = static_cast<double>(bytes) / kSize;
    const double usual = costs[static_cast<unsigned>(path)] * scale;
    const double least = *std::min_element(costs, costs + kPaths) * scale;
    double time = usual * (1 + noise * part_(random_));
    excess += usual - least;
    total += usual;
    if (part_(random_) < preemptions) time += 4e6;
    clock.advance(static_cast<std::int64_t>(time));
    selection.measured(path, bytes, clock.now() - began);
  }

  double excess = 0, total = 0;  // beyond the fastest path's time, without noise

 private:
  std::mt19937 random_;
  std::uniform_real_distribution<double> part_{0, 1};
};

TEST(PathSelection, SizesBelongToPowersOfTwo) {
  EXPECT_EQ(PathSelection::class_of(0), 0u);
  EXPECT_EQ(PathSelection::class_of(PathSelection::kSmallestClass), 0u);
  EXPECT_EQ(PathSelection::class_of(2 * PathSelection::kSmallestClass - 1), 0u);
  EXPECT_EQ(PathSelection::class_of(2 * PathSelection::kSmallestClass), 1u);
  EXPECT_EQ(PathSelection::class_of(1 << 20), 6u);
  EXPECT_EQ(PathSelection::class_of(3 << 19), 6u);
  EXPECT_EQ(PathSelection::class_of(~std::uint64_t{0}), PathSelection::kClasses - 1);
}

TEST(PathSelection, TakesTheRingWithoutAnythingElse) {
  PathSelection selection;
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(selection.measured(Path::kRing, kSize, 1000 + i % 7));
  EXPECT_EQ(selection.path(PathSelection::class_of(kSize)), Path::kRing);
  EXPECT_EQ(selection.counters().trials, 0u);
}

TEST(PathSelection, FindsTheFastestWithinSixtyMessages) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    for (unsigned fastest = 0; fastest < kPaths; ++fastest) {
      Simulation simulation(seed);
      simulation.costs[fastest] = 25'000;
      simulation.send(50);
      EXPECT_EQ(simulation.chosen(), static_cast<Path>(fastest)) << "seed " << seed;
    }
  }
}

TEST(PathSelection, TrialsTakeAShareOfTheTimeAtMost) {
  for (const double slower : {1.02, 1.2, 1.7, 3.0, 20.0}) {
    Simulation simulation;
    simulation.costs[1] = simulation.costs[0] * slower;
    simulation.costs[2] = simulation.costs[3] = simulation.costs[0] * slower * slower;
    simulation.send(5000);  // with the first trials
    simulation.excess = simulation.total = 0;
    simulation.send(20'000);
    EXPECT_LE(simulation.excess, 0.022 * simulation.total) << slower;
    EXPECT_EQ(simulation.chosen(), Path::kRing) << slower;
    EXPECT_GE(simulation.selection.counters().trials, 2u) << slower;
  }
}

TEST(PathSelection, FirstTrialsCostAFewMessages) {
  Simulation simulation;
  simulation.costs[1] = simulation.costs[2] = simulation.costs[3] = 3 * simulation.costs[0];
  simulation.send(60);
  EXPECT_LE(simulation.excess, 24 * simulation.costs[0]);
}

TEST(PathSelection, FollowsAChange) {
  Simulation simulation;
  simulation.costs[2] = 25'000;
  simulation.send(1000);
  ASSERT_EQ(simulation.chosen(), Path::kShared);
  simulation.costs[2] = 60'000;  // the cores are others now
  simulation.send(60);
  EXPECT_NE(simulation.chosen(), Path::kShared);
  simulation.costs[0] = 15'000;  // what is not in use has become better, which only a trial tells
  simulation.send(2000);
  EXPECT_EQ(simulation.chosen(), Path::kRing);
}

TEST(PathSelection, AFasterHabitIsTriedWithTheOtherPathsToo) {
  Simulation simulation;
  simulation.costs[1] = 80'000;
  simulation.send(500);
  ASSERT_EQ(simulation.chosen(), Path::kRing);
  simulation.costs[0] = 25'000;  // the program reuses its buffers from here on
  simulation.costs[1] = 12'000;
  simulation.costs[2] = 30'000;
  simulation.send(60);
  EXPECT_EQ(simulation.chosen(), Path::kPull);
}

TEST(PathSelection, ALostCoreDecidesNothing) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Simulation simulation(seed);
    simulation.costs[1] = 25'000;
    simulation.preemptions = 0.05;
    simulation.send(300);
    EXPECT_EQ(simulation.chosen(), Path::kPull) << "seed " << seed;
    const std::uint64_t changes = simulation.selection.counters().changes;
    simulation.send(3000);
    EXPECT_EQ(simulation.chosen(), Path::kPull) << "seed " << seed;
    EXPECT_EQ(simulation.selection.counters().changes, changes) << "seed " << seed;
  }
}

TEST(PathSelection, LostCoresDoNotEndTheTrials) {
  Simulation simulation;
  simulation.preemptions = 0.05;
  simulation.send(3000);
  simulation.costs[2] = 30'000;
  simulation.send(3000);
  EXPECT_EQ(simulation.chosen(), Path::kShared);
}

TEST(PathSelection, StaysAmongEquals) {
  Simulation simulation;
  simulation.noise = 0.3;
  simulation.costs[1] = 1.03 * simulation.costs[0];
  simulation.costs[2] = 0.98 * simulation.costs[0];
  simulation.send(10'000);
  EXPECT_LE(simulation.selection.counters().changes, 40u);
  EXPECT_LE(simulation.selection.counters().trials, 220u);
}

TEST(PathSelection, ASizeBeginsWithWhatItsNeighbourKnows) {
  Simulation simulation;
  simulation.costs[2] = 20'000;
  simulation.send(200);
  EXPECT_EQ(simulation.next(8 << 20), Path::kShared);
  simulation.send(1, 8 << 20);
  EXPECT_EQ(simulation.chosen(8 << 20), Path::kShared);
  EXPECT_EQ(simulation.next(16 * 1024), Path::kShared);
}

TEST(PathSelection, SizesDecideApart) {
  Simulation simulation;
  for (int i = 0; i < 100; ++i) {
    simulation.costs[1] = 20'000;
    simulation.send(1, 64 * 1024);
    simulation.costs[1] = 90'000;
    simulation.send(1, 1 << 20);
  }
  EXPECT_EQ(simulation.chosen(64 * 1024), Path::kPull);
  EXPECT_NE(simulation.chosen(1 << 20), Path::kPull);
}

TEST(PathSelection, APathThatFailsIsNeverTakenAgain) {
  Simulation simulation;
  simulation.costs[1] = 10'000;
  simulation.send(200);
  ASSERT_EQ(simulation.chosen(), Path::kPull);
  simulation.selection.forbid(Path::kPull);
  for (int i = 0; i < 5000; ++i) {
    EXPECT_NE(simulation.next(), Path::kPull);
    simulation.send(1);
  }
}

TEST(PathSelection, TheRingIsWhatRemains) {
  PathSelection selection;
  selection.allow(Path::kPull);
  selection.allow(Path::kShared);
  selection.forbid(Path::kRing);
  EXPECT_EQ(path_in(selection.word(), kSize), Path::kPull);
  selection.forbid(Path::kPull);
  EXPECT_EQ(path_in(selection.word(), kSize), Path::kShared);
  selection.forbid(Path::kShared);
  EXPECT_EQ(selection.word(), 0u);
  EXPECT_TRUE(selection.allows(Path::kRing));
}

// Messages that cannot take the path that is tried, such as scattered ones, or are late because many are in flight.
TEST(PathSelection, ATrialWithoutMessagesEnds) {
  Simulation simulation;
  while (simulation.next() == Path::kRing) simulation.send(1);
  for (int i = 0; i < 100; ++i) simulation.send_one(Path::kRing);
  EXPECT_EQ(simulation.chosen(), Path::kRing);
  simulation.costs[1] = simulation.costs[2] = simulation.costs[3] = 10'000;
  simulation.send(1000);
  EXPECT_NE(simulation.chosen(), Path::kRing);
}

TEST(PathSelection, MessagesSentBeforeTheEndOfATrialAreCharged) {
  Simulation simulation;
  simulation.costs[1] = simulation.costs[2] = simulation.costs[3] = 3 * simulation.costs[0];
  simulation.send(200);
  simulation.excess = simulation.total = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Path path = simulation.next();
    simulation.send_one(path);
    if (path != Path::kRing && simulation.next() == Path::kRing) {
      for (int late = 0; late < 8; ++late) simulation.send_one(path);
    }
  }
  EXPECT_LE(simulation.excess, 0.022 * simulation.total);
}

}  // namespace
}  // namespace lapwing::net::shm
