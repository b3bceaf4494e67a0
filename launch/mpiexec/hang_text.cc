// The words of a report on a hang.
#include <algorithm>
#include <cstdio>
#include <map>

#include "mpiexec/hang_report.h"

namespace lapwing::launch {
namespace {

using wire::HangItem;
using wire::HangList;
using wire::HangWait;
using Standing = RankView::Standing;

// Where the time of a wait and the number of calls belong: ranks that differ in these alone are told together.
constexpr char kTime = '\1', kVisits = '\2';

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

// "rank 3", "ranks 0-2, 5".
std::string ranks_text(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
    if (last > i) text += (last == i + 1 ? ", " : "-") + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

std::string seconds(std::int64_t milliseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", static_cast<double>(milliseconds) / 1000);
  return text;
}

// ---- one operation --------------------------------------------------------------------------------------------------

using Names = std::map<std::uint64_t, std::string>;  // of communicators, by context

// Without the plane.
std::uint64_t context_of(const HangItem& item) {
  return item.context & ~std::uint64_t{3};
}

std::string communicator_text(const HangItem& item, const Names& names) {
  const auto named = names.find(context_of(item));
  const std::string name = !item.communicator.empty() ? item.communicator : named != names.end() ? named->second : "";
  if (name.compare(0, 9, "MPI_COMM_") == 0) return name;
  char context[40];
  std::snprintf(context, sizeof context, "context 0x%llx", static_cast<unsigned long long>(context_of(item)));
  return name.empty() ? std::string("a communicator without a name (") + context + ")" : "'" + name + "' (" + context + ")";
}

std::string peer_text(const HangItem& item) {
  if (item.peer == HangItem::kAny) return "any rank";
  std::string text = "rank " + std::to_string(item.peer);
  if (item.awaited.size() == 1 && item.awaited[0] != item.peer)
    text += " (rank " + std::to_string(item.awaited[0]) + " of MPI_COMM_WORLD)";
  return text;
}

std::string tag_text(const HangItem& item) {
  return item.tag == HangItem::kAny ? "any tag" : "tag " + std::to_string(item.tag);
}

std::string envelope_text(const HangItem& item, const Names& names) {
  return peer_text(item) + ", " + tag_text(item) + ", " + communicator_text(item, names);
}

std::string collective_text(const HangItem& item, const Names& names) {
  std::string text = item.what;
  if (item.root != HangItem::kNone) text += ", root " + std::to_string(item.root);
  if (item.bytes != 0) text += ", " + number(item.bytes) + " bytes";
  const bool persistent = item.number >= HangItem::kPersistent;
  text += ", " + communicator_text(item, names) + (persistent ? ", the persistent operation made as collective number " : ", the collective number ") +
          std::to_string(persistent ? item.number - HangItem::kPersistent : item.number) + " there";
  if (!item.awaited.empty()) text += "; waits for " + ranks_text(item.awaited);
  return text;
}

std::string item_text(const HangItem& item, const Names& names) {
  std::string text;
  switch (item.kind) {
    case HangItem::Kind::kReceive:
      text = "receive from " + envelope_text(item, names) + ", room for " + number(item.bytes) + " bytes";
      break;
    case HangItem::Kind::kSend:
      text = (item.what.empty() ? "" : item.what + " ") + "send to " + envelope_text(item, names) + ", " +
             number(item.bytes) + " bytes";
      break;
    case HangItem::Kind::kProbe:
      text = "message from " + envelope_text(item, names);
      break;
    case HangItem::Kind::kCollective:
      text = collective_text(item, names);
      break;
    case HangItem::Kind::kOther:
      return item.state;
  }
  return item.state.empty() ? text : text + ": " + item.state;
}

std::string message_text(const HangItem& item, const Names& names) {
  return "from " + envelope_text(item, names) + ", " + number(item.bytes) + " bytes";
}

// ---- one rank -------------------------------------------------------------------------------------------------------

void add_wait(const HangWait& wait, const Names& names, std::vector<std::string>& lines) {
  std::string head = "in " + wait.call + kTime;
  if (wait.items.size() == 1) {
    std::string text = item_text(wait.items[0], names);
    if (text.compare(0, wait.call.size() + 2, wait.call + ", ") == 0) text.erase(0, wait.call.size() + 2);
    lines.push_back(head + ": " + text);
    return;
  }
  if (!wait.items.empty()) head += wait.any ? ", until one of these is done:" : ", until all of these are done:";
  lines.push_back(head);
  for (const HangItem& item : wait.items) lines.push_back("  " + item_text(item, names));
}

// Those that no wait has named.
HangList others(const HangList& pending, const std::vector<HangWait>& waits, const Names& names) {
  std::vector<std::string> told;
  for (const HangWait& wait : waits)
    for (const HangItem& item : wait.items) told.push_back(item_text(item, names));
  HangList left{pending.count, {}};
  for (const HangItem& item : pending.items) {
    const auto found = std::find(told.begin(), told.end(), item_text(item, names));
    if (found == told.end()) {
      left.items.push_back(item);
    } else {
      told.erase(found);
      if (left.count > 0) --left.count;
    }
  }
  return left;
}

template <typename Text>
void add_list(const HangList& list, const char* what, const Names& names, Text text, std::vector<std::string>& lines) {
  if (list.count == 0) return;
  const std::string some = list.items.size() < list.count ? ", the oldest of them" : "";
  lines.push_back(number(list.count) + " " + what + (list.count == 1 ? "" : "s") + some + ":");
  for (const HangItem& item : list.items) lines.push_back("  " + text(item, names));
}

std::vector<std::string> lines_of(const RankView& rank, const Names& names) {
  std::vector<std::string> lines;
  switch (rank.standing) {
    case Standing::kOutside:
      return {rank.in_fence ? "in MPI_Init, until all ranks have called it" : "outside MPI: has not called MPI_Init"};
    case Standing::kFinalised:
      return {"outside MPI: has called MPI_Finalize"};
    case Standing::kEnded:
      return {"has ended"};
    case Standing::kSilent:
      return {"does not answer" + (rank.process_state.empty() ? "" : " (the process " + rank.process_state + ")") +
              ": stopped, or in a long computation with LAPWING_PROGRESS=polling"};
    case Standing::kAnswered:
      break;
  }
  for (const HangWait& wait : rank.report.waits) add_wait(wait, names, lines);
  if (rank.in_fence && lines.empty()) lines.push_back("in MPI_Finalize, until all ranks have called it");
  if (lines.empty())
    lines.push_back(std::string("not in a call that waits: it computes, or tests for completion; calls so far: ") + kVisits);
  add_list(others(rank.report.pending, rank.report.waits, names), "other pending request", names, item_text, lines);
  add_list(rank.report.unexpected, "message that no receive has asked for", names, message_text, lines);
  return lines;
}

// Ranks of which the same is to be said.
struct Band {
  std::vector<int> ranks;
  std::vector<std::string> lines;
  std::vector<std::int64_t> youngest, oldest;  // ages of the waits
  std::uint64_t fewest_visits = ~std::uint64_t{0}, most_visits = 0;
};

std::string visits_text(const Band& band) {
  return (band.fewest_visits == band.most_visits ? "" : number(band.fewest_visits) + " to ") + number(band.most_visits);
}

std::string time_text(const Band& band, std::size_t wait) {
  if (wait >= band.oldest.size()) return "";
  const std::string from = seconds(band.youngest[wait]), to = seconds(band.oldest[wait]);
  return " for " + (from == to ? to : from + " to " + to) + " s";
}

void count_in(Band& band, int rank, const RankView& view) {
  band.ranks.push_back(rank);
  band.fewest_visits = std::min(band.fewest_visits, view.report.visits);
  band.most_visits = std::max(band.most_visits, view.report.visits);
  const std::size_t waits = view.standing == Standing::kAnswered ? view.report.waits.size() : 0;
  for (std::size_t i = 0; i < waits; ++i) {
    const std::int64_t age = view.report.waits[i].age_ms;
    if (band.oldest.size() <= i) {
      band.oldest.push_back(age);
      band.youngest.push_back(age);
    }
    band.oldest[i] = std::max(band.oldest[i], age);
    band.youngest[i] = std::min(band.youngest[i], age);
  }
}

std::vector<Band> bands_of(const std::vector<RankView>& ranks, const Names& names) {
  std::vector<Band> bands;
  std::map<std::vector<std::string>, std::size_t> by_lines;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::vector<std::string> lines = lines_of(ranks[rank], names);
    const auto [found, is_new] = by_lines.emplace(lines, bands.size());
    if (is_new) bands.emplace_back().lines = std::move(lines);
    count_in(bands[found->second], static_cast<int>(rank), ranks[rank]);
  }
  return bands;
}

// ---- what follows from all of them ----------------------------------------------------------------------------------

using Lines = std::vector<std::string>;

template <typename Visit>
void for_each_wait(const std::vector<RankView>& ranks, Visit visit) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].standing != Standing::kAnswered) continue;
    for (const HangWait& wait : ranks[rank].report.waits)
      for (const HangItem& item : wait.items) visit(static_cast<int>(rank), wait, item);
  }
}

