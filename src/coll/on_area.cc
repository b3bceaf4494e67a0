// Algorithms for ranks that share memory: each posts what it has, and reads what it wants (shared_area.h).
//
// Costs: a post or an await takes a cache line from core to core, l, for each other rank; p ranks, n bytes, G the time to copy one
// byte, y to reduce one. Where ranks outnumber cores each wait costs until all others have had the core, W; every algorithm here
// waits once or twice, whatever p is.
//
//   barrier                p l + W                     twice W for the root that leaves last, or where others wait for it (barrier_order.h)
//   bcast                  2 l + 2 n G + W
//   scatter                2 l + (p + 1) n G + W       n: one block; between two ranks 2 l + 2 n G + W
//   gather                 p l + p n G + W             n: one block
//   allgather              p l + (p + 1) n G + W       n: one block
//   alltoall               p l + 2 p n G + W           n: one block; between two ranks, 2 l + 3 n G + W
//   fold at each           p l + n G + p n y + W       allreduce, reduce, scan of few bytes; between two ranks 2 l + n G + n y
//   fold in shares         2 (p l + W) + 3 n G + n y   each rank combines its share for all
//   fold in halves         2 (l + W) + 3/2 n G + n/2 y the same between two ranks: each posts only what the other one combines
//
// Where each rank combines all of the operands it does so in the order of ranks: the same bits everywhere. Where each combines its share, the
// order is that of ranks for operations that do not commute; else each begins with its own operand and goes around, because ranks that all
// read from one wait for its caches: sixteen took 1.2 to 1.5 times as long. What an operation reads it has read when it ends, so the next one may
// post.
#include <cstdint>
#include <utility>

#include "coll/algorithms.h"
#include "coll/area_parts.h"

