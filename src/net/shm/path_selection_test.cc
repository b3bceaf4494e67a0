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
  Path usual(std::uint64_t bytes = kSize) const { return selection.usual(PathSelection::class_of(bytes)); }

  void send(int messages, std::uint64_t bytes = kSize) {
    for (int i = 0; i < messages; ++i) send_one(next(bytes), bytes);
  }
  bool send_one(Path path, std::uint64_t bytes = kSize) {
    const double scale = static_cast<double>(bytes) / kSize;
    const double usual = costs[static_cast<unsigned>(path)] * scale;
    const double least = *std::min_element(costs, costs + kPaths) * scale;
    double time = usual * (1 + noise * part_(random_));
    clock.advance(5'000);
    const std::int64_t began = clock.now();
    excess += usual - least;
    total += usual;
    if (part_(random_) < preemptions) time += 4e6;
    clock.advance(static_cast<std::int64_t>(time));
    return selection.measured({path, bytes, 0, began, clock.now()});
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
  EXPECT_EQ(PathSelection::class_of(1 << 20), 7u);
  EXPECT_EQ(PathSelection::class_of(3 << 19), 7u);
  EXPECT_EQ(PathSelection::class_of(~std::uint64_t{0}), PathSelection::kClasses - 1);
}

TEST(PathSelection, TakesTheRingWithoutAnythingElse) {
  PathSelection selection;
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(selection.measured({Path::kRing, kSize, 0, 2000 * i, 2000 * i + 1000 + i % 7}));
  EXPECT_EQ(selection.path(PathSelection::class_of(kSize)), Path::kRing);
  EXPECT_EQ(selection.counters().trials, 0u);
}

TEST(PathSelection, FindsAPathThatIsClearlyFasterWithinAFewHundredMessages) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    for (unsigned fastest = 1; fastest < kPaths; ++fastest) {
      Simulation simulation(seed);
      simulation.costs[fastest] = 25'000;
      simulation.send(400);
      EXPECT_EQ(simulation.usual(), static_cast<Path>(fastest)) << "seed " << seed;
      simulation.send(20'000);
      EXPECT_EQ(simulation.selection.counters().changes, 1u) << "seed " << seed;
    }
  }
}

TEST(PathSelection, LongerMessagesBeginWithWhatHasProvedItself) {
  Simulation simulation;
  simulation.costs[3] = 25'000;
  simulation.send(10, 8 * kSize);
  simulation.send(400);
  ASSERT_EQ(simulation.usual(), Path::kStream);
  EXPECT_EQ(simulation.usual(2 * kSize), Path::kStream);
  EXPECT_EQ(simulation.usual(8 * kSize), Path::kRing) << "it has found out nothing yet, but it will by itself";
  EXPECT_EQ(simulation.usual(16 * kSize), Path::kRing) << "the neighbour is nearer";
  EXPECT_EQ(simulation.usual(kSize / 2), Path::kRing);
  simulation.costs[3] = 80'000;
  simulation.send(200, 2 * kSize);
  EXPECT_EQ(simulation.usual(2 * kSize), Path::kRing);
}

