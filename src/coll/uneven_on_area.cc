// Algorithms on an area for blocks of different lengths (the v and w forms). Only the two ranks of a block know how long it is, so each
// block goes its own way: up to `longest` through the area, beyond as a message. Where a rank has blocks for several, it posts them behind
// a table (area_parts.h), and `longest` is such that all fit.
//
// Costs: those of the even forms (on_area.cc), and p words of a table; a long block costs a message, L + 2 o + n G, besides.
#include "coll/algorithms.h"

namespace lapwing::coll {
namespace {

using Wakes = Schedule::Wakes;

std::size_t index(int rank) noexcept {
  return static_cast<std::size_t>(rank);
}

// What goes by the area; the rest stays as empty parts.
Blocks short_ones(const Blocks& all, int except, std::uint64_t longest) {
  Blocks parts = all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i == index(except) || parts[i].bytes() > longest) parts[i] = bytes_block(nullptr, 0);
  }
  return parts;
}

void send_long_ones(Schedule& schedule, const Blocks& all, std::uint64_t longest) {
  for (int distance = 1; distance < schedule.size(); ++distance) {
    const int to = (schedule.rank() + distance) % schedule.size();
    if (all[index(to)].bytes() > longest) schedule.send(all[index(to)], to);
  }
}

void receive_long_ones(Schedule& schedule, const Blocks& all, std::uint64_t longest) {
  for (int distance = 1; distance < schedule.size(); ++distance) {
    const int from = (schedule.rank() + schedule.size() - distance) % schedule.size();
    if (all[index(from)].bytes() > longest) schedule.receive(all[index(from)], from);
  }
}

}  // namespace

void gatherv_on_area(Schedule& schedule, const Block& mine, const Blocks& all, int root, std::uint64_t longest) {
  const int me = schedule.rank();
  if (me != root) {
    const bool posts = mine.bytes() <= longest;
    schedule.post(posts ? mine : bytes_block(nullptr, 0), 0);
    if (!posts) schedule.send(mine, root);
    return;
  }
  receive_long_ones(schedule, all, longest);
  const StepId posted = schedule.post(bytes_block(nullptr, 0), 0);
  const StepId there = schedule.await(AwaitStep::kAll, 0, {posted});
  for (int rank = 0; rank < schedule.size(); ++rank) {
    if (rank != me && all[index(rank)].bytes() <= longest) schedule.take_whole(rank, 0, all[index(rank)], {there});
  }
  if (mine.bytes() != 0) schedule.copy(mine, all[index(me)]);
}

void scatterv_on_area(Schedule& schedule, const Blocks& all, const Block& mine, int root, std::uint64_t longest) {
  if (schedule.rank() == root) {
    schedule.post_parts(short_ones(all, root, longest), 0, {}, Wakes::kEach);
    send_long_ones(schedule, all, longest);
    if (mine.bytes() != 0) schedule.copy(all[index(root)], mine);
    return;
  }
  const StepId posted = schedule.post(bytes_block(nullptr, 0), 0);
  if (mine.bytes() > longest) {
    schedule.receive(mine, root);
  } else if (mine.bytes() != 0) {
    schedule.take_part(root, 0, mine, {schedule.await(root, 0, {posted})});
  }
}

void alltoallv_on_area(Schedule& schedule, const Blocks& out, const Blocks& in, std::uint64_t longest) {
  const int me = schedule.rank();
  receive_long_ones(schedule, in, longest);
  const StepId posted = schedule.post_parts(short_ones(out, me, longest), 0);
  send_long_ones(schedule, out, longest);
  const StepId there = schedule.await(AwaitStep::kAll, 0, {posted});
  for (int distance = 1; distance < schedule.size(); ++distance) {
    const int from = (me + distance) % schedule.size();
    if (in[index(from)].bytes() <= longest) schedule.take_part(from, 0, in[index(from)], {there});
  }
  if (out[index(me)].bytes() != 0) schedule.copy(out[index(me)], in[index(me)]);
}

}  // namespace lapwing::coll
