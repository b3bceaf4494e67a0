// Shared areas (src/coll/area_pool.h): ranks that post, and sleep until all have posted, round after round; or until one of them,
// the root, has: then rank 2 comes only after rank 1 has heard the root; or, in a chain, until the rank before has. Only a poster that sees the
// round complete, or the root, looks for sleepers; in a chain each does, for those that say that they wait for it. So does a rank that acknowledges a
// round (SharedArea::acknowledge()), with another word in place of the stamp. Memory is weak.
// A rank may leave instead of posting in the last round (the root, if there is one): then no rank may sleep on. One that ends
// (AreaPool::publish_end) takes the same steps with two other words, for all areas at once.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "checker.h"
#include "weak_memory.h"

namespace lapwing::model {
namespace {

enum class Without {
  kNothing,
  kFenceAfterStamp,   // post(): between the stamp and the look at the others'
  kScanAfterFence,    // post() looks at the others' stamps first, and fences then
  kFenceWhenArming,   // arm(): between the flags and the look at the stamps
  kLookWhenArming,    // arm() does not look again
  kWatching,          // arm() does not say that it waits at this area
  kWatchingFirst,     // arm() says so after its fence only
  kStampBeforeBell,   // the stamp is published after the sleepers have been rung
  kBell,              // no bell is rung
  kRootRingsAll,      // the root looks for sleepers only if it sees the round complete
  kFenceWhenLeaving,  // leave(): between the word and the look for sleepers
  kBellWhenLeaving,   // a rank that leaves rings no other
  kLookForTheGone,    // arm() does not look whether a rank has left
  kOwnName,           // post() looks for those that wait for the rank after it
};

// For whom a rank waits.
enum class Awaited { kAll, kRoot, kPrevious };

template <int kRanks>
class SharedArea {
 public:
  enum Word { kStamp = 0, kWatching = kRanks, kSleeping = 2 * kRanks, kGone = 3 * kRanks, kWords = 3 * kRanks + 1 };

  struct Rank {
    std::uint8_t at, round, seen, peer;
    std::uint8_t bell;  // an edge that has not been collected
    std::uint8_t complete;
  };
  struct State {
    WeakMemory<kRanks, kWords> memory;
    Rank rank[kRanks];
  };

  SharedArea(Without without, int rounds, Awaited awaited, bool one_leaves = false)
      : without_(without),
        rounds_(rounds),
        rooted_(awaited == Awaited::kRoot),
        chained_(awaited == Awaited::kPrevious),
        leaver_(!one_leaves ? -1
                : rooted_   ? 0
                            : kRanks - 1) {}
  int threads() const { return 2 * kRanks; }
  void begin(State&) const {}
  const char* broken(const State&) const { return nullptr; }
  const char* unfinished(const State& s) const {
    for (const Rank& rank : s.rank)
      if (rank.round != rounds_) return "all have posted and a rank sleeps";
    return nullptr;
  }

  bool step(State& s, int thread, Step& step) const {
    return thread < kRanks ? run(s, thread, step) : s.memory.empty_one(thread - kRanks, step);
  }

 private:
  enum At {
    kPost,
    kLeaveFence,
    kFence,
    kScan,
    kLookForWatchers,
    kReadFlag,
    kTakeFlag,
    kRing,
    kLatePost,
    kLook,
    kArm,
    kRaise,
    kArmFence,
    kLateArm,
    kCheck,
    kSleep,
    kLower,
    kDone
  };

  bool has_posted(const State& s, int me, int peer) const {
    return s.memory.load(me, kStamp + peer) > s.rank[me].round;
  }
  bool leaves(const State& s, int me) const { return me == leaver_ && s.rank[me].round == rounds_ - 1; }
  bool has_gone_without_posting(const State& s, int me) const {
    return leaver_ >= 0 && s.memory.load(me, kGone) != 0 && !has_posted(s, me, leaver_);
  }
  // Looks at one more stamp of those that this rank waits for. True when none is missing.
  bool all_here(State& s, int me) const {
    Rank& rank = s.rank[me];
    if (rooted_) return me == 0 || has_posted(s, me, 0);
    if (chained_) return me == 0 || has_posted(s, me, me - 1);
    while (rank.seen < kRanks && has_posted(s, me, (me + rank.seen) % kRanks)) ++rank.seen;
    return rank.seen == kRanks;
  }

