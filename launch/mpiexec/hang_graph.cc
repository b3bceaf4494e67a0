// Which rank waits for which. A wait is over when what it needs has come: all of its items or any of them, and each item needs all ranks that
// it names or any of them. A rank can go on when one of its threads can; one that does not wait can. What remains when nothing more
// follows from that is deadlocked: O(waits) for each round, and at most as many rounds as ranks.
#include <algorithm>

#include "mpiexec/hang_report.h"

namespace lapwing::launch {
namespace {

using wire::HangItem;
using wire::HangWait;

bool exists(int rank, const std::vector<bool>& ranks) {
  return rank >= 0 && static_cast<std::size_t>(rank) < ranks.size();
}

bool may_end(const HangItem& item, const std::vector<bool>& stuck) {
  if (item.moving || item.awaited.empty()) return true;
  const auto can_go_on = [&](int rank) { return !exists(rank, stuck) || !stuck[static_cast<std::size_t>(rank)]; };
  return item.any ? std::any_of(item.awaited.begin(), item.awaited.end(), can_go_on)
                  : std::all_of(item.awaited.begin(), item.awaited.end(), can_go_on);
}

bool may_end(const HangWait& wait, const std::vector<bool>& stuck) {
  if (wait.age_ms < kYoungWaitMs || wait.items.empty()) return true;
  const auto can_end = [&](const HangItem& item) { return may_end(item, stuck); };
  return wait.any ? std::any_of(wait.items.begin(), wait.items.end(), can_end)
                  : std::all_of(wait.items.begin(), wait.items.end(), can_end);
}

bool may_go_on(const RankView& rank, const std::vector<RankView>& ranks, const std::vector<bool>& stuck) {
  if (rank.in_fence) {
    for (std::size_t other = 0; other < ranks.size(); ++other)
      if (!ranks[other].in_fence && stuck[other]) return false;
    return true;
  }
  if (rank.standing != RankView::Standing::kAnswered || rank.report.waits.empty()) return true;
  return std::any_of(rank.report.waits.begin(), rank.report.waits.end(),
                     [&](const HangWait& wait) { return may_end(wait, stuck); });
}

// A deadlocked rank that this one waits for, another one if there is one; -1: none (as in a fence of all).
int next_in_cycle(int self, const std::vector<RankView>& ranks, const std::vector<bool>& stuck) {
  const RankView& rank = ranks[static_cast<std::size_t>(self)];
  int found = -1;
  if (rank.in_fence) {
    for (std::size_t other = 0; other < ranks.size(); ++other)
      if (stuck[other] && !ranks[other].in_fence) return static_cast<int>(other);
    return -1;
  }
  for (const HangWait& wait : rank.report.waits) {
    for (const HangItem& item : wait.items) {
      if (may_end(item, stuck)) continue;
      for (const int target : item.awaited)
        if (exists(target, stuck) && stuck[static_cast<std::size_t>(target)] && (found < 0 || found == self)) found = target;
    }
  }
  return found;
}

}  // namespace

std::vector<bool> find_deadlocked(const std::vector<RankView>& ranks) {
  std::vector<bool> stuck(ranks.size(), true);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (!stuck[rank] || !may_go_on(ranks[rank], ranks, stuck)) continue;
      stuck[rank] = false;
      changed = true;
    }
  }
  return stuck;
}

std::vector<int> find_cycle(const std::vector<RankView>& ranks, const std::vector<bool>& deadlocked) {
  const auto first = std::find(deadlocked.begin(), deadlocked.end(), true);
  if (first == deadlocked.end()) return {};
  std::vector<int> path{static_cast<int>(first - deadlocked.begin())};
  while (path.size() <= ranks.size()) {
    const int next = next_in_cycle(path.back(), ranks, deadlocked);
    if (next < 0) return {};
    const auto seen = std::find(path.begin(), path.end(), next);
    if (seen != path.end()) return {seen, path.end()};
    path.push_back(next);
  }
  return {};
}

}  // namespace lapwing::launch