std::string reason_text(const RankView& rank, int target) {
  for (const HangWait& wait : rank.report.waits) {
    for (const HangItem& item : wait.items) {
      if (std::find(item.awaited.begin(), item.awaited.end(), target) == item.awaited.end()) continue;
      return wait.call + (item.tag == HangItem::kNone ? "" : " " + tag_text(item));
    }
  }
  return rank.standing == Standing::kOutside ? "MPI_Init" : "MPI_Finalize";
}

// Null: it waits for `target` in the end of MPI, or its beginning.
const HangItem* item_that_awaits(const RankView& rank, int target) {
  for (const HangWait& wait : rank.report.waits)
    for (const HangItem& item : wait.items)
      if (std::find(item.awaited.begin(), item.awaited.end(), target) != item.awaited.end()) return &item;
  return nullptr;
}

bool are_same_collective(const HangItem& one, const HangItem& other) {
  return one.kind == HangItem::Kind::kCollective && other.kind == HangItem::Kind::kCollective && one.what == other.what && one.root == other.root &&
         one.number == other.number && context_of(one) == context_of(other);
}

// The steps of a collective wait for each other as long as it moves data.
bool share_a_collective(const std::vector<RankView>& ranks, const std::vector<int>& cycle) {
  const auto item_of = [&](std::size_t i) { return item_that_awaits(ranks[static_cast<std::size_t>(cycle[i])], cycle[(i + 1) % cycle.size()]); };
  const HangItem* const first = item_of(0);
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const HangItem* const item = item_of(i);
    if (item == nullptr || !are_same_collective(*first, *item)) return false;
  }
  return true;
}

