// Algorithms on an area for blocks of different lengths (the v and w forms). Only the two ranks of a block know how long it is, so each
// block goes its own way: up to `longest` through the area, beyond as a message. Where a rank has blocks for several, it posts them behind
// a table (area_parts.h), and `longest` is such that all fit. Of a long block its sender's post says that it comes as a message: so where the
// two ranks of a block take it for one of another length, one on each side of `longest`, neither waits for the other in vain.
//
// Costs: those of the even forms (on_area.cc), and p words of a table; a long block costs a message, L + 2 o + n G, besides.
#include "coll/algorithms.h"

namespace lapwing::coll {
namespace {

using Wakes = Schedule::Wakes;

std::size_t index(int rank) noexcept {
  return static_cast<std::size_t>(rank);
}

// Those of the other ranks: ours stays as an empty part.
Blocks of_others(const Blocks& all, int me) {
  Blocks parts = all;
  parts[index(me)] = bytes_block(nullptr, 0);
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

void take_ours(Schedule& schedule, int from, const Block& target, std::uint64_t longest, StepId there) {
  if (target.bytes() <= longest)
    schedule.take_part(from, 0, target, {there});
  else
    schedule.take_announcement(from, 0, target, true, {there});
}

}  // namespace

void gatherv_on_area(Schedule& schedule, const Block& mine, const Blocks& all, int root, std::uint64_t longest) {
  const int me = schedule.rank();
  if (me != root) {
    schedule.post_or_announce(mine, 0, longest);
    if (mine.bytes() > longest) schedule.send(mine, root);
    return;
  }
  receive_long_ones(schedule, all, longest);
  const StepId posted = schedule.post(bytes_block(nullptr, 0), 0);
  const StepId there = schedule.await(AwaitStep::kAll, 0, {posted});
  for (int rank = 0; rank < schedule.size(); ++rank) {
    const Block& theirs = all[index(rank)];
    if (rank == me) continue;
    if (theirs.bytes() <= longest)
      schedule.take_whole(rank, 0, theirs, {there});
    else
      schedule.take_announcement(rank, 0, theirs, false, {there});
  }
  if (mine.bytes() != 0) schedule.copy(mine, all[index(me)]);
}

void scatterv_on_area(Schedule& schedule, const Blocks& all, const Block& mine, int root, std::uint64_t longest) {
  if (schedule.rank() == root) {
    schedule.post_parts(of_others(all, root), 0, longest, Wakes::kEach);
    send_long_ones(schedule, all, longest);
    if (mine.bytes() != 0) schedule.copy(all[index(root)], mine);
    return;
  }
  if (mine.bytes() > longest) schedule.receive(mine, root);
  const StepId posted = schedule.post(bytes_block(nullptr, 0), 0);
  if (mine.bytes() != 0) take_ours(schedule, root, mine, longest, schedule.await(root, 0, {posted}));
}

void alltoallv_on_area(Schedule& schedule, const Blocks& out, const Blocks& in, std::uint64_t longest) {
  const int me = schedule.rank();
  receive_long_ones(schedule, in, longest);
  const StepId posted = schedule.post_parts(of_others(out, me), 0, longest);
  send_long_ones(schedule, out, longest);
  const StepId there = schedule.await(AwaitStep::kAll, 0, {posted});
  for (int distance = 1; distance < schedule.size(); ++distance) {
    const int from = (me + distance) % schedule.size();
    take_ours(schedule, from, in[index(from)], longest, there);
  }
  const bool in_place = out[index(me)].address == in[index(me)].address;
  if (out[index(me)].bytes() != 0 && !in_place) schedule.copy(out[index(me)], in[index(me)]);
}

}  // namespace lapwing::coll
