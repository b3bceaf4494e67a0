// An explicit-state model checker: looks at every interleaving of a few small threads.
//
// A model is a class with
//
//   struct State        all there is, in bytes (compared as memory; it begins as zeros, unless begin() says more)
//   int threads() const
//   void begin(State&) const
//   bool step(State&, int thread, Step&) const   one atomic step of a thread; false when it sleeps, waits or has ended
//   const char* broken(const State&) const       what must never be; nullptr when all is well
//   const char* unfinished(const State&) const   asked where no thread can move: what has been left undone, or nullptr
//
// and, where it spares much,
//
//   bool alone(const State&, int thread) const   the thread can move, and its next step has to do with no other thread: whatever the others
//                                                do first, it can be taken then too, in the same ways, and both orders end in the same
//                                                state; and it changes nothing that broken() looks at
//
// Of a state in which a thread is alone only that thread's step is looked at (a persistent set of one thread: P. Godefroid,
// Partial-Order Methods for the Verification of Concurrent Systems, chapter 4). Nothing is missed: on a way of all threads to a state in
// which none can move, or to a broken one, or round a circle, the step can be taken first (or, where it is not on the way to a broken
// state, in addition: if that went on for ever, it would be a circle). Only the verdict's way is no longer the shortest of all. What
// alone() says is tried out in some of the states: a model that says it wrongly is broken.
//
// All steps of all threads are finite work, so three questions decide whether a wake-up can get lost:
//
//   kStuck    no thread can move, but something is unfinished: one sleeps that no other will wake
//   kTicks    some states follow each other in a circle: a thread is busy for ever with nothing to do
//   kBroken   a state that must never be
//
// The verdict carries the shortest way there, one line per step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "state_set.h"

namespace lapwing::model {

// What a step tells: its name, and which way it goes where there are several. All ways are tried.
class Step {
 public:
  // One of 0 ... ways-1.
  int choose(int ways) {
    if (taken_ == made_) choices_[made_++] = {0, ways};
    return choices_[taken_++].way;
  }
  bool maybe() { return choose(2) == 1; }
  void name(const char* text) { name_ = text; }

 private:
  template <typename Model>
  friend class Checker;
  struct Choice {
    int way, ways;
  };
  void begin() { taken_ = 0, name_ = ""; }
  // The next combination of choices; false after the last.
  bool advance() {
    while (made_ > 0 && choices_[made_ - 1].way + 1 == choices_[made_ - 1].ways) --made_;
    if (made_ == 0) return false;
    ++choices_[made_ - 1].way;
    return true;
  }
  Choice choices_[8];  // more in one step would be too many
  std::size_t made_ = 0, taken_ = 0;
  const char* name_ = "";
};

struct Verdict {
  enum Kind { kHolds, kStuck, kTicks, kBroken } kind = kHolds;
  std::string why;
  std::size_t states = 0;
};

inline const char* name_of(Verdict::Kind kind) {
  constexpr const char* kNames[] = {"holds", "stuck", "ticks", "broken"};
  return kNames[kind];
}

template <typename Model>
class Checker {
 public:
  using State = typename Model::State;

  explicit Checker(const Model& model) : model_(model) {}

  Verdict run() {
    State first{};
    model_.begin(first);
    visit(first, kNobody, -1, "");
    for (Index from = 0; from < states_.size() && verdict_.kind == Verdict::kHolds; ++from) expand(from);
    if (verdict_.kind == Verdict::kHolds) find_circle();
    verdict_.states = states_.size();
    return verdict_;
  }

 private:
  using Index = std::uint32_t;
  static constexpr Index kNobody = ~Index{0};
  // alone() is tried out in one state of so many, before so many steps of other threads.
  static constexpr Index kTriedOneIn = 256;
  static constexpr int kTriedSteps = 3;
  // How a state was reached first.
  struct Arrival {
    Index parent;
    int thread;
    const char* step;
  };

  Index visit(const State& state, Index parent, int thread, const char* step) {
    const auto [index, fresh] = states_.add(state);
    if (fresh) {
      arrivals_.push_back({parent, thread, step});
      if (const char* why = model_.broken(state)) conclude(Verdict::kBroken, index, why);
    }
    return index;
  }

