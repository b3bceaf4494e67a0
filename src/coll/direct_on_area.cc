// Algorithms for ranks that reach each other's memory: a rank posts where its buffer lies (shared_area.h), and the other rank of a block copies it
// from there, or to there, with a system call. Every byte is copied once, by the rank that has to have it or has it: of a scatter and of a
// gather too all cores copy at the same time.
//
// A rank may not go on before the others have done with its buffer: in a second round each says that it has copied. Where a root has posted
// for all, it alone waits for that.
//
// Of the root's memory, which all copy from or to, 2 MiB of pages share a lock in the kernel, which each system call takes for each page: sixteen
// ranks that take it by turns need 0.4 us a page, copying included, where one needs 0.3. So of the ranks whose blocks lie in the same 2 MiB
// only a few (coll.direct_at_once) copy at the same time: each waits for the one that many before it. (Contention of this kind: Chakraborty et
// al., "Contention-aware kernel-assisted MPI collectives for multi-/many-core systems", CLUSTER 2017.)
//
// What the kernel has let ranks do it may refuse later: to a process that has given up rights, or filters its system calls. A rank to which it refuses a
// copy says so before it says that it is done; then the other rank of each of its blocks sends that as a message, or gets one.
//
// Costs: c for a system call, n D for its bytes; l for a line; k ranks at a time, t times, by that rule; waits as on_area.cc counts them:
//
//   scatter, gather        (p + 2) l + t (c + n D) + 2 W      t: min(p - 1, 2 MiB / n) / k, at least 1
//   alltoall, allgather    2 p l + (p - 1) (c + n D) + n C + 2 W
//
//     Why not always: below some kilobytes the system call takes longer than a second copy, and in one that goes piece by piece a root need not wait.
//     Why not as messages, of which a long one is copied once as well: each has an envelope to be matched and two answers, and where ranks
//     are more than cores each of these waits until others have had the core.
#include <algorithm>
#include <functional>

#include "base/tuning.h"
#include "coll/algorithms.h"

