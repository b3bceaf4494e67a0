// What each algorithm of each collective costs: the formulas that the algorithms' files state, as functions. costs_test.cc runs the schedules
// themselves against a clock (timed_run_for_tests.h), so a formula that does not describe its schedule fails.
//
// A new algorithm gets a formula here and a line in the table in costs.cc; an algorithm made of others adds theirs up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/algorithms.h"
#include "coll/model/cost.h"

namespace lapwing::coll::model {

// For p ranks and n bytes: of the operand of a bcast, a reduce, an allreduce, a reduce-scatter or a scan; of one block of a gather, a scatter,
// an allgather or an alltoall.
using Formula = Cost (*)(const Machine& machine, int p, double n);

// How the work is spread, roughly: all ranks do the same, or one has as much as all others together, or those of a binomial tree have it, or each
// rank has more than the one before.
enum class Spread : std::uint8_t { kEven, kOne, kTree, kRising };

struct Entry {
  CollectiveKind collective;
  Algorithm algorithm;
  Formula cost;
  Spread spread;
  const char* text;  // the time as a formula
};
// Those of all collectives, in the order of base/algorithm_list.inc.
std::span<const Entry> entries() noexcept;
// Null: the collective has no such algorithm.
const Entry* find_entry(CollectiveKind collective, Algorithm algorithm) noexcept;
// No less than what the processor does. Where the ranks are more than the cores: than what the cores have to do for all of them, and with the
// time until those that wait have a core again.
Cost predict(const Entry& entry, const Machine& machine, int p, double n) noexcept;
// Of the processors of all ranks together.
double work_of_all(const Entry& entry, const Cost& cost, int p) noexcept;

// ---- messages (costs_movement.cc, costs_reductions.cc)

Cost barrier_dissemination(const Machine& machine, int p, double n);
Cost barrier_linear(const Machine& machine, int p, double n);
Cost bcast_binomial(const Machine& machine, int p, double n);
Cost bcast_chain(const Machine& machine, int p, double n);
Cost bcast_knomial(const Machine& machine, int p, double n);
Cost bcast_linear(const Machine& machine, int p, double n);
Cost bcast_scatter_allgather(const Machine& machine, int p, double n);
Cost gather_binomial(const Machine& machine, int p, double n);
Cost gather_knomial(const Machine& machine, int p, double n);
Cost gather_linear(const Machine& machine, int p, double n);
Cost scatter_binomial(const Machine& machine, int p, double n);
Cost scatter_knomial(const Machine& machine, int p, double n);
Cost scatter_linear(const Machine& machine, int p, double n);
Cost allgather_bruck(const Machine& machine, int p, double n);
Cost allgather_doubling(const Machine& machine, int p, double n);
Cost allgather_neighbors(const Machine& machine, int p, double n);
Cost allgather_ring(const Machine& machine, int p, double n);
Cost alltoall_bruck(const Machine& machine, int p, double n);
Cost alltoall_pairwise(const Machine& machine, int p, double n);
Cost reduce_binomial(const Machine& machine, int p, double n);
Cost reduce_chain(const Machine& machine, int p, double n);
Cost reduce_knomial(const Machine& machine, int p, double n);
Cost reduce_linear(const Machine& machine, int p, double n);
Cost reduce_scatter_gather(const Machine& machine, int p, double n);
Cost allreduce_doubling(const Machine& machine, int p, double n);
Cost allreduce_halving(const Machine& machine, int p, double n);
Cost allreduce_linear(const Machine& machine, int p, double n);
Cost allreduce_pipelined_ring(const Machine& machine, int p, double n);
Cost allreduce_ring(const Machine& machine, int p, double n);
Cost reduce_scatter_doubling(const Machine& machine, int p, double n);
Cost reduce_scatter_halving(const Machine& machine, int p, double n);
Cost reduce_scatter_pairwise(const Machine& machine, int p, double n);
Cost scan_chain(const Machine& machine, int p, double n);
Cost scan_doubling(const Machine& machine, int p, double n);

// ---- shared areas (costs_area.cc)

Cost barrier_on_area(const Machine& machine, int p, double n);
Cost bcast_on_area(const Machine& machine, int p, double n);
Cost gather_on_area(const Machine& machine, int p, double n);
Cost scatter_on_area(const Machine& machine, int p, double n);
Cost allgather_on_area(const Machine& machine, int p, double n);
Cost alltoall_on_area(const Machine& machine, int p, double n);
Cost reduce_on_area(const Machine& machine, int p, double n);
Cost reduce_in_shares_on_area(const Machine& machine, int p, double n);
Cost allreduce_on_area(const Machine& machine, int p, double n);
Cost allreduce_in_shares_on_area(const Machine& machine, int p, double n);
Cost reduce_scatter_on_area(const Machine& machine, int p, double n);
Cost scan_on_area(const Machine& machine, int p, double n);

Cost allgather_directly(const Machine& machine, int p, double n);
Cost alltoall_directly(const Machine& machine, int p, double n);
Cost gather_directly(const Machine& machine, int p, double n);
Cost scatter_directly(const Machine& machine, int p, double n);

// ---- for several formulas

inline bool is_power_of_two(int p) noexcept { return (p & (p - 1)) == 0; }
// floor(log2 p) and ceil(log2 p).
inline int rounds_below(int p) noexcept {
  int rounds = 0;
  while (p >> (rounds + 1) != 0) ++rounds;
  return rounds;
}
inline int rounds_of(int p) noexcept { return rounds_below(p) + (is_power_of_two(p) ? 0 : 1); }

// A k-nomial tree over p ranks: its root has k - 1 children of each of `levels` lengths, and on top of these `whole` whose subtrees have `length` ranks
// and are full, and one with the `rest`, if there is one. That may be as deep as those that are full: (k^j - 1) / (k - 1), which is j ones to the base
// k, is the first place that is j levels below its root.
struct TreeShape {
  int levels = 0, whole = 0;
  std::int64_t length = 1, rest = 0;
  bool rest_is_deep = false;

  TreeShape(int p, int radix) noexcept {
    for (; length * radix <= p; length *= radix) ++levels;
    whole = static_cast<int>(p / length) - 1;
    rest = p % length;
    rest_is_deep = (length - 1) / (radix - 1) < rest;
  }
  // One more message on the way to the deepest rank than there are levels.
  bool is_deeper() const noexcept { return whole > 0 || rest_is_deep; }
  // Of the root's children on top those that come beside another one.
  int further() const noexcept { return std::max(0, whole - 1); }
  // The root's.
  int children(int radix) const noexcept { return levels * (radix - 1) + whole + (rest != 0 ? 1 : 0); }
};

}  // namespace lapwing::coll::model