  void expand(Index from) {
    const State& before = states_[from];
    first_arrow_.push_back(arrows_.size());
    const int single = one_alone(before);
    if (single >= 0 && from % kTriedOneIn == 0 && !concerns_no_other(before, single, kTriedSteps))
      return conclude(Verdict::kBroken, from, "a step of a thread that is said to be alone concerns another");
    for (int thread = 0; thread < model_.threads(); ++thread) {
      if (single < 0 || thread == single) take_steps(before, from, thread);
      if (verdict_.kind != Verdict::kHolds) return;
    }
    if (arrows_.size() > first_arrow_.back()) return;
    if (const char* why = model_.unfinished(before)) conclude(Verdict::kStuck, from, why);
  }

  // A thread that is alone; -1 without one.
  int one_alone(const State& state) const {
    if constexpr (requires { model_.alone(state, 0); }) {
      for (int thread = 0; thread < model_.threads(); ++thread)
        if (model_.alone(state, thread)) return thread;
    }
    return -1;
  }

  // take(state, name) is called for each way that is open, until it returns false.
  template <typename Take>
  void each_step(const State& before, int thread, Take take) const {
    Step step;
    do {
      step.begin();
      State after = before;
      if (!model_.step(after, thread, step)) continue;  // this way is closed; another may be open
      if (!take(after, step.name_)) return;
    } while (step.advance());
  }

  void take_steps(const State& before, Index from, int thread) {
    each_step(before, thread, [&](const State& after, const char* name) {
      arrows_.push_back(visit(after, from, thread, name));
      return verdict_.kind == Verdict::kHolds;
    });
  }

  std::vector<State> after_step(const State& before, int thread) const {
    std::vector<State> all;
    each_step(before, thread, [&](const State& after, const char*) { return all.push_back(after), true; });
    return all;
  }

  // The step that `thread` may take next, and up to `steps` of other threads before it, lead to the same states in any order.
  bool concerns_no_other(const State& before, int thread, int steps) const {
    const std::vector<State> mine = after_step(before, thread);
    for (int other = 0; other < model_.threads() && steps > 0; ++other) {
      if (other == thread) continue;
      std::vector<State> behind_mine;
      for (const State& state : mine)
        for (const State& behind : after_step(state, other)) behind_mine.push_back(behind);
      for (const State& state : after_step(before, other)) {
        const std::vector<State> behind_other = after_step(state, thread);
        if (behind_other.size() != mine.size()) return false;
        for (const State& behind : behind_other)
          if (!contains(behind_mine, behind)) return false;
        if (!concerns_no_other(state, thread, steps - 1)) return false;
      }
    }
    return true;
  }
  static bool contains(const std::vector<State>& states, const State& state) {
    for (const State& one : states)
      if (std::memcmp(&one, &state, sizeof state) == 0) return true;
    return false;
  }

  // Takes away state after state that nothing leads to; what cannot be taken away lies on circles or behind them.
  void find_circle() {
    first_arrow_.push_back(arrows_.size());
    std::vector<Index> into(states_.size(), 0);
    for (Index to : arrows_) ++into[to];
    std::vector<Index> free;
    for (Index i = 0; i < states_.size(); ++i)
      if (into[i] == 0) free.push_back(i);
    std::size_t left = states_.size();
    for (; !free.empty(); --left) {
      const Index from = free.back();
      free.pop_back();
      for (std::size_t i = first_arrow_[from]; i < first_arrow_[from + 1]; ++i)
        if (--into[arrows_[i]] == 0) free.push_back(arrows_[i]);
    }
    if (left == 0) return;
    Index on_circle = 0;  // the first found: the shortest way
    while (into[on_circle] == 0) ++on_circle;
    conclude(Verdict::kTicks, on_circle, "from here the threads may run in a circle for ever");
  }

  void conclude(Verdict::Kind kind, Index at, const char* why) {
    if (verdict_.kind != Verdict::kHolds) return;
    verdict_.kind = kind;
    std::vector<std::string> lines;
    for (Index i = at; arrivals_[i].parent != kNobody; i = arrivals_[i].parent)
      lines.push_back("  thread " + std::to_string(arrivals_[i].thread) + ": " + arrivals_[i].step + "\n");
    verdict_.why = std::string(name_of(kind)) + ": " + why + ", after\n";
    for (std::size_t i = lines.size(); i-- > 0;) verdict_.why += lines[i];
  }

  const Model& model_;
  StateSet<State> states_;                // in the order in which they were found and are expanded
  std::vector<Arrival> arrivals_;         // of each state
  std::vector<Index> arrows_;             // from each state to the next ones, state after state
  std::vector<std::size_t> first_arrow_;  // of each node
  Verdict verdict_;
};

template <typename Model>
Verdict check(const Model& model) {
  return Checker<Model>(model).run();
}

}  // namespace lapwing::model