  // What a rank says in kWatching: that it waits, or for whom.
  std::uint8_t watched(int me) const { return static_cast<std::uint8_t>(chained_ ? me : 1); }
  bool waits_for(std::uint8_t watched, int me) const {
    return chained_ ? watched == me + (without_ == Without::kOwnName ? 2 : 1) : watched != 0;
  }

  bool run(State& s, int me, Step& step) const {
    Rank& rank = s.rank[me];
    const auto next = [&](At at) { return rank.at = at, true; };
    const auto ended = [&](bool look_for_the_gone) {
      return all_here(s, me) || (look_for_the_gone && has_gone_without_posting(s, me));
    };
    const auto posted = [&] {
      if (!leaves(s, me)) return next(without_ == Without::kStampBeforeBell ? kLatePost : kLook);
      rank.round = static_cast<std::uint8_t>(rounds_);
      return next(kPost);
    };
    const auto next_peer = [&] {
      if (++rank.peer == kRanks) return posted();
      return next(kLookForWatchers);
    };
    const auto publish = [&] { s.memory.store_release(me, kStamp + me, rank.round + 1); };
    const auto scanned = [&](At then) {
      rank.peer = 0;
      rank.seen = 0;
      bool complete = true;
      for (int peer = 0; peer < kRanks; ++peer) complete &= has_posted(s, me, peer) || peer == me;
      rank.complete = complete || chained_ || (rooted_ && me == 0 && without_ != Without::kRootRingsAll);
      return next(then);
    };
    const auto rings = [&] { return rank.complete ? next(kLookForWatchers) : posted(); };
    switch (rank.at) {
      case kPost:
        if (rank.round == rounds_ || !s.memory.takes_store(me)) return false;
        if (rooted_ && me == 2 && s.rank[1].round == rank.round) return false;
        if (leaves(s, me)) {
          step.name("leaves");
          s.memory.store(me, kGone, 1);
          rank.peer = 0;
          return next(without_ == Without::kFenceWhenLeaving ? kLookForWatchers : kLeaveFence);
        }
        step.name("posts");
        if (without_ != Without::kStampBeforeBell) publish();
        if (without_ == Without::kScanAfterFence) return scanned(kFence);
        return next(without_ == Without::kFenceAfterStamp ? kScan : kFence);
      case kLeaveFence:
        step.name("fence after leaving");
        if (!s.memory.fenced(me)) return false;
        return without_ == Without::kBellWhenLeaving ? posted() : next(kLookForWatchers);
      case kFence:
        step.name("fence after the stamp");
        if (!s.memory.fenced(me)) return false;
        return without_ == Without::kScanAfterFence ? rings() : next(kScan);
      case kScan:
        step.name("looks whether the round is complete");
        scanned(kScan);
        return rings();
      case kLookForWatchers:
        step.name("looks for one that waits here");
        if (rank.peer == me || !waits_for(s.memory.load(me, kWatching + rank.peer), me)) return next_peer();
        return next(kReadFlag);
      case kReadFlag:
        step.name("reads its sleeping flag");
        return s.memory.load(me, kSleeping + rank.peer) != 0 ? next(kTakeFlag) : next_peer();
      case kTakeFlag: {
        if (!s.memory.takes_update(me, kSleeping + rank.peer)) return false;
        step.name("takes the flag");
        const bool taken = s.memory.words[kSleeping + rank.peer] == 1;
        s.memory.words[kSleeping + rank.peer] = 0;
        return taken ? next(kRing) : next_peer();
      }
      case kRing:
        step.name("rings");
        if (without_ != Without::kBell) s.rank[rank.peer].bell = 1;
        return next_peer();
      case kLatePost:
        if (!s.memory.takes_store(me)) return false;
        step.name("posts late");
        publish();
        return next(kLook);
      case kLook:
        step.name("looks for what it waits for");
        return next(ended(true) ? kDone : kArm);
      case kArm:
        if (!s.memory.takes_store(me)) return false;
        step.name("says that it waits here");
        if (without_ != Without::kWatching && without_ != Without::kWatchingFirst)
          s.memory.store(me, kWatching + me, watched(me));
        return next(kRaise);
      case kRaise:
        if (!s.memory.takes_store(me)) return false;
        step.name("raises its sleeping flag");
        s.memory.store(me, kSleeping + me, 1);
        return next(without_ == Without::kFenceWhenArming ? kCheck : kArmFence);
      case kArmFence:
        step.name("fence after the flags");
        return s.memory.fenced(me) && next(without_ == Without::kWatchingFirst ? kLateArm : kCheck);
      case kLateArm:
        if (!s.memory.takes_store(me)) return false;
        step.name("says that it waits here, late");
        s.memory.store(me, kWatching + me, watched(me));
        return next(kCheck);
      case kCheck:
        step.name("looks once more");
        if (without_ == Without::kLookWhenArming) return next(kSleep);
        return next(ended(without_ != Without::kLookForTheGone) ? kLower : kSleep);
      case kSleep:
        if (rank.bell == 0) return false;
        step.name("wakes");
        rank.bell = 0;
        return next(kLower);
      case kLower:
        if (!s.memory.takes_store(me)) return false;
        step.name("lowers its sleeping flag");
        s.memory.store(me, kSleeping + me, 0);
        return next(kLook);
      case kDone:
        if (!s.memory.takes_store(me)) return false;
        step.name("has it");
        s.memory.store(me, kWatching + me, 0);
        ++rank.round;
        rank.seen = rank.peer = rank.complete = 0;
        return next(kPost);
    }
    return false;
  }

