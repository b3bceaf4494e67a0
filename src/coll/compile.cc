#include "coll/compile.h"

#include <algorithm>
#include <numeric>

#include "base/tuning.h"
#include "coll/algorithms.h"
#include "coll/area_parts.h"
#include "coll/direct_trials.h"
#include "coll/one_way_piece.h"
#include "coll/selection.h"
#include "coll/shared_area.h"

namespace lapwing::coll {

std::vector<std::uint64_t> even_starts(std::uint64_t elements, int parts) {
  std::vector<std::uint64_t> starts(static_cast<std::size_t>(parts) + 1, 0);
  const std::uint64_t share = elements / static_cast<std::uint64_t>(parts);
  const std::uint64_t longer = elements % static_cast<std::uint64_t>(parts);  // the first ones have one more
  for (std::size_t i = 0; i < static_cast<std::size_t>(parts); ++i)
    starts[i + 1] = starts[i] + share + (i < longer ? 1 : 0);
  return starts;
}

namespace {

// Of what is moved or combined in pieces.
std::uint64_t piece_of(const Schedule& schedule) noexcept {
  return PostRing::piece(schedule.oversubscribed());
}
// Whether what goes one way is cut because ranks have a core each. (More than a slice can begin behind is cut as elsewhere.)
bool is_cut_one_way(const Schedule& schedule, std::uint64_t bytes) noexcept {
  return !schedule.oversubscribed() && bytes > one_way_piece(bytes, schedule.size()) && bytes <= PostStep::kMostSliced;
}
// Whether a scatter is, of blocks of so many bytes. The ranks have as many posts to make as there are pieces for all of them.
bool is_scattered_one_way(const Schedule& schedule, std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kLeastOfSeveral = 8 * 1024, kMostTurns = AreaMemory::kSlotRounds / 2;
  const int ranks = schedule.size();
  if (ranks == 2) return is_cut_one_way(schedule, bytes);
  if (schedule.oversubscribed() || bytes < kLeastOfSeveral || bytes > PostStep::kMostSliced) return false;
  const std::uint64_t piece = scatter_piece(bytes, ranks);
  return (bytes + piece - 1) / piece * static_cast<std::uint64_t>(ranks - 1) <= kMostTurns;
}
// The same where a piece has a part for each rank, and a table of them.
std::uint64_t piece_in_parts(const Schedule& schedule) noexcept {
  const auto ranks = static_cast<std::uint64_t>(schedule.size());
  return ranks * longest_part(piece_of(schedule), ranks);
}

// Cutting needs bytes: ranks may describe the same data by different types.
void bcast_in_pieces(Schedule& schedule, const Block& data, int root, Algorithm algorithm) {
  const bool is_root = schedule.rank() == root;
  const Block bytes = schedule.unpacked_later(data);
  const bool aside = !data.type->contiguous();
  if (aside && is_root) {
    schedule.copy(data, bytes);
    schedule.fence();
  }
  if (algorithm == Algorithm::kArea) {
    bcast_in_pieces_on_area(schedule, bytes, root, AreaMemory::kPieceBytes);
  } else if (algorithm == Algorithm::kTwoLevels) {
    bcast_on_two_levels(schedule, bytes, root);
  } else if (algorithm == Algorithm::kChain) {
    bcast_chain(schedule, bytes, root, tuning().coll_bcast_segment);
  } else {
    bcast_scatter_allgather(schedule, bytes, root);
  }
  if (aside && !is_root) {
    schedule.fence();
    schedule.copy(bytes, data);
  }
}

std::uint64_t bytes_of(const Blocks& all) noexcept {
  std::uint64_t total = 0;
  for (const Block& each : all) total += each.bytes();
  return total;
}

std::uint64_t longest_of(const Blocks& all) noexcept {
  std::uint64_t longest = 0;
  for (const Block& each : all) longest = std::max(longest, each.bytes());
  return longest;
}

void allgather_by(Algorithm algorithm, Schedule& schedule, const Block& mine, const Blocks& all) {
  switch (algorithm) {
    case Algorithm::kBruck:
      return allgather_bruck(schedule, mine, all);
    case Algorithm::kDoubling:
      return allgather_doubling(schedule, mine, all);
    case Algorithm::kNeighbors:
      return allgather_neighbors(schedule, mine, all);
    default:
      return allgather_ring(schedule, mine, all);
  }
}

bool goes_in_pieces(Algorithm algorithm, std::uint64_t bytes) noexcept {
  const bool area = algorithm == Algorithm::kArea || algorithm == Algorithm::kAreaShares;
  return area && bytes > AreaMemory::kPieceBytes;
}

Reduced size_of(const Schedule& schedule, const Block& operand) noexcept {
  return {operand.bytes(), operand.count, schedule.commutative(),
          !schedule.op()->is_user() && operand.type->contiguous()};
}

int radix_of(Algorithm tree) noexcept { return tree == Algorithm::kKnomial ? static_cast<int>(tuning().coll_tree_radix) : kBinomial; }

}  // namespace

void compile_bcast(Schedule& schedule, const Block& data, int root) {
  const Algorithm algorithm = choose_bcast(schedule.situation(), data.bytes());
  switch (algorithm) {
    case Algorithm::kArea:
      if (is_cut_one_way(schedule, data.bytes())) return bcast_one_way_on_area(schedule, data, root);
      if (goes_in_pieces(algorithm, data.bytes())) return bcast_in_pieces(schedule, data, root, algorithm);
      return bcast_on_area(schedule, data, root);
    case Algorithm::kLinear:
      return bcast_linear(schedule, data, root);
    case Algorithm::kBinomial:
    case Algorithm::kKnomial:
      bcast_knomial(schedule, data, root, radix_of(algorithm));
      return;
    case Algorithm::kTwoLevels:
      if (data.bytes() <= tuning().coll_two_levels_whole) return bcast_on_two_levels(schedule, data, root);
      return bcast_in_pieces(schedule, data, root, algorithm);
    default:
      return bcast_in_pieces(schedule, data, root, algorithm);
  }
}

void compile_reduce(Schedule& schedule, const Block& input, const Block& output, int root) {
  if (input.count == 0) return;
  const Algorithm algorithm = choose_reduce(schedule.situation(), size_of(schedule, input));
  const bool on_area = algorithm == Algorithm::kArea || algorithm == Algorithm::kAreaShares;
  if (on_area && combines_where_it_lies(schedule, input) && is_cut_one_way(schedule, input.bytes()))
    return reduce_between_two_on_area(schedule, input, output, root);
  if (goes_in_pieces(algorithm, input.bytes()))
    return reduce_in_pieces_on_area(schedule, input, output, root, piece_of(schedule));
  switch (algorithm) {
    case Algorithm::kArea:
      return reduce_on_area(schedule, input, output, root);
    case Algorithm::kAreaShares:
      return reduce_in_shares_on_area(schedule, input, output, root);
    case Algorithm::kLinear:
      return reduce_linear(schedule, input, output, root);
    case Algorithm::kScatterGather:
      return reduce_scatter_gather(schedule, input, output, root);
    case Algorithm::kChain:
      return reduce_chain(schedule, input, output, root, tuning().coll_bcast_segment);
    case Algorithm::kTwoLevels:
      return reduce_on_two_levels(schedule, input, output, root);
    default:
      return reduce_knomial(schedule, input, output, root, radix_of(algorithm));
  }
}

void compile_allgather(Schedule& schedule, const Blocks& all) {
  const Block& mine = all[static_cast<std::size_t>(schedule.rank())];
  allgather_by(choose_allgather(schedule.situation(), bytes_of(all), kNoBlock), schedule, mine, all);
}

namespace {

// What to reduce, and where the result goes: MPI_IN_PLACE means that the receive buffer holds the operand.
struct Operands {
  Block input;
  Block output;
};

Operands operands(const Call& call, std::uint64_t input_count, std::uint64_t output_count) {
  datatype::Datatype* type = datatype::resolve(call.receive.type);
  const void* input = call.send.in_place() ? call.receive.buffer : call.send.buffer;
  return {block(input, input_count, type), block(call.receive.buffer, output_count, type)};
}

// The blocks for all ranks, as one.
Block together(const Side& side, int ranks) {
  return block(side.buffer, side.count * static_cast<std::uint64_t>(ranks), datatype::resolve(side.type));
}

Blocks unpacked_later(Schedule& schedule, const Blocks& all) {
  Blocks runs;
  runs.reserve(all.size());
  for (const Block& each : all) runs.push_back(schedule.unpacked_later(each));
  return runs;
}

// But for that of rank `except`.
void unpack_at_last(Schedule& schedule, const Blocks& runs, const Blocks& all, int except) {
  if (all.empty() || all[0].type->contiguous()) return;
  schedule.fence();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (static_cast<int>(i) != except) schedule.copy(runs[i], all[i]);
}

void fence_after(Schedule& schedule, StepId step) {
  if (step != kNoStep) schedule.fence();
}

void allgather_in_pieces(Schedule& schedule, const Block& mine, const Blocks& all) {
  StepId packed = kNoStep;
  const Block run = schedule.packed(mine, &packed);
  const Blocks runs = unpacked_later(schedule, all);
  fence_after(schedule, packed);
  allgather_in_pieces_on_area(schedule, run, runs, piece_of(schedule));
  unpack_at_last(schedule, runs, all, -1);
}

void gather_in_pieces(Schedule& schedule, const Block& mine, const Blocks& all, int root, std::uint64_t bytes) {
  StepId packed = kNoStep;
  const Block run = schedule.packed(mine, &packed);
  const Blocks runs = unpacked_later(schedule, all);
  fence_after(schedule, packed);
  gather_in_pieces_on_area(schedule, run, runs, root, bytes, piece_of(schedule));
  unpack_at_last(schedule, runs, all, mine.bytes() == 0 ? root : -1);
}

// As runs of bytes, which can be cut: what leaves is packed first, and what has come is unpacked at the end.
Blocks packed(Schedule& schedule, const Blocks& all) {
  Blocks runs;
  StepId last = kNoStep;
  for (const Block& each : all) runs.push_back(schedule.packed(each, &last));
  fence_after(schedule, last);
  return runs;
}

void scatter_in_pieces(Schedule& schedule, const Blocks& all, const Block& mine, int root, std::uint64_t bytes) {
  const Blocks runs = packed(schedule, all);
  const Block run = schedule.unpacked_later(mine);
  scatter_in_pieces_on_area(schedule, runs, run, root, bytes, piece_in_parts(schedule));
  if (run.address == mine.address) return;
  schedule.fence();
  schedule.copy(run, mine);
}

// Places that ranks post are those of runs of bytes.
void scatter_runs(Schedule& schedule, const Blocks& all, const Block& mine, int root) {
  const Blocks runs = packed(schedule, all);
  const Block run = schedule.unpacked_later(mine);
  scatter_directly(schedule, runs, run, root);
  if (run.address == mine.address) return;
  schedule.fence();
  schedule.copy(run, mine);
}

void gather_runs(Schedule& schedule, const Block& mine, const Blocks& all, int root) {
  StepId ready = kNoStep;
  const Block run = schedule.packed(mine, &ready);
  const Blocks runs = unpacked_later(schedule, all);
  fence_after(schedule, ready);
  gather_directly(schedule, run, runs, root);
  unpack_at_last(schedule, runs, all, mine.bytes() == 0 ? root : -1);
}

void allgather_runs(Schedule& schedule, const Block& mine, const Blocks& all) {
  StepId ready = kNoStep;
  const Block run = schedule.packed(mine, &ready);
  const Blocks runs = unpacked_later(schedule, all);
  fence_after(schedule, ready);
  allgather_directly(schedule, run, runs);
  unpack_at_last(schedule, runs, all, -1);
}

void alltoall_runs(Schedule& schedule, const Blocks& out, const Blocks& in) {
  const Blocks from = packed(schedule, out);
  const Blocks to = unpacked_later(schedule, in);
  alltoall_directly(schedule, from, to);
  unpack_at_last(schedule, to, in, -1);
}

void alltoall_in_pieces(Schedule& schedule, const Blocks& out, const Blocks& in) {
  const Blocks from = packed(schedule, out);
  const Blocks to = unpacked_later(schedule, in);
  alltoall_in_pieces_on_area(schedule, from, to, piece_in_parts(schedule));
  unpack_at_last(schedule, to, in, -1);
}

}  // namespace

void compile_allgather(Schedule& schedule, const Block& mine, const Blocks& all) {
  const Algorithm algorithm = choose_allgather(schedule.situation(), bytes_of(all), longest_of(all));
  if (goes_in_pieces(algorithm, longest_of(all))) return allgather_in_pieces(schedule, mine, all);
  if (algorithm == Algorithm::kAreaDirect) return allgather_runs(schedule, mine, all);
  if (algorithm == Algorithm::kArea) return allgather_on_area(schedule, mine, all);
  if (algorithm == Algorithm::kTwoLevels) return allgather_on_two_levels(schedule, mine, all);
  allgather_by(algorithm, schedule, mine, all);
}

void compile_allreduce(Schedule& schedule, const Block& input, const Block& output) {
  if (input.count == 0) return;
  const Algorithm algorithm = choose_allreduce(schedule.situation(), size_of(schedule, input));
  if (goes_in_pieces(algorithm, input.bytes()))
    return allreduce_in_pieces_on_area(schedule, input, output, piece_of(schedule));
  switch (algorithm) {
    case Algorithm::kArea:
      return allreduce_on_area(schedule, input, output);
    case Algorithm::kAreaShares:
      return allreduce_in_shares_on_area(schedule, input, output);
    case Algorithm::kLinear:
      return allreduce_linear(schedule, input, output);
    case Algorithm::kHalving:
      return allreduce_halving(schedule, input, output);
    case Algorithm::kRing:
      return allreduce_ring(schedule, input, output, kWholeChunks);
    case Algorithm::kPipelinedRing:
      return allreduce_ring(schedule, input, output, tuning().coll_bcast_segment);
    case Algorithm::kTwoLevels:
      return allreduce_on_two_levels(schedule, input, output);
    default:
      return allreduce_recursive_doubling(schedule, input, output);
  }
}

void compile_gather(Schedule& schedule, const Block& mine, const Blocks& all, int root, std::uint64_t bytes) {
  const Algorithm algorithm = choose_tree(CollectiveKind::kGather, schedule.situation(), bytes, bytes, true);
  switch (algorithm) {
    case Algorithm::kArea:
      if (schedule.size() == 2 && is_cut_one_way(schedule, bytes)) return gather_between_two_on_area(schedule, mine, all, root, bytes);
      if (goes_in_pieces(Algorithm::kArea, bytes)) return gather_in_pieces(schedule, mine, all, root, bytes);
      return gather_on_area(schedule, mine, all, root);
    case Algorithm::kAreaDirect:
      return gather_runs(schedule, mine, all, root);
    case Algorithm::kBinomial:
    case Algorithm::kKnomial:
      return gather_knomial(schedule, mine, all, root, radix_of(algorithm));
    case Algorithm::kTwoLevels:
      return gather_on_two_levels(schedule, mine, all, root, bytes);
    default:
      return gather_linear(schedule, mine, all, root);
  }
}

void compile_scatter(Schedule& schedule, const Block& together, const Blocks& all, const Block& mine, int root,
                     std::uint64_t bytes) {
  const std::uint64_t posted = posted_for_all(bytes, schedule.size());
  const Algorithm algorithm = choose_tree(CollectiveKind::kScatter, schedule.situation(), bytes, posted, true);
  switch (algorithm) {
    case Algorithm::kArea:
      if (is_scattered_one_way(schedule, bytes)) return scatter_one_way_on_area(schedule, all, mine, root, bytes);
      if (goes_in_pieces(Algorithm::kArea, posted)) return scatter_in_pieces(schedule, all, mine, root, bytes);
      return scatter_on_area(schedule, together, all, mine, root);
    case Algorithm::kAreaDirect:
      return scatter_runs(schedule, all, mine, root);
    case Algorithm::kBinomial:
    case Algorithm::kKnomial:
      return scatter_knomial(schedule, all, mine, root, radix_of(algorithm));
    case Algorithm::kTwoLevels:
      return scatter_on_two_levels(schedule, all, mine, root, bytes);
    default:
      return scatter_linear(schedule, all, mine, root);
  }
}

namespace {

void intra_allgather(const Call& call, Schedule& schedule) {
  const Blocks all = call.receive.blocks(schedule.size());
  const Block& own = all[static_cast<std::size_t>(schedule.rank())];
  compile_allgather(schedule, call.send.in_place() ? own : call.send.block(), all);
}

void intra_allreduce(const Call& call, Schedule& schedule) {
  const Operands both = operands(call, call.receive.count, call.receive.count);
  compile_allreduce(schedule, both.input, both.output);
}

// `blocks`: so many make up a post.
UnevenRules uneven_rules(const Schedule& schedule, CollectiveKind collective, int blocks) {
  const Situation team = schedule.situation();
  UnevenRules uneven;
  if (team.direct) uneven.least_place = DirectTrials::kLeast;
  uneven.rules.longest = longest_on_area(team, blocks);
  if (leaves_in_place(team, collective)) uneven.rules.least_place = uneven.least_place;
  // Between two ranks a message each way takes three quarters of the time, because each rank copies in while the other one copies out.
  if (collective == CollectiveKind::kAlltoall && team.ranks > 2) {
    uneven.rounds = team.uneven_rounds;
    uneven.as_messages = as_messages(collective, team);
  }
  return uneven;
}

void intra_alltoall(const Call& call, Schedule& schedule) {
  const Blocks in = call.receive.blocks(schedule.size());
  const bool even = call.what == Collective::kAlltoall;
  const Algorithm algorithm = choose_alltoall(schedule.situation(), in[0].bytes(), even);
  if (algorithm == Algorithm::kAreaDirect && !call.send.in_place()) return alltoall_runs(schedule, call.send.blocks(schedule.size()), in);
  const Side& out_side = call.send.in_place() ? call.receive : call.send;
  if ((algorithm == Algorithm::kArea || algorithm == Algorithm::kAreaDirect) && even) {
    const std::uint64_t posted = posted_for_all(in[0].bytes(), schedule.size());
    if (goes_in_pieces(Algorithm::kArea, posted)) return alltoall_in_pieces(schedule, out_side.blocks(schedule.size()), in);
    return alltoall_on_area(schedule, together(out_side, schedule.size()), in);
  }
  if (algorithm == Algorithm::kTwoLevels)
    return alltoall_on_two_levels(schedule, together(out_side, schedule.size()), in);
  if (call.send.in_place()) return alltoall_in_place(schedule, in);
  const Blocks out = call.send.blocks(schedule.size());
  if (algorithm == Algorithm::kArea)
    return alltoallv_on_area(schedule, out, in, uneven_rules(schedule, CollectiveKind::kAlltoall, schedule.size()));
  algorithm == Algorithm::kBruck ? alltoall_bruck(schedule, out, in) : alltoall_pairwise(schedule, out, in);
}

void intra_gather(const Call& call, Schedule& schedule) {
  const bool is_root = schedule.rank() == call.root;
  const Blocks all = is_root ? call.receive.blocks(schedule.size()) : Blocks{};
  const Block mine = is_root && call.send.in_place() ? Block{} : call.send.block();
  const std::uint64_t bytes = is_root ? all[static_cast<std::size_t>(call.root)].bytes() : mine.bytes();
  if (call.what == Collective::kGather) return compile_gather(schedule, mine, all, call.root, bytes);
  if (choose_tree(CollectiveKind::kGather, schedule.situation(), bytes, bytes, false) == Algorithm::kArea)
    return gatherv_on_area(schedule, mine, all, call.root, uneven_rules(schedule, CollectiveKind::kGather, 1));
  gather_linear(schedule, mine, all, call.root);
}

void intra_scatter(const Call& call, Schedule& schedule) {
  const bool is_root = schedule.rank() == call.root;
  const Blocks all = is_root ? call.send.blocks(schedule.size()) : Blocks{};
  const Block mine = is_root && call.receive.in_place() ? Block{} : call.receive.block();
  const std::uint64_t bytes = is_root ? all[static_cast<std::size_t>(call.root)].bytes() : mine.bytes();
  if (call.what == Collective::kScatter) {
    const Block whole = is_root ? together(call.send, schedule.size()) : Block{};
    return compile_scatter(schedule, whole, all, mine, call.root, bytes);
  }
  if (choose_tree(CollectiveKind::kScatter, schedule.situation(), bytes, 0, false) == Algorithm::kArea)
    return scatterv_on_area(schedule, all, mine, call.root, uneven_rules(schedule, CollectiveKind::kScatter, schedule.size()));
  scatter_linear(schedule, all, mine, call.root);
}

void intra_reduce(const Call& call, Schedule& schedule) {
  const Operands both = operands(call, call.receive.count, call.receive.count);
  compile_reduce(schedule, both.input, both.output, call.root);
}

// The one rank that has a share; -1 where several have.
int only_receiver(const std::vector<std::uint64_t>& starts) noexcept {
  int only = -1;
  for (std::size_t rank = 0; rank + 1 < starts.size(); ++rank) {
    if (starts[rank] == starts[rank + 1]) continue;
    if (only >= 0) return -1;
    only = static_cast<int>(rank);
  }
  return only;
}

void intra_reduce_scatter(const Call& call, Schedule& schedule) {
  const std::vector<std::uint64_t> starts = reduce_scatter_starts(call, schedule.size());
  const std::size_t rank = static_cast<std::size_t>(schedule.rank());
  const Operands both = operands(call, starts.back(), starts[rank + 1] - starts[rank]);
  if (both.input.count == 0) return;
  const Algorithm algorithm = choose_reduce_scatter(schedule.situation(), size_of(schedule, both.input));
  const int only = only_receiver(starts);
  if (only >= 0 && algorithm != Algorithm::kArea) return compile_reduce(schedule, both.input, both.output, only);
  switch (algorithm) {
    case Algorithm::kArea:
      if (goes_in_pieces(Algorithm::kArea, both.input.bytes()))
        return reduce_scatter_in_pieces_on_area(schedule, both.input, both.output, starts, piece_in_parts(schedule));
      return reduce_scatter_on_area(schedule, both.input, both.output, starts);
    case Algorithm::kHalving:
      return reduce_scatter_halving(schedule, both.input, both.output, starts);
    case Algorithm::kDoubling:
      return reduce_scatter_doubling(schedule, both.input, both.output, starts);
    default:
      return reduce_scatter_pairwise(schedule, both.input, both.output, starts);
  }
}

void intra_scan(const Call& call, Schedule& schedule) {
  const Operands both = operands(call, call.receive.count, call.receive.count);
  if (both.input.count == 0) return;
  const bool inclusive = call.what == Collective::kScan;
  const Algorithm algorithm = choose_scan(schedule.situation(), size_of(schedule, both.input));
  if (goes_in_pieces(algorithm, both.input.bytes()))
    return scan_in_pieces_on_area(schedule, both.input, both.output, inclusive, piece_of(schedule));
  if (algorithm == Algorithm::kArea) return scan_on_area(schedule, both.input, both.output, inclusive);
  if (algorithm == Algorithm::kChain)
    return scan_chain(schedule, both.input, both.output, inclusive, tuning().coll_bcast_segment);
  inclusive ? scan_doubling(schedule, both.input, both.output) : exscan_doubling(schedule, both.input, both.output);
}

void intra_barrier(Schedule& schedule) {
  switch (choose_barrier(schedule.situation())) {
    case Algorithm::kArea:
      return barrier_on_area(schedule, schedule.situation().barrier_order);
    case Algorithm::kLinear:
      return barrier_linear(schedule);
    case Algorithm::kTwoLevels:
      return barrier_on_two_levels(schedule);
    default:
      return barrier_dissemination(schedule, static_cast<int>(tuning().coll_barrier_radix));
  }
}

}  // namespace

std::vector<std::uint64_t> reduce_scatter_starts(const Call& call, int ranks) {
  std::vector<std::uint64_t> starts(static_cast<std::size_t>(ranks) + 1, 0);
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    starts[i + 1] =
        starts[i] + (call.receive.counts ? static_cast<std::uint64_t>(call.receive.counts[i]) : call.receive.count);
  }
  return starts;
}

