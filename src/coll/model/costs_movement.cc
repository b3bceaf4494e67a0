// Collectives that move data by messages.
#include <cmath>

#include "coll/model/costs.h"

namespace lapwing::coll::model {
namespace {

// The last one of each level has its data latest. A subtree that is not full has less to do than the others, and its message goes beside theirs.
Cost bcast_along_tree(const Machine& machine, int p, double n, int radix) {
  const TreeShape tree(p, radix);
  Cost cost = tree.levels * (machine.message(n) + (radix - 2) * machine.beside(n));
  if (tree.is_deeper())
    cost = cost + machine.message(n) + tree.further() * machine.beside(n);
  else if (tree.rest > 0)
    cost = cost + machine.beside(n);
  cost.processor = tree.children(radix) * machine.work(n);
  return cost;
}

// Every rank on the way packs its subtree's blocks, and the root unpacks them.
Cost gather_along_tree(const Machine& machine, int p, double n, int radix) {
  const TreeShape tree(p, radix);
  Cost cost = machine.copy(n) + machine.copy((p - 1) * n);
  double blocks = 1;
  for (int level = 0; level < tree.levels; ++level, blocks *= radix)
    cost = cost + machine.message(n * blocks) + (radix - 2) * machine.beside(n * blocks);
  const double rest = n * static_cast<double>(tree.rest);
  if (tree.whole > 0)
    cost = cost + machine.message(n * blocks) + tree.further() * machine.beside(n * blocks);
  else if (tree.rest_is_deep)
    return cost + machine.message(rest);
  if (tree.rest > 0) cost = cost + machine.beside(rest);
  return cost;
}

}  // namespace

// A rank's messages of one round leave one after the other, and those of as many others come meanwhile.
Cost barrier_dissemination(const Machine& machine, int p, double) {
  Cost cost;
  for (int distance = 1; distance < p; distance *= machine.barrier_radix) {
    const int messages = std::min(machine.barrier_radix - 1, (p - 1) / distance);
    const double work = 2 * messages * machine.work(0);
    cost = cost + Cost{std::max(machine.series(messages, 0).time, work), work, 1};
  }
  return cost;
}

Cost barrier_linear(const Machine& machine, int p, double) { return 2 * machine.series(p - 1, 0); }

Cost bcast_binomial(const Machine& machine, int p, double n) { return bcast_along_tree(machine, p, n, 2); }

Cost bcast_knomial(const Machine& machine, int p, double n) { return bcast_along_tree(machine, p, n, machine.tree_radix); }

Cost bcast_linear(const Machine& machine, int p, double n) { return machine.series(p - 1, n); }

// The first segment passes all ranks; the others follow as fast as a rank in between receives and sends one. Where its processor is what
// holds it up, it receives the second one before it sends the first.
Cost bcast_chain(const Machine& machine, int p, double n) {
  if (p < 2) return {};
  const double segments = std::max(1.0, std::ceil(n / machine.segment));
  const double segment = n / segments;
  const double passes = p > 2 ? 2 : 1;  // a segment is received, and sent
  const double step = std::max(machine.gap(segment), passes * machine.work(segment));
  const double held_up = segments > 1 ? (p - 2) * (step - machine.gap(segment)) : 0;
  return {(p - 1) * machine.message(segment).time + (segments - 1) * step + held_up,
          segments * passes * machine.work(segment), p - 1.0};
}

// The tree sends halves of halves; then each piece goes around the ring. The first step of the ring goes beside the last of the tree.
Cost bcast_scatter_allgather(const Machine& machine, int p, double n) {
  Cost cost = machine.beside(n / p) + (p - 2) * machine.exchange(n / p);
  for (int width = 1; width < p; width *= 2) cost = cost + machine.message(n / p * std::min(width, p - width));
  return cost;
}

Cost gather_binomial(const Machine& machine, int p, double n) { return gather_along_tree(machine, p, n, 2); }

Cost gather_knomial(const Machine& machine, int p, double n) { return gather_along_tree(machine, p, n, machine.tree_radix); }

// The root copies its own block while the others' come.
Cost gather_linear(const Machine& machine, int p, double n) {
  Cost cost = machine.series(p - 1, n);
  cost.processor += machine.copy(n).time;
  return cost;
}

Cost scatter_binomial(const Machine& machine, int p, double n) { return gather_binomial(machine, p, n); }

Cost scatter_knomial(const Machine& machine, int p, double n) { return gather_knomial(machine, p, n); }

Cost scatter_linear(const Machine& machine, int p, double n) { return machine.copy(n) + machine.series(p - 1, n); }

Cost allgather_bruck(const Machine& machine, int p, double n) {
  Cost cost = machine.copy(n);
  for (int held = 1; held < p; held *= 2) cost = cost + machine.exchange(n * std::min(held, p - held));
  return cost + machine.copy(p * n);
}

// Where p is no power of two, the first ranks of those that exchange have two blocks each (fold.h): runs of them are longer than others.
Cost allgather_doubling(const Machine& machine, int p, double n) {
  const int power = 1 << rounds_below(p), excess = p - power;
  Cost cost = machine.copy(n);
  if (excess > 0) cost = cost + machine.message(n) + machine.message(p * n);
  for (int held = 1; held < power; held *= 2) {
    const int longer = held + std::min(held, excess), shorter = held + std::clamp(excess - held, 0, held);
    cost = cost + machine.exchange(longer * n, shorter * n);
  }
  return cost;
}

// With an odd number of ranks the ring does it.
Cost allgather_neighbors(const Machine& machine, int p, double n) {
  if (p % 2 != 0) return allgather_ring(machine, p, n);
  return machine.copy(n) + machine.exchange(n) + (p / 2 - 1) * machine.exchange(2 * n);
}

Cost allgather_ring(const Machine& machine, int p, double n) {
  Cost cost = (p - 1) * machine.exchange(n);
  cost.processor += machine.copy(n).time;
  return cost;
}

// In round k the blocks with bit k set are packed, sent and unpacked.
Cost alltoall_bruck(const Machine& machine, int p, double n) {
  Cost cost = machine.copy(2 * p * n);
  for (int distance = 1; distance < p; distance *= 2) {
    int moved = 0;
    for (int first = distance; first < p; first += 2 * distance) moved += std::min(distance, p - first);
    cost = cost + machine.exchange(moved * n) + machine.copy(2 * moved * n);
  }
  return cost;
}

Cost alltoall_pairwise(const Machine& machine, int p, double n) {
  if (p < 2) return machine.copy(n);
  const double both = 2 * machine.work(n);
  const double step = std::max(machine.gap(n), both);
  return Cost{machine.link.latency + std::max((p - 1) * step, machine.message(n).time - machine.link.latency),
              (p - 1) * both, 1} +
         machine.copy(n);
}

}  // namespace lapwing::coll::model
