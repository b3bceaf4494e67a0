// Gather and scatter on two levels: what the ranks of a host have to give, or are to have, travels between hosts as one message.
//
// Cost at the root, for h hosts: L + o + (h - 1) max(g, n G p / h) and what a gather or scatter inside its host costs; each other host copies
// its blocks once more. For short blocks, of which each costs the root a message otherwise.
#include "coll/algorithms.h"
#include "coll/compile.h"
#include "coll/two_levels.h"

namespace lapwing::coll {
namespace {

std::uint64_t bytes_of(const std::vector<int>& members, std::uint64_t block) noexcept {
  return block * members.size();
}

// Room for the blocks of some members, as one run and as blocks.
struct Room {
  Room(Schedule& schedule, const std::vector<int>& members, std::uint64_t block)
      : together(bytes_block(schedule.scratch(bytes_of(members, block)), bytes_of(members, block))) {
    for (std::size_t i = 0; i < members.size(); ++i) each.push_back(together.part(i * block, block));
  }
  Block together;
  Blocks each;
};

Blocks select(const Blocks& all, const std::vector<int>& members) {
  Blocks selected;
  for (const int rank : members) selected.push_back(all[static_cast<std::size_t>(rank)]);
  return selected;
}

void copy(Schedule& schedule, const Blocks& from, const Blocks& to) {
  for (std::size_t i = 0; i < from.size(); ++i) schedule.copy(from[i], to[i]);
}

// At the root: the other hosts' blocks, straight into place where they lie together; else what has to be unpacked at last.
struct Arrived {
  Blocks packed, places;
};
void receive_from_hosts(Schedule& schedule, const Levels& levels, const Blocks& all, std::uint64_t block,
                        Arrived& arrived) {
  for (int host = 0; host < levels.hosts(); ++host) {
    const std::vector<int>& members = levels.members(host);
    if (host == levels.host()) continue;
    Block run = run_of(all, members);
    if (run.count == 0) {
      const Room room(schedule, members, block);
      run = room.together;
      for (const Block& each : room.each) arrived.packed.push_back(each);
      for (const Block& each : select(all, members)) arrived.places.push_back(each);
    }
    schedule.receive(run, host);
  }
}

void send_to_hosts(Schedule& schedule, const Levels& levels, const Blocks& all, std::uint64_t block) {
  for (int host = 0; host < levels.hosts(); ++host) {
    const std::vector<int>& members = levels.members(host);
    if (host == levels.host()) continue;
    Block run = run_of(all, members);
    StepId packed = kNoStep;
    if (run.count == 0) {
      const Room room(schedule, members, block);
      run = room.together;
      packed = schedule.branch({}, [&] { copy(schedule, select(all, members), room.each); });
    }
    schedule.send(run, host, {packed});
  }
}

}  // namespace

void gather_on_two_levels(Schedule& schedule, const Block& mine, const Blocks& all, int root, std::uint64_t bytes) {
  if (bytes == 0) return;
  const TwoLevels two(schedule, root);
  const Levels& levels = two.levels();
  const bool is_root = schedule.rank() == root;
  Arrived arrived;
  if (is_root) {
    two.across();
    receive_from_hosts(schedule, levels, all, bytes, arrived);
  }
  Blocks near = is_root ? select(all, levels.neighbors()) : Blocks{};
  Block together;
  if (two.speaks() && !is_root) {
    Room room(schedule, levels.neighbors(), bytes);
    together = room.together;
    near = std::move(room.each);
  }
  two.inside();
  compile_gather(schedule, mine, near, two.speaker(), bytes);
  schedule.fence();
  copy(schedule, arrived.packed, arrived.places);
  if (together.count == 0) return;
  two.across();
  schedule.send(together, two.root_host());
}

void scatter_on_two_levels(Schedule& schedule, const Blocks& all, const Block& mine, int root, std::uint64_t bytes) {
  if (bytes == 0) return;
  const TwoLevels two(schedule, root);
  const Levels& levels = two.levels();
  const bool is_root = schedule.rank() == root;
  if (is_root) {
    two.across();
    send_to_hosts(schedule, levels, all, bytes);
  }
  Blocks near = is_root ? select(all, levels.neighbors()) : Blocks{};
  Block together = is_root ? run_of(all, levels.neighbors()) : Block{};
  StepId here = kNoStep;
  if (two.speaks() && together.count == 0) {
    Room room(schedule, levels.neighbors(), bytes);
    together = room.together;
    if (is_root) {
      here = schedule.branch({}, [&] { copy(schedule, near, room.each); });
    } else {
      two.across();
      here = schedule.receive(together, two.root_host());
    }
    near = std::move(room.each);
  }
  two.inside();
  schedule.branch({here}, [&] { compile_scatter(schedule, together, near, mine, two.speaker(), bytes); });
}

}  // namespace lapwing::coll