namespace lapwing::coll {
namespace {

using Wakes = Schedule::Wakes;

std::size_t index(int rank) noexcept {
  return static_cast<std::size_t>(rank);
}

// Each rank posts `mine` in `round`; the step after which all of it is there.
StepId meet(Schedule& schedule, const Block& mine, std::uint32_t round, After after = {}) {
  return schedule.await(AwaitStep::kAll, round, {schedule.post(mine, round, after)});
}

// The same, but of the lower ranks' posts only: rank 0 waits for none, and the others for as few as they can, so that in calls that follow
// each other the lower ranks run ahead, and hand their core over once for many calls.
StepId meet_lower(Schedule& schedule, const Block& mine, std::uint32_t round) {
  StepId there = schedule.post(mine, round, {}, Wakes::kEach);
  for (int rank = schedule.rank() - 1; rank >= 0; --rank) there = schedule.await(rank, round, {there});
  return there;
}

// Target = the operands of ranks 0 to `last`, from `offset` of their posts on.
StepId combine(Schedule& schedule, int last, std::uint32_t round, std::uint64_t offset, const Block& target,
               StepId there) {
  if (!schedule.op()->is_user() && target.type->contiguous())
    return schedule.fold(last, round, offset, target, {there});
  // Posts are packed: each operand takes the shape of the type first. A user's function runs on application threads.
  StepId done = schedule.take(last, round, offset, target, {there});
  const Block operand = last > 0 ? schedule.scratch_like(target) : Block{};
  for (int rank = last - 1; rank >= 0; --rank)
    done = schedule.reduce(operand, target, {schedule.take(rank, round, offset, operand, {done})});
  return done;
}

}  // namespace

StepId combine_share(Schedule& schedule, std::uint32_t round, std::uint64_t offset, const Block& target, StepId there) {
  if (!schedule.op()->is_user() && target.type->contiguous()) return schedule.fold_around(round, offset, target, {there});
  return combine(schedule, schedule.size() - 1, round, offset, target, there);
}

bool combines_where_it_lies(const Schedule& schedule, const Block& operand) noexcept {
  return schedule.size() == 2 && !schedule.op()->is_user() && operand.type->contiguous();
}

// Where ranks outnumber cores each acknowledges the barrier before it leaves, whether others wait for that or not: so ranks that do not agree on the
// order, because their calls before did not match, wait for each other none the less.
void barrier_on_area(Schedule& schedule, const BarrierOrder::Order& order) {
  const StepId all = meet(schedule, bytes_block(nullptr, 0), 0);
  if (!schedule.oversubscribed()) return;
  StepId left = schedule.acknowledge(0, true, {all});
  const auto leave_after = [&](int rank) { left = schedule.await(rank, 0, {left}, AwaitStep::What::kAcknowledgement); };
  const bool is_root = schedule.rank() == order.root;
  if (order.way == BarrierOrder::Way::kRootFirst && !is_root) leave_after(order.root);
  for (int rank = 0; rank < schedule.size() && order.way == BarrierOrder::Way::kRootLast && is_root; ++rank)
    if (rank != order.root) leave_after(rank);
}

void bcast_on_area(Schedule& schedule, const Block& data, int root) {
  if (schedule.rank() == root) {
    schedule.post(data, 0, {}, Wakes::kEach);
    return;
  }
  const StepId posted = schedule.post(bytes_block(nullptr, 0), 0, {}, Wakes::kEach);
  schedule.take_whole(root, 0, data, {schedule.await(root, 0, {posted})});
}

// A root that waits for its core waits once, for all. Otherwise it takes what is there while the others are on their way; last from the rank before it,
// which was the root of the call before where roots go around.
void gather_on_area(Schedule& schedule, const Block& mine, const Blocks& all, int root) {
  if (schedule.rank() != root) {
    schedule.post(mine, 0, {}, Wakes::kEach);
    return;
  }
  StepId there = schedule.post(bytes_block(nullptr, 0), 0);
  if (mine.bytes() != 0) there = schedule.copy(mine, all[index(root)], {there});  // while the others copy
  if (schedule.oversubscribed()) there = schedule.await(AwaitStep::kAll, 0, {there});
  for (int distance = 1; distance < schedule.size(); ++distance) {
    const int rank = (root + distance) % schedule.size();
    if (!schedule.oversubscribed()) there = schedule.await(rank, 0, {there});
    there = schedule.take_whole(rank, 0, all[index(rank)], {there});
  }
}

namespace {

// Of two ranks each posts only what the other one wants, which is all of the post.
void scatter_to_one_on_area(Schedule& schedule, const Blocks& all, const Block& mine, int root) {
  const int me = schedule.rank();
  if (me == root) {
    const StepId posted = schedule.post(all[index(1 - me)], 0, {}, Wakes::kEach);
    if (mine.bytes() != 0) schedule.copy(all[index(me)], mine, {posted});
    return;
  }
  const StepId posted = schedule.post(bytes_block(nullptr, 0), 0, {}, Wakes::kEach);
  schedule.take_whole(root, 0, mine, {schedule.await(root, 0, {posted})});
}

void exchange_on_area(Schedule& schedule, const Block& together, const Blocks& in) {
  const int me = schedule.rank(), other = 1 - me;
  const std::uint64_t count = together.count / 2;
  const auto out = [&](int rank) { return together.part(static_cast<std::uint64_t>(rank) * count, count); };
  StepId there = schedule.post(out(other), 0);
  if (out(me) != in[index(me)]) there = schedule.copy(out(me), in[index(me)], {there});
  schedule.take_whole(other, 0, in[index(other)], {schedule.await(AwaitStep::kAll, 0, {there})});
}

}  // namespace

void scatter_on_area(Schedule& schedule, const Block& together, const Blocks& all, const Block& mine, int root) {
  if (schedule.size() == 2) return scatter_to_one_on_area(schedule, all, mine, root);
  if (schedule.rank() == root) {
    schedule.post(together, 0, {}, Wakes::kEach);
    if (mine.bytes() != 0) schedule.copy(all[index(root)], mine);
    return;
  }
  const StepId posted = schedule.post(bytes_block(nullptr, 0), 0, {}, Wakes::kEach);
  const std::uint64_t offset = static_cast<std::uint64_t>(schedule.rank()) * mine.bytes();
  schedule.take(root, 0, offset, mine, {schedule.await(root, 0, {posted})});
}

void allgather_on_area(Schedule& schedule, const Block& mine, const Blocks& all) {
  StepId there = schedule.post(mine, 0);
  const Block& own = all[index(schedule.rank())];
  if (own != mine) there = schedule.copy(mine, own, {there});  // while the others copy
  there = schedule.await(AwaitStep::kAll, 0, {there});
  for (int distance = 1; distance < schedule.size(); ++distance) {
    const int rank = (schedule.rank() + distance) % schedule.size();
    schedule.take_whole(rank, 0, all[index(rank)], {there});
  }
}

void alltoall_on_area(Schedule& schedule, const Block& together, const Blocks& in) {
  if (schedule.size() == 2) return exchange_on_area(schedule, together, in);
  const StepId there = meet(schedule, together, 0);
  const std::uint64_t bytes = in[0].bytes();
  // Each begins with the next rank, so that not all read from one.
  for (int distance = 1; distance <= schedule.size(); ++distance) {
    const int rank = (schedule.rank() + distance) % schedule.size();
    schedule.take(rank, 0, static_cast<std::uint64_t>(schedule.rank()) * bytes, in[index(rank)], {there});
  }
}

void reduce_on_area(Schedule& schedule, const Block& input, const Block& output, int root) {
  if (schedule.rank() != root) {
    schedule.post(input, 0, {}, Wakes::kEach);
    return;
  }
  if (combines_where_it_lies(schedule, input)) {
    schedule.fold_onto(1 - root, 0, 0, input, output, {meet(schedule, bytes_block(nullptr, 0), 0)});
    return;
  }
  combine(schedule, schedule.size() - 1, 0, 0, output, meet(schedule, input, 0));
}

void reduce_in_shares_on_area(Schedule& schedule, const Block& input, const Block& output, int root) {
  const std::vector<std::uint64_t> starts = even_starts(input.count, schedule.size());
  const auto size = static_cast<std::uint64_t>(input.type->size());
  const auto share = [&](const Block& whole, int rank) {
    return whole.part(starts[index(rank)], starts[index(rank) + 1] - starts[index(rank)]);
  };
  const int me = schedule.rank();
  const Block result = me == root ? share(output, me) : schedule.scratch_like(share(input, me));
  const StepId there = meet(schedule, input, 0);
  const StepId combined = combine_share(schedule, 0, starts[index(me)] * size, result, there);
  const StepId posted = schedule.post(result, 1, {combined}, me == root ? Wakes::kAll : Wakes::kEach);
  if (me != root) return;
  const StepId all = schedule.await(AwaitStep::kAll, 1, {posted});
  for (int rank = 0; rank < schedule.size(); ++rank) {
    if (rank != me) schedule.take_whole(rank, 1, share(output, rank), {all});
  }
}

void allreduce_on_area(Schedule& schedule, const Block& input, const Block& output) {
  if (combines_where_it_lies(schedule, output)) {
    schedule.fold_onto(1 - schedule.rank(), 0, 0, input, output, {meet(schedule, input, 0)});
    return;
  }
  combine(schedule, schedule.size() - 1, 0, 0, output, meet(schedule, input, 0));
}

namespace {

void allreduce_in_halves_on_area(Schedule& schedule, const Block& input, const Block& output) {
  const int me = schedule.rank(), other = 1 - me;
  const std::vector<std::uint64_t> starts = even_starts(input.count, 2);
  const auto half = [&](const Block& whole, int rank) {
    return whole.part(starts[index(rank)], starts[index(rank) + 1] - starts[index(rank)]);
  };
  const StepId there = meet(schedule, half(input, other), 0);
  const StepId combined = schedule.fold_onto(other, 0, 0, half(input, me), half(output, me), {there});
  const StepId all = meet(schedule, half(output, me), 1, {combined});
  schedule.take_whole(other, 1, half(output, other), {all});
}

}  // namespace

void allreduce_in_shares_on_area(Schedule& schedule, const Block& input, const Block& output) {
  if (combines_where_it_lies(schedule, output)) return allreduce_in_halves_on_area(schedule, input, output);
  const std::vector<std::uint64_t> starts = even_starts(input.count, schedule.size());
  const auto size = static_cast<std::uint64_t>(input.type->size());
  const auto share = [&](int rank) {
    return output.part(starts[index(rank)], starts[index(rank) + 1] - starts[index(rank)]);
  };
  const int me = schedule.rank();
  const StepId there = meet(schedule, input, 0);
  const StepId combined = combine_share(schedule, 0, starts[index(me)] * size, share(me), there);
  const StepId all = meet(schedule, share(me), 1, {combined});
  for (int distance = 1; distance < schedule.size(); ++distance) {
    const int rank = (me + distance) % schedule.size();
    schedule.take_whole(rank, 1, share(rank), {all});
  }
}

namespace {

bool overlap_apart(const Block& one, const Block& other) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(one.address), other_begin = reinterpret_cast<std::uintptr_t>(other.address);
  return begin != other_begin && begin < other_begin + other.bytes() && other_begin < begin + one.bytes();
}

// Of two ranks each posts only what the other one combines with its own. In place the result may lie over a part of that, where parts differ in length.
void reduce_scatter_of_two_on_area(Schedule& schedule, const Block& others, const Block& own, const Block& output) {
  StepId there = meet(schedule, others, 0);
  Block mine = own;
  if (overlap_apart(own, output)) {
    mine = schedule.scratch_like(own);
    there = schedule.copy(own, mine, {there});
  }
  schedule.fold_onto(1 - schedule.rank(), 0, 0, mine, output, {there});
}

}  // namespace