TEST(PathSelection, LongerMessagesLaterTryWhatTookTwiceTheTime) {
  for (const double cost : {60'000.0, 100'000.0}) {
    Simulation simulation;
    for (unsigned path = 1; path < kPaths; ++path) simulation.costs[path] = cost;
    const auto trials_of = [&](int messages, std::uint64_t bytes) {
      const std::uint64_t before = simulation.selection.counters().trials;
      simulation.send(messages, bytes);
      return simulation.selection.counters().trials - before;
    };
    simulation.send(10, 8 * kSize);
    EXPECT_EQ(trials_of(200, kSize), kPaths - 1);
    EXPECT_EQ(trials_of(200, 2 * kSize), cost < 80'000 ? kPaths - 1 : 0);
    EXPECT_GT(trials_of(200, 2 * kSize), 0u) << "as late as the shorter ones try it again";
    EXPECT_EQ(trials_of(200, 8 * kSize), kPaths - 1) << "some had come";
  }
}

TEST(PathSelection, TellsOfHeirs) {
  Simulation simulation;
  simulation.costs[3] = 25'000;
  std::uint64_t told = simulation.selection.word();
  for (int i = 0; i < 400; ++i) {
    const std::uint64_t before = simulation.selection.word();
    if (simulation.send_one(simulation.next())) told = simulation.selection.word();
    ASSERT_EQ(told, simulation.selection.word()) << "changed from " << before << " unseen, with message " << i;
  }
  EXPECT_EQ(path_in(told, 4 * kSize), Path::kStream);
}

TEST(PathSelection, KeepsTheRingAmongEquals) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Simulation simulation(seed);
    simulation.noise = 0.3;
    simulation.costs[1] = 1.03 * simulation.costs[0];
    simulation.costs[2] = 0.9 * simulation.costs[0];
    simulation.send(20'000);
    EXPECT_EQ(simulation.usual(), Path::kRing) << "seed " << seed;
    EXPECT_EQ(simulation.selection.counters().changes, 0u) << "seed " << seed;
  }
}

