// The checker itself, on models of a few states.
#include <gtest/gtest.h>

#include "checker.h"

namespace lapwing::model {
namespace {

// Two threads, each of which adds one to a number of its own and then looks at the other's.
struct TwoCounters {
  struct State {
    std::uint8_t own[2], seen[2];
  };
  bool adds_alone = false;  // says so, though the other looks

  int threads() const { return 2; }
  void begin(State&) const {}
  const char* broken(const State&) const { return nullptr; }
  const char* unfinished(const State& s) const {
    return s.seen[0] == 1 && s.seen[1] == 1 ? "neither has seen the other's" : nullptr;
  }
  bool step(State& s, int thread, Step& step) const {
    if (s.own[thread] == 0) return step.name("adds"), s.own[thread] = 1, true;
    if (s.seen[thread] != 0) return false;
    step.name("looks");
    s.seen[thread] = static_cast<std::uint8_t>(1 + s.own[1 - thread]);
    return true;
  }
  bool alone(const State& s, int thread) const { return adds_alone && s.own[thread] == 0; }
};

TEST(Checker, LooksAtEveryInterleaving) {
  const Verdict verdict = check(TwoCounters{});
  EXPECT_EQ(verdict.kind, Verdict::kHolds) << verdict.why;
  EXPECT_EQ(verdict.states, 13u);
}

TEST(Checker, SeesThatAThreadIsNotAlone) {
  EXPECT_EQ(check(TwoCounters{.adds_alone = true}).kind, Verdict::kBroken);
}

TEST(StateSet, KeepsEachStateOnceAndInOrder) {
  StateSet<std::uint64_t> states;
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < 20'000; ++i) {
      const auto [index, fresh] = states.add(std::uint64_t{i} << 32 | i % 7);
      ASSERT_EQ(index, i);
      ASSERT_EQ(fresh, round == 0);
    }
  }
  ASSERT_EQ(states.size(), 20'000u);
  EXPECT_EQ(states[12'345], std::uint64_t{12'345} << 32 | 12'345 % 7);
}

}  // namespace
}  // namespace lapwing::model
