#include "coll/model/costs.h"

namespace lapwing::coll::model {
namespace {

using A = Algorithm;
using C = CollectiveKind;
using S = Spread;

constexpr Entry kEntries[] = {
    {C::kAllgather, A::kArea, allgather_on_area, S::kEven, "p l + (p + 1) n C"},
    {C::kAllgather, A::kAreaDirect, allgather_directly, S::kEven, "2 p l + (p - 1) (c + n D) + n C"},
    {C::kAllgather, A::kBruck, allgather_bruck, S::kEven, "log2 p (L + 2o) + (p - 1) n G + (p + 1) n C"},
    {C::kAllgather, A::kDoubling, allgather_doubling, S::kEven, "log2 p (L + 2o) + (p - 1) n G + n C"},
    {C::kAllgather, A::kNeighbors, allgather_neighbors, S::kEven, "p/2 (L + 2o) + (p - 1) n G + n C"},
    {C::kAllgather, A::kRing, allgather_ring, S::kEven, "(p - 1) (L + 2o + n G)"},
    {C::kAllreduce, A::kArea, allreduce_on_area, S::kEven, "p l + 2 n C + (p - 1) n y"},
    {C::kAllreduce, A::kAreaShares, allreduce_in_shares_on_area, S::kEven, "2 p l + (2p + 1)/p n C + (p - 1)/p n y"},
    {C::kAllreduce, A::kLinear, allreduce_linear, S::kOne, "2 (L + 2o + n G) + 2 (p - 2) max(g, o + n O, n G) + (p - 1) n y"},
    {C::kAllreduce, A::kDoubling, allreduce_doubling, S::kEven, "log2 p (L + 2o + n G + n y) + n C"},
    {C::kAllreduce, A::kHalving, allreduce_halving, S::kEven, "2 log2 p (L + 2o) + (p - 1)/p n (2G + y) + n C"},
    {C::kAllreduce, A::kPipelinedRing, allreduce_pipelined_ring, S::kEven,
     "(p - 1)/p n/s (max(g, s G, 2 (o + s O) + s y) + max(g, s G, 2 (o + s O))) + n C"},
    {C::kAllreduce, A::kRing, allreduce_ring, S::kEven, "2 (p - 1) (L + 2o) + (p - 1)/p n (2G + y) + n C"},
    {C::kAlltoall, A::kArea, alltoall_on_area, S::kEven, "p l + 2 p n C"},
    {C::kAlltoall, A::kAreaDirect, alltoall_directly, S::kEven, "2 p l + (p - 1) (c + n D) + n C"},
    {C::kAlltoall, A::kBruck, alltoall_bruck, S::kEven, "log2 p (L + 2o + p/2 n (G + 2C)) + 2 p n C"},
    {C::kAlltoall, A::kPairwise, alltoall_pairwise, S::kEven, "L + (p - 1) max(g, 2 (o + n O), n G) + n C"},
    {C::kBarrier, A::kArea, barrier_on_area, S::kEven, "p l"},
    {C::kBarrier, A::kLinear, barrier_linear, S::kOne, "2 (L + 2o) + 2 (p - 2) max(g, o)"},
    {C::kBarrier, A::kDissemination, barrier_dissemination, S::kEven, "logk p (L + 2o + (k - 2) max(g, o))"},
    {C::kBcast, A::kArea, bcast_on_area, S::kEven, "2 n/s l + (n + s) C"},
    {C::kBcast, A::kLinear, bcast_linear, S::kOne, "L + 2o + n G + (p - 2) max(g, o + n O, n G)"},
    {C::kBcast, A::kBinomial, bcast_binomial, S::kTree, "log2 p (L + 2o + n G)"},
    {C::kBcast, A::kKnomial, bcast_knomial, S::kTree, "logk p (L + 2o + n G + (k - 2) max(g, o + n O, n G))"},
    {C::kBcast, A::kScatterAllgather, bcast_scatter_allgather, S::kEven, "(log2 p + p - 1) (L + 2o) + 2 (p - 1)/p n G"},
    {C::kBcast, A::kChain, bcast_chain, S::kEven, "(p - 1) (L + 2o + s G) + (n/s - 1) max(g, 2 (o + s O), s G)"},
    {C::kGather, A::kArea, gather_on_area, S::kOne, "p l + p n C"},
    {C::kGather, A::kAreaDirect, gather_directly, S::kEven, "(p + 2) l + t (c + n D)"},
    {C::kGather, A::kBinomial, gather_binomial, S::kOne, "log2 p (L + 2o) + (p - 1) n G + (p + 1) n C"},
    {C::kGather, A::kKnomial, gather_knomial, S::kOne, "logk p (L + 2o + (k - 2) max(g, o)) + (p - 1) n G + (p + 1) n C"},
    {C::kGather, A::kLinear, gather_linear, S::kOne, "L + 2o + n G + (p - 2) max(g, o + n O, n G)"},
    {C::kReduce, A::kArea, reduce_on_area, S::kOne, "p l + 2 n C + (p - 1) n y"},
    {C::kReduce, A::kAreaShares, reduce_in_shares_on_area, S::kEven, "2 p l + (2p + 1)/p n C + (p - 1)/p n y"},
    {C::kReduce, A::kLinear, reduce_linear, S::kOne, "L + 2o + n G + (p - 2) max(g, o + n O, n G) + (p - 1) n y + n C"},
    {C::kReduce, A::kBinomial, reduce_binomial, S::kTree, "log2 p (L + 2o + n G + n y)"},
    {C::kReduce, A::kKnomial, reduce_knomial, S::kTree, "logk p (L + 2o + n G + n y + (k - 2) max(g, n G, o + n O + n y))"},
    {C::kReduce, A::kChain, reduce_chain, S::kEven,
     "(p - 1) (L + 2o + s (G + y)) + (n/s - 1) max(g, 2 (o + s O) + s y, s G)"},
    {C::kReduce, A::kScatterGather, reduce_scatter_gather, S::kEven,
     "2 L + 2 (p - 1) max(g, 2 (o + n/p O), n/p G) + (p - 1)/p n y"},
    {C::kReduceScatter, A::kArea, reduce_scatter_on_area, S::kEven, "p l + (p + 1)/p n C + (p - 1)/p n y"},
    {C::kReduceScatter, A::kDoubling, reduce_scatter_doubling, S::kEven, "log2 p (L + 2o + n G + n y) + (p + 1)/p n C"},
    {C::kReduceScatter, A::kHalving, reduce_scatter_halving, S::kEven, "log2 p (L + 2o) + (p - 1)/p n (G + y) + n/p C"},
    {C::kReduceScatter, A::kPairwise, reduce_scatter_pairwise, S::kEven,
     "L + (p - 1) max(g, 2 (o + n/p O) + n/p y, n/p G) + n/p C"},
    {C::kScan, A::kArea, scan_on_area, S::kRising, "p l + 2 n C + (p - 1) n y"},
    {C::kScan, A::kDoubling, scan_doubling, S::kEven, "log2 p (L + 2o + n G + n y) + n C"},
    {C::kScan, A::kChain, scan_chain, S::kEven,
     "n C + (p - 1) (L + 2o + s (G + y)) + (n/s - 1) max(g, 2 (o + s O) + s y, s G)"},
    {C::kScatter, A::kArea, scatter_on_area, S::kOne, "2 l + (p + 1) n C"},
    {C::kScatter, A::kAreaDirect, scatter_directly, S::kEven, "(p + 2) l + t (c + n D)"},
    {C::kScatter, A::kBinomial, scatter_binomial, S::kOne, "log2 p (L + 2o) + (p - 1) n G + (p + 1) n C"},
    {C::kScatter, A::kKnomial, scatter_knomial, S::kOne, "logk p (L + 2o + (k - 2) max(g, o)) + (p - 1) n G + (p + 1) n C"},
    {C::kScatter, A::kLinear, scatter_linear, S::kOne, "L + 2o + n G + (p - 2) max(g, o + n O, n G)"},
};

}  // namespace

std::span<const Entry> entries() noexcept { return kEntries; }

const Entry* find_entry(CollectiveKind collective, Algorithm algorithm) noexcept {
  for (const Entry& entry : kEntries)
    if (entry.collective == collective && entry.algorithm == algorithm) return &entry;
  return nullptr;
}

Cost predict(const Entry& entry, const Machine& machine, int p, double n) noexcept {
  Cost cost = entry.cost(machine, p, n);
  cost.time = std::max(cost.time, cost.processor);
  if (machine.cores == 0) return cost;
  const double others = std::max(1.0, p / machine.cores - 1);  // of one core
  cost.time = std::max(cost.time, work_of_all(entry, cost, p) / machine.cores) + cost.waits * others * machine.memory.turn;
  return cost;
}

double work_of_all(const Entry& entry, const Cost& cost, int p) noexcept {
  switch (entry.spread) {
    case Spread::kEven:
      return p * cost.processor;
    case Spread::kOne:
      return 2 * cost.processor;
    case Spread::kRising:
      return (p + 1) / 2.0 * cost.processor;
    default:
      return 2.0 * (p - 1) / std::max(1, rounds_of(p)) * cost.processor;
  }
}

}  // namespace lapwing::coll::model