// What follows for the ranks of a cycle.
std::string cycle_means(const std::vector<RankView>& ranks, const std::vector<int>& cycle) {
  if (share_a_collective(ranks, cycle)) return "all of them are in the same call, which may still be moving data";
  const bool threads = std::any_of(cycle.begin(), cycle.end(), [&](int rank) {
    return ranks[static_cast<std::size_t>(rank)].report.threads;
  });
  return std::string("a cycle, which ") + (threads ? "only another thread of these ranks can end" : "nothing can end");
}

// "rank 0 waits for rank 1 (MPI_Recv tag 7), rank 1 waits for rank 0 (MPI_Recv tag 7): a cycle".
void add_cycle(const std::vector<RankView>& ranks, Lines& lines) {
  constexpr std::size_t kMostTold = 32;
  const std::vector<bool> deadlocked = find_deadlocked(ranks);
  const std::vector<int> cycle = find_cycle(ranks, deadlocked);
  if (cycle.empty()) return;
  std::string text;
  for (std::size_t i = 0; i < std::min(cycle.size(), kMostTold); ++i) {
    const int from = cycle[i], to = cycle[(i + 1) % cycle.size()];
    text += (i == 0 ? "" : ", ") + std::string("rank ") + std::to_string(from) + " waits for " +
            (from == to ? "itself" : "rank " + std::to_string(to)) + " (" +
            reason_text(ranks[static_cast<std::size_t>(from)], to) + ")";
  }
  lines.push_back(text + (cycle.size() > kMostTold ? " and so on" : "") + ": " + cycle_means(ranks, cycle));
  std::vector<int> behind;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const bool told = std::find(cycle.begin(), cycle.end(), static_cast<int>(rank)) != cycle.end();
    if (deadlocked[rank] && !told) behind.push_back(static_cast<int>(rank));
  }
  if (!behind.empty()) lines.push_back(ranks_text(behind) + " can go on only when one of these does");
}

// Operations with the same number on the same communicator that are not the same operation, or have other roots.
void add_mismatches(const std::vector<RankView>& ranks, const Names& names, Lines& lines) {
  using Key = std::pair<std::uint64_t, int>;
  std::map<Key, std::map<std::string, std::pair<std::vector<int>, HangItem>>> operations;
  for_each_wait(ranks, [&](int rank, const HangWait& wait, const HangItem& item) {
    if (item.kind != HangItem::Kind::kCollective) return;
    const std::string outer = wait.call == item.what || item.what.compare(0, 4, "MPI_") == 0 ? "" : " (" + wait.call + ")";
    const std::string root = item.root == HangItem::kNone ? "" : " with root " + std::to_string(item.root);
    auto& entry = operations[{context_of(item), item.number}][item.what + outer + root];
    entry.first.push_back(rank);
    entry.second = item;
  });
  for (const auto& [key, kinds] : operations) {
    if (kinds.size() < 2) continue;
    std::string text;
    for (const auto& [what, entry] : kinds)
      text += (text.empty() ? "" : ", ") + ranks_text(entry.first) + (entry.first.size() == 1 ? " is in " : " are in ") + what;
    lines.push_back("mismatched collectives on " + communicator_text(kinds.begin()->second.second, names) + ": " + text +
                    ". All ranks of a communicator must call the same collectives in the same order");
  }
}

