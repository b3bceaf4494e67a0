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
#include <type_traits>
#include <unordered_map>
#include <vector>

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
  static_assert(std::is_trivially_copyable_v<State> && std::has_unique_object_representations_v<State>,
                "states are compared as memory");

  explicit Checker(const Model& model) : model_(model) {}

  Verdict run() {
    State first{};
    model_.begin(first);
    visit(first, kNobody, -1, "");
    for (Index from = 0; from < nodes_.size() && verdict_.kind == Verdict::kHolds; ++from) expand(from);
    if (verdict_.kind == Verdict::kHolds) find_circle();
    verdict_.states = nodes_.size();
    return verdict_;
  }

 private:
  using Index = std::uint32_t;
  static constexpr Index kNobody = ~Index{0};
  struct Node {
    const State* state;
    Index parent;
    int thread;
    const char* step;
  };
  struct Hash {
    std::size_t operator()(const State& state) const {
      std::uint64_t words[(sizeof(State) + 7) / 8] = {};
      std::memcpy(words, &state, sizeof state);
      std::uint64_t hash = 0xcbf29ce484222325u;
      for (std::uint64_t word : words) hash = (hash ^ word ^ (hash >> 29)) * 0x9e3779b97f4a7c15u;
      return hash ^ (hash >> 32);
    }
  };
  struct Equal {
    bool operator()(const State& a, const State& b) const { return std::memcmp(&a, &b, sizeof a) == 0; }
  };

  Index visit(const State& state, Index parent, int thread, const char* step) {
    const auto [place, fresh] = seen_.try_emplace(state, static_cast<Index>(nodes_.size()));
    if (fresh) {
      nodes_.push_back({&place->first, parent, thread, step});
      if (const char* why = model_.broken(state)) conclude(Verdict::kBroken, place->second, why);
    }
    return place->second;
  }

  void expand(Index from) {
    const State before = *nodes_[from].state;
    first_arrow_.push_back(arrows_.size());
    for (int thread = 0; thread < model_.threads(); ++thread) {
      Step step;
      do {
        step.begin();
        State after = before;
        if (!model_.step(after, thread, step)) continue;  // this way is closed; another may be open
        const Index to = visit(after, from, thread, step.name_);
        arrows_.push_back(to);
        if (verdict_.kind != Verdict::kHolds) return;
      } while (step.advance());
    }
    if (arrows_.size() > first_arrow_.back()) return;
    if (const char* why = model_.unfinished(before)) conclude(Verdict::kStuck, from, why);
  }

  // Takes away state after state that nothing leads to; what cannot be taken away lies on circles or behind them.
  void find_circle() {
    first_arrow_.push_back(arrows_.size());
    std::vector<Index> into(nodes_.size(), 0);
    for (Index to : arrows_) ++into[to];
    std::vector<Index> free;
    for (Index i = 0; i < nodes_.size(); ++i)
      if (into[i] == 0) free.push_back(i);
    std::size_t left = nodes_.size();
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
    for (Index i = at; nodes_[i].parent != kNobody; i = nodes_[i].parent)
      lines.push_back("  thread " + std::to_string(nodes_[i].thread) + ": " + nodes_[i].step + "\n");
    verdict_.why = std::string(name_of(kind)) + ": " + why + ", after\n";
    for (std::size_t i = lines.size(); i-- > 0;) verdict_.why += lines[i];
  }

  const Model& model_;
  std::unordered_map<State, Index, Hash, Equal> seen_;
  std::vector<Node> nodes_;                // in the order in which they were found and are expanded
  std::vector<Index> arrows_;              // from each node to the next ones, node after node
  std::vector<std::size_t> first_arrow_;  // of each node
  Verdict verdict_;
};

template <typename Model>
Verdict check(const Model& model) {
  return Checker<Model>(model).run();
}

}  // namespace lapwing::model