void reduce_scatter_on_area(Schedule& schedule, const Block& input, const Block& output,
                            const std::vector<std::uint64_t>& starts) {
  if (combines_where_it_lies(schedule, input)) {
    const auto part = [&](int rank) { return input.part(starts[index(rank)], starts[index(rank) + 1] - starts[index(rank)]); };
    return reduce_scatter_of_two_on_area(schedule, part(1 - schedule.rank()), part(schedule.rank()), output);
  }
  if (output.count == 0) {
    schedule.post(input, 0);
    return;
  }
  const std::uint64_t offset = starts[index(schedule.rank())] * static_cast<std::uint64_t>(input.type->size());
  combine_share(schedule, 0, offset, output, meet(schedule, input, 0));
}

void reduce_parts_on_area(Schedule& schedule, Blocks parts, std::size_t own, const Block& output) {
  if (combines_where_it_lies(schedule, parts[own])) return reduce_scatter_of_two_on_area(schedule, parts[1 - own], parts[own], output);
  const std::uint64_t offset = part_begin(end_of_parts(parts, own, {}), parts[own].bytes());
  const StepId posted = schedule.post_parts(std::move(parts), 0, {});
  if (output.count == 0) return;
  combine_share(schedule, 0, offset, output, schedule.await(AwaitStep::kAll, 0, {posted}));
}

// Of two ranks the last one's operand is of use to no other.
void scan_on_area(Schedule& schedule, const Block& input, const Block& output, bool inclusive) {
  if (inclusive && schedule.rank() == 1 && combines_where_it_lies(schedule, input)) {
    schedule.fold_onto(0, 0, 0, input, output, {meet_lower(schedule, bytes_block(nullptr, 0), 0)});
    return;
  }
  const int last = inclusive ? schedule.rank() : schedule.rank() - 1;
  const StepId there = meet_lower(schedule, input, 0);
  if (last >= 0) combine(schedule, last, 0, 0, output, there);
}

}  // namespace lapwing::coll