// A receive that waits beside a message that would do but for its tag or communicator.
void add_near_misses(const std::vector<RankView>& ranks, const Names& names, Lines& lines) {
  for_each_wait(ranks, [&](int rank, const HangWait& wait, const HangItem& item) {
    const bool receives = item.kind == HangItem::Kind::kReceive || item.kind == HangItem::Kind::kProbe;
    if (!receives || item.moving || wait.age_ms < kYoungWaitMs || item.awaited.size() != 1) return;
    for (const HangItem& message : ranks[static_cast<std::size_t>(rank)].report.unexpected.items) {
      if (message.awaited != item.awaited) continue;
      lines.push_back("rank " + std::to_string(rank) + " waits in " + wait.call + " for a message with " + tag_text(item) + " on " +
                      communicator_text(item, names) + "; from the same rank it has one with " + tag_text(message) + " on " +
                      communicator_text(message, names));
      return;
    }
  });
}

const char* why_it_does_not_wait(const RankView& rank) {
  switch (rank.standing) {
    case Standing::kOutside:
      return "has not called MPI_Init";
    case Standing::kSilent:
      return "does not answer";
    case Standing::kFinalised:
      return "has called MPI_Finalize";
    case Standing::kEnded:
      return "has ended";
    case Standing::kAnswered:
      break;
  }
  return rank.report.waits.empty() && !rank.in_fence ? "is not in a call that waits" : nullptr;
}

// Ranks that hold others up without waiting themselves.
void add_culprits(const std::vector<RankView>& ranks, Lines& lines) {
  std::map<int, std::vector<int>> waiting_for;
  for_each_wait(ranks, [&](int rank, const HangWait& wait, const HangItem& item) {
    if (wait.any || item.any || item.moving || wait.age_ms < kYoungWaitMs) return;
    for (const int target : item.awaited) {
      const bool known = target >= 0 && static_cast<std::size_t>(target) < ranks.size();
      if (known && why_it_does_not_wait(ranks[static_cast<std::size_t>(target)]) != nullptr) waiting_for[target].push_back(rank);
    }
  });
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (std::size_t target = 0; ranks[rank].in_fence && target < ranks.size(); ++target)
      if (!ranks[target].in_fence && why_it_does_not_wait(ranks[target]) != nullptr)
        waiting_for[static_cast<int>(target)].push_back(static_cast<int>(rank));
  }
  for (auto& [target, waiting] : waiting_for) {
    const std::string verb = waiting.size() == 1 || waiting.front() == waiting.back() ? " waits for rank " : " wait for rank ";
    lines.push_back(ranks_text(waiting) + verb + std::to_string(target) + ", which " +
                    why_it_does_not_wait(ranks[static_cast<std::size_t>(target)]));
  }
}

Names names_of(const std::vector<RankView>& ranks) {
  Names names;
  const auto learn = [&](const HangItem& item) {
    if (!item.communicator.empty()) names.emplace(context_of(item), item.communicator);
  };
  for (const RankView& rank : ranks)
    for (const HangItem& item : rank.report.pending.items) learn(item);
  for_each_wait(ranks, [&](int, const HangWait&, const HangItem& item) { learn(item); });
  names.emplace(4, "MPI_COMM_WORLD");
  return names;
}

std::string heading(const Band& band, const std::vector<RankView>& ranks) {
  std::string text = ranks_text(band.ranks);
  if (band.ranks.size() == 1)
    text += " (pid " + std::to_string(ranks[static_cast<std::size_t>(band.ranks.front())].process) + ")";
  return text;
}

}  // namespace

std::string describe_hang(const std::vector<RankView>& ranks) {
  const Names names = names_of(ranks);
  Lines lines;
  for (const Band& band : bands_of(ranks, names)) {
    std::size_t wait = 0;
    std::string head = heading(band, ranks) + ": ";
    for (std::string line : band.lines) {
      if (const std::size_t place = line.find(kTime); place != std::string::npos)
        line.replace(place, 1, time_text(band, wait++));
      if (const std::size_t place = line.find(kVisits); place != std::string::npos)
        line.replace(place, 1, visits_text(band));
      lines.push_back("  " + head + line);
      head = "  ";
    }
  }
  add_mismatches(ranks, names, lines);
  add_cycle(ranks, lines);
  add_near_misses(ranks, names, lines);
  add_culprits(ranks, lines);
  std::string text;
  for (const std::string& line : lines) text += "mpiexec: " + line + "\n";
  return text;
}

}  // namespace lapwing::launch