  Without without_;
  int rounds_;
  bool rooted_, chained_;
  int leaver_;
};

TEST(SharedAreaModel, NobodySleepsOverACompleteRound) {
  for (const Awaited awaited : {Awaited::kAll, Awaited::kRoot, Awaited::kPrevious}) {
    const Verdict three = check(SharedArea<3>(Without::kNothing, 2, awaited));
    EXPECT_EQ(three.kind, Verdict::kHolds) << three.why;
    const Verdict two = check(SharedArea<2>(Without::kNothing, 3, awaited));
    EXPECT_EQ(two.kind, Verdict::kHolds) << two.why;
    RecordProperty("states" + std::to_string(static_cast<int>(awaited)), static_cast<int>(three.states + two.states));
  }
}

TEST(SharedAreaModel, NobodySleepsWhenARankHasLeft) {
  for (const Awaited awaited : {Awaited::kAll, Awaited::kRoot}) {
    const Verdict three = check(SharedArea<3>(Without::kNothing, 1, awaited, true));
    EXPECT_EQ(three.kind, Verdict::kHolds) << three.why;
    const Verdict two = check(SharedArea<2>(Without::kNothing, 2, awaited, true));
    EXPECT_EQ(two.kind, Verdict::kHolds) << two.why;
    for (const Without without : {Without::kFenceWhenLeaving, Without::kBellWhenLeaving, Without::kLookForTheGone,
                                  Without::kFenceWhenArming, Without::kWatching}) {
      const Verdict verdict = check(SharedArea<3>(without, 1, awaited, true));
      EXPECT_EQ(verdict.kind, Verdict::kStuck) << static_cast<int>(without) << " " << verdict.states;
    }
  }
}

class SharedAreaMutant : public ::testing::TestWithParam<std::tuple<Without, Awaited>> {};

TEST_P(SharedAreaMutant, IsFoundOut) {
  const auto [without, awaited] = GetParam();
  const Verdict verdict = check(SharedArea<3>(without, 1, awaited));
  EXPECT_EQ(verdict.kind, Verdict::kStuck) << verdict.states;
}

INSTANTIATE_TEST_SUITE_P(All, SharedAreaMutant,
                         ::testing::Combine(::testing::Values(Without::kFenceAfterStamp, Without::kScanAfterFence,
                                                              Without::kFenceWhenArming, Without::kLookWhenArming,
                                                              Without::kWatching, Without::kWatchingFirst,
                                                              Without::kStampBeforeBell, Without::kBell),
                                            ::testing::Values(Awaited::kAll)));
INSTANTIATE_TEST_SUITE_P(Rooted, SharedAreaMutant,
                         ::testing::Combine(::testing::Values(Without::kFenceAfterStamp, Without::kFenceWhenArming,
                                                              Without::kWatching, Without::kBell,
                                                              Without::kRootRingsAll),
                                            ::testing::Values(Awaited::kRoot)));
INSTANTIATE_TEST_SUITE_P(Chained, SharedAreaMutant,
                         ::testing::Combine(::testing::Values(Without::kFenceAfterStamp, Without::kFenceWhenArming,
                                                              Without::kWatching, Without::kWatchingFirst, Without::kBell,
                                                              Without::kOwnName),
                                            ::testing::Values(Awaited::kPrevious)));

}  // namespace
}  // namespace lapwing::model