void compile_intra(const Call& call, Schedule& schedule) {
  switch (call.what) {
    case Collective::kBarrier:
      return intra_barrier(schedule);
    case Collective::kBcast:
      return compile_bcast(schedule, call.receive.block(), call.root);
    case Collective::kAllgather:
    case Collective::kAllgatherv:
      return intra_allgather(call, schedule);
    case Collective::kAllreduce:
      return intra_allreduce(call, schedule);
    case Collective::kAlltoall:
    case Collective::kAlltoallv:
    case Collective::kAlltoallw:
      return intra_alltoall(call, schedule);
    case Collective::kGather:
    case Collective::kGatherv:
      return intra_gather(call, schedule);
    case Collective::kScatter:
    case Collective::kScatterv:
      return intra_scatter(call, schedule);
    case Collective::kReduce:
      return intra_reduce(call, schedule);
    case Collective::kReduceScatter:
    case Collective::kReduceScatterBlock:
      return intra_reduce_scatter(call, schedule);
    case Collective::kScan:
    case Collective::kExscan:
      return intra_scan(call, schedule);
    default:
      return;  // neighbourhood collectives: compile_neighbor()
  }
}

namespace {

void meet(Schedule& schedule, const AtEnd& at_end) {
  schedule.next_piece();
  const StepId there = schedule.await(AwaitStep::kAll, 0, {schedule.post(bytes_block(at_end.own, sizeof *at_end.own), 0)});
  for (int rank = 0; rank < schedule.size() && schedule.rank() == 0; ++rank)
    schedule.take(rank, 0, 0, bytes_block(at_end.of_all + rank, sizeof *at_end.of_all), {there});
}

}  // namespace

void compile(const Call& call, const comm::Communicator& communicator, const Situation& situation, Schedule& schedule, const AtEnd& at_end) {
  if (call.op != nullptr) schedule.set_op(*call.op);
  schedule.set_team(comm::Plane::kCollective, communicator.rank(), communicator.size());
  schedule.set_situation(situation);
  if (call.what >= Collective::kNeighborAllgather) {
    compile_neighbor(call, communicator, schedule);
  } else if (communicator.is_inter()) {
    compile_inter(call, communicator, schedule);
  } else {
    compile_intra(call, schedule);
  }
  if (at_end.meets) meet(schedule, at_end);
  schedule.seal();
}

}  // namespace lapwing::coll