namespace lapwing::coll {
namespace {

using Copies = Schedule::Copies;
using Wakes = Schedule::Wakes;

std::size_t index(int rank) noexcept { return static_cast<std::size_t>(rank); }

// Calls copy(offset, run) for each run of `block` that one system call takes; returns the last step.
template <typename Copy>
StepId in_calls(const Block& block, StepId after, Copy copy) {
  StepId last = after;
  const std::uint64_t bytes = block.bytes(), most = tuning().shm_pull_call;
  for (std::uint64_t offset = 0; offset < bytes; offset += most)
    last = copy(offset, block.part(offset, std::min(most, bytes - offset)), last);
  return last;
}

StepId read_block(Schedule& schedule, int rank, int place, const Block& target, StepId there) {
  return in_calls(target, there, [&](std::uint64_t offset, const Block& run, StepId after) {
    return schedule.read_directly(rank, 0, place, target.bytes(), offset, run, {after});
  });
}

// Where a rank may wait for this one alone, `wakes` is kEach.
StepId say_done(Schedule& schedule, StepId after, Wakes wakes = Wakes::kAll) {
  return schedule.post(bytes_block(nullptr, 0), 1, {after}, wakes);
}

// Of blocks of one length that lie one after the other at the root: when this rank may copy its own. Where ranks wait for cores few copy at a time
// anyway.
StepId when_few_copy(Schedule& schedule, int root, std::uint64_t bytes, StepId there) {
  constexpr std::uint64_t kOneLock = 2 << 20;
  const int ranks = schedule.size(), few = static_cast<int>(tuning().coll_direct_at_once);
  const auto place = [&](int rank) { return (rank - root + ranks) % ranks; };
  const auto region = [&](int at) { return static_cast<std::uint64_t>(at) * bytes / kOneLock; };
  const int mine = place(schedule.rank()), before = mine - few;
  if (before < 1 || schedule.oversubscribed() || region(before) != region(mine)) return there;
  return schedule.await((root + before) % ranks, 1, {there});
}

StepId wait_for_all(Schedule& schedule, StepId after) { return schedule.await(AwaitStep::kAll, 1, {say_done(schedule, after)}); }

// Of the blocks that each rank copies from the others, where all have said that they are done.
void replace_refused(Schedule& schedule, const std::function<Block(int to)>& out, const Blocks& in, StepId all_done) {
  const int me = schedule.rank(), ranks = schedule.size();
  for (int distance = 1; distance < ranks; ++distance) {
    const int to = (me + distance) % ranks, from = (me - distance + ranks) % ranks;
    schedule.send_if_refused(Copies::kPeer, out(to), to, {all_done});
    schedule.receive_if_refused(Copies::kThisRank, in[index(from)], from, {all_done});
  }
}

}  // namespace

void scatter_directly(Schedule& schedule, const Blocks& all, const Block& mine, int root) {
  if (schedule.rank() == root) {
    StepId done = schedule.post_places(all, 0, Wakes::kEach);
    if (mine.bytes() != 0) done = schedule.copy(all[index(root)], mine, {done});
    const StepId all_done = wait_for_all(schedule, done);
    for (int rank = 0; rank < schedule.size(); ++rank)
      if (rank != root) schedule.send_if_refused(Copies::kPeer, all[index(rank)], rank, {all_done});
    return;
  }
  const StepId posted = schedule.post(bytes_block(nullptr, 0), 0);
  const StepId turn = when_few_copy(schedule, root, mine.bytes(), schedule.await(root, 0, {posted}));
  const StepId done = say_done(schedule, read_block(schedule, root, schedule.rank(), mine, turn), Wakes::kEach);
  schedule.receive_if_refused(Copies::kThisRank, mine, root, {done});
}

void gather_directly(Schedule& schedule, const Block& mine, const Blocks& all, int root) {
  if (schedule.rank() == root) {
    StepId done = schedule.post_places(all, 0, Wakes::kEach);
    if (mine.bytes() != 0) done = schedule.copy(mine, all[index(root)], {done});
    const StepId all_done = wait_for_all(schedule, done);
    for (int rank = 0; rank < schedule.size(); ++rank)
      if (rank != root) schedule.receive_if_refused(Copies::kPeer, all[index(rank)], rank, {all_done});
    return;
  }
  const StepId posted = schedule.post(bytes_block(nullptr, 0), 0);
  const StepId turn = when_few_copy(schedule, root, mine.bytes(), schedule.await(root, 0, {posted}));
  const StepId last = in_calls(mine, turn, [&](std::uint64_t offset, const Block& run, StepId after) {
    return schedule.write_directly(root, 0, schedule.rank(), mine.bytes(), offset, run, {after});
  });
  schedule.send_if_refused(Copies::kThisRank, mine, root, {say_done(schedule, last, Wakes::kEach)});
}

void allgather_directly(Schedule& schedule, const Block& mine, const Blocks& all) {
  const int me = schedule.rank(), ranks = schedule.size();
  const StepId posted = schedule.post_places({mine}, 0, Wakes::kAll);
  StepId last = posted;
  if (all[index(me)] != mine) last = schedule.copy(mine, all[index(me)], {posted});
  last = schedule.await(AwaitStep::kAll, 0, {last});
  for (int distance = 1; distance < ranks; ++distance) {
    const int from = (me + distance) % ranks;
    last = read_block(schedule, from, 0, all[index(from)], last);
  }
  replace_refused(schedule, [&](int) { return mine; }, all, wait_for_all(schedule, last));
}

void alltoall_directly(Schedule& schedule, const Blocks& out, const Blocks& in) {
  const int me = schedule.rank(), ranks = schedule.size();
  const StepId posted = schedule.post_places(out, 0, Wakes::kAll);
  StepId last = schedule.copy(out[index(me)], in[index(me)], {posted});
  last = schedule.await(AwaitStep::kAll, 0, {last});
  // Each begins with the next rank, so that not all read from one.
  for (int distance = 1; distance < ranks; ++distance) {
    const int from = (me + distance) % ranks;
    last = read_block(schedule, from, me, in[index(from)], last);
  }
  replace_refused(schedule, [&](int to) { return out[index(to)]; }, in, wait_for_all(schedule, last));
}

}  // namespace lapwing::coll