TEST(PathSelection, TrialsAreSoonRare) {
  for (const double slower : {1.1, 1.7, 3.0, 20.0}) {
    Simulation simulation;
    for (unsigned path = 1; path < kPaths; ++path) simulation.costs[path] = simulation.costs[0] * slower;
    simulation.send(10'000);
    simulation.excess = simulation.total = 0;
    simulation.send(100'000);
    EXPECT_LE(simulation.excess, 0.01 * simulation.costs[0] * 100'000) << slower;
    EXPECT_EQ(simulation.usual(), Path::kRing) << slower;
    EXPECT_GE(simulation.selection.counters().trials, 15u) << slower;  // and go on
  }
}

TEST(PathSelection, FirstTrialsCostAFewMessages) {
  Simulation simulation;
  for (unsigned path = 1; path < kPaths; ++path) simulation.costs[path] = 3 * simulation.costs[0];
  simulation.send(200);
  EXPECT_LE(simulation.excess, 40 * simulation.costs[0]);
}

TEST(PathSelection, LeavesAPathThatHasBecomeSlow) {
  Simulation simulation;
  simulation.costs[2] = 25'000;
  simulation.send(1000);
  ASSERT_EQ(simulation.usual(), Path::kShared);
  simulation.costs[2] = 60'000;  // the cores are others now
  simulation.send(200);
  EXPECT_EQ(simulation.usual(), Path::kRing);
}

TEST(PathSelection, FindsWhatHasBecomeFastAfterALongTime) {
  Simulation simulation;
  simulation.costs[1] = simulation.costs[2] = simulation.costs[3] = 100'000;
  simulation.send(20'000);
  simulation.costs[1] = 15'000;  // nothing but a trial tells
  simulation.send(15'000);       // it rests for 4096 messages, and 2.5 times as long because it was so much slower
  EXPECT_EQ(simulation.usual(), Path::kPull);
}

TEST(PathSelection, ARingThatHasBecomeSlowIsComparedSoon) {
  Simulation simulation;
  simulation.costs[1] = simulation.costs[2] = simulation.costs[3] = 60'000;
  simulation.send(10'000);
  ASSERT_EQ(simulation.usual(), Path::kRing);
  simulation.costs[0] = 120'000;
  simulation.send(150);
  EXPECT_NE(simulation.usual(), Path::kRing);
}

// Its first messages find their data in caches, as the path before has left them.
TEST(PathSelection, APathThatIsFasterOnlyAtFirstIsTakenSeldom) {
  Simulation simulation;
  simulation.noise = 0.02;
  Path last = Path::kRing;
  int since = 0, pulled = 0;
  for (int i = 0; i < 40'000; ++i) {
    const Path path = simulation.next();
    since = path == last ? since + 1 : 0;
    last = path;
    simulation.costs[1] = since < 20 ? 25'000 : 60'000;
    simulation.send_one(path);
    if (i >= 4000 && path == Path::kPull) ++pulled;
  }
  EXPECT_LE(pulled, 36'000 / 50);
  EXPECT_EQ(simulation.usual(), Path::kRing);
}

TEST(PathSelection, ARingThatIsColdAtFirstIsFoundAgain) {
  Simulation simulation;
  simulation.noise = 0.02;
  simulation.costs[1] = 15'000;
  simulation.send(500);
  ASSERT_EQ(simulation.usual(), Path::kPull);
  simulation.costs[1] = 50'000;
  Path last = Path::kPull;
  for (int i = 0, since = 0; i < 5000; ++i) {
    const Path path = simulation.next();
    since = path == last ? since + 1 : 0;
    last = path;
    simulation.costs[0] = since < 4 ? 90'000 : 40'000;
    simulation.send_one(path);
  }
  EXPECT_EQ(simulation.usual(), Path::kRing);
}

TEST(PathSelection, ALostCoreDecidesNothing) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Simulation simulation(seed);
    simulation.costs[1] = 25'000;
    simulation.preemptions = 0.02;
    simulation.send(10'000);
    EXPECT_EQ(simulation.usual(), Path::kPull) << "seed " << seed;
    const std::uint64_t changes = simulation.selection.counters().changes;
    simulation.send(20'000);
    EXPECT_EQ(simulation.usual(), Path::kPull) << "seed " << seed;
    EXPECT_EQ(simulation.selection.counters().changes, changes) << "seed " << seed;
  }
}

TEST(PathSelection, SizesDecideApart) {
  Simulation simulation;
  for (int i = 0; i < 300; ++i) {
    simulation.costs[1] = 20'000;
    simulation.send(1, 64 * 1024);
    simulation.costs[1] = 90'000;
    simulation.send(1, 1 << 20);
  }
  EXPECT_EQ(simulation.usual(64 * 1024), Path::kPull);
  EXPECT_EQ(simulation.usual(1 << 20), Path::kRing);
}

TEST(PathSelection, APathThatFailsIsNeverTakenAgain) {
  Simulation simulation;
  simulation.costs[1] = 10'000;
  simulation.send(200);
  ASSERT_EQ(simulation.usual(), Path::kPull);
  simulation.selection.forbid(Path::kPull);
  for (int i = 0; i < 5000; ++i) {
    EXPECT_NE(simulation.next(), Path::kPull);
    simulation.send(1);
  }
}

TEST(PathSelection, APathThatFailsInItsTrialOrProofEndsIt) {
  for (const int messages : {1, 14, 30, 60}) {
    Simulation simulation;
    simulation.costs[1] = 10'000;
    while (simulation.next() == Path::kRing) simulation.send(1);
    simulation.send(messages);
    ASSERT_EQ(simulation.next(), Path::kPull) << messages;
    simulation.selection.forbid(Path::kPull);
    EXPECT_EQ(simulation.next(), Path::kRing) << messages;
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
  EXPECT_EQ(selection.counters().changes, 0u);
}

// Messages that cannot take the path that is tried, such as scattered ones, or that were there when the receiver came.
TEST(PathSelection, ATrialWithoutTimesEnds) {
  for (const bool other_path : {true, false}) {
    Simulation simulation;
    simulation.selection.forbid(Path::kShared);
    simulation.selection.forbid(Path::kStream);
    while (simulation.next() == Path::kRing) simulation.send(1);
    for (int i = 0; i < 150; ++i) {
      const std::int64_t now = simulation.clock.now();
      if (other_path)
        simulation.send_one(Path::kRing);
      else
        simulation.selection.measured({simulation.next(), kSize, kSize, now, now});
    }
    EXPECT_EQ(simulation.next(), Path::kRing);
    simulation.costs[1] = 10'000;
    simulation.send(1000);
    EXPECT_EQ(simulation.usual(), Path::kPull);
  }
}

}  // namespace
}  // namespace lapwing::net::shm
