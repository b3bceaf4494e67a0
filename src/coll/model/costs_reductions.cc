// Reductions by messages.
#include <cmath>

#include "coll/model/costs.h"

namespace lapwing::coll::model {
namespace {

// Where the ranks are no power of two: what exceeds it gives its operands away and gets the result (fold.h), in so many messages one after
// the other.
Cost excess(const Machine& machine, int p, double n, int messages) {
  return is_power_of_two(p) ? Cost() : messages * machine.message(n) + machine.reduce(n);
}

// An even number of operands leaves the result in scratch memory (partial.h). The next one is received while one is combined, as far as the processor
// allows.
Cost reduce_along_tree(const Machine& machine, int p, double n, int radix) {
  const TreeShape tree(p, radix);
  const Cost combined = machine.reduce(n), received = machine.beside(n), one = machine.message(n) + combined;
  const Cost further{std::max(received.time, received.processor + combined.time), received.processor + combined.processor, 0};
  Cost cost = tree.levels * (one + (radix - 2) * further);
  if (tree.is_deeper()) cost = cost + one + tree.further() * further;
  if (tree.rest > 0 && !(tree.rest_is_deep && tree.whole == 0)) cost = cost + received + combined;
  cost.processor = tree.children(radix) * further.processor;
  return tree.children(radix) % 2 == 0 ? cost + machine.copy(n) : cost;
}

}  // namespace

Cost reduce_binomial(const Machine& machine, int p, double n) { return reduce_along_tree(machine, p, n, 2); }

Cost reduce_knomial(const Machine& machine, int p, double n) { return reduce_along_tree(machine, p, n, machine.tree_radix); }

Cost reduce_linear(const Machine& machine, int p, double n) {
  return machine.series(p - 1, n) + machine.reduce((p - 1) * n) + machine.copy(n);
}

// The first segment is combined at all ranks but the last; the others follow as fast as a rank in between receives, combines and sends one.
// Where its processor is what holds it up, it receives the second one before it combines the first.
Cost reduce_chain(const Machine& machine, int p, double n) {
  if (p < 2) return machine.copy(n);
  const double segments = std::max(1.0, std::ceil(n / machine.segment));
  const double segment = n / segments;
  const double passes = p > 2 ? 2 : 1;  // a segment is received, and sent
  const double work = passes * machine.work(segment) + machine.reduce(segment).time;
  const double step = std::max(machine.gap(segment), work);
  const double held_up = segments > 1 ? (p - 2) * (step - machine.gap(segment)) : 0;
  return {(p - 1) * (machine.message(segment).time + machine.reduce(segment).time) + (segments - 1) * step + held_up,
          segments * work, p - 1.0};
}

Cost reduce_scatter_gather(const Machine& machine, int p, double n) {
  return reduce_scatter_pairwise(machine, p, n) + gather_linear(machine, p, n / p);
}

// A few ranks that begin late are late for one step only.
Cost allreduce_doubling(const Machine& machine, int p, double n) {
  const int power = 1 << rounds_below(p);
  return machine.copy(n) + rounds_below(p) * (machine.exchange(n) + machine.reduce(n)) +
         excess(machine, p, n, 2 * (p - power) < power ? 1 : 2);
}

Cost allreduce_halving(const Machine& machine, int p, double n) {
  Cost cost = machine.copy(n) + excess(machine, p, n, 2);
  for (int width = 2; width <= p; width *= 2)
    cost = cost + 2 * machine.exchange(n / width) + machine.reduce(n / width);
  return cost;
}

Cost allreduce_ring(const Machine& machine, int p, double n) {
  return machine.copy(n) + (p - 1) * (2 * machine.exchange(n / p) + machine.reduce(n / p));
}

// In each step a rank is held up by its segments one after the other, or, where a chunk has few, until the first of the next chunk is there and
// combined.
Cost allreduce_pipelined_ring(const Machine& machine, int p, double n) {
  if (p < 2) return machine.copy(n);
  const double segments = std::clamp(std::ceil(n / p / machine.segment), 1.0, 16.0);
  const double segment = n / p / segments;
  const double both = 2 * machine.work(segment), combined = machine.reduce(segment).time;
  const double there = machine.exchange(segment).time;
  const double reducing = std::max(segments * std::max(machine.gap(segment), both + combined), there + combined);
  const double passing = std::max(segments * std::max(machine.gap(segment), both), there);
  return machine.copy(n) + Cost{(p - 1) * (reducing + passing), (p - 1) * segments * (2 * both + combined), 2.0 * (p - 1)};
}

Cost allreduce_linear(const Machine& machine, int p, double n) {
  return reduce_linear(machine, p, n) + bcast_linear(machine, p, n);
}

Cost reduce_scatter_doubling(const Machine& machine, int p, double n) {
  return allreduce_doubling(machine, p, n) + machine.copy(n / p);
}

// Where p is no power of two, the first ranks of those that exchange have two shares each (fold.h).
Cost reduce_scatter_halving(const Machine& machine, int p, double n) {
  const int power = 1 << rounds_below(p), over = p - power;
  const double share = n / p;
  Cost cost = machine.copy(share);
  if (over > 0) cost = cost + machine.message(n) + machine.reduce(n) + machine.message(share);
  for (int kept = power / 2; kept > 0; kept /= 2) {
    const int longer = kept + std::min(kept, over), shorter = kept + std::clamp(over - kept, 0, kept);
    cost = cost + machine.exchange(longer * share, shorter * share) + machine.reduce(longer * share);
  }
  return cost;
}

Cost reduce_scatter_pairwise(const Machine& machine, int p, double n) {
  if (p < 2) return machine.copy(n);
  const double part = n / p;
  const double step = 2 * machine.work(part) + machine.reduce(part).time;
  const double all = (p - 1) * std::max(machine.gap(part), step);
  const double one = machine.message(part).time - machine.link.latency + machine.reduce(part).time;
  return Cost{machine.link.latency + std::max(all, one), (p - 1) * step, 1} + machine.copy(part);
}

// Each rank begins with a copy of its operand, which the sum then replaces.
Cost scan_chain(const Machine& machine, int p, double n) {
  return p < 2 ? machine.copy(n) : machine.copy(n) + reduce_chain(machine, p, n);
}

// Where p is no power of two the last message does not wait for the others.
Cost scan_doubling(const Machine& machine, int p, double n) {
  Cost cost = machine.copy(n) + machine.reduce(rounds_of(p) * n);
  for (int distance = 1; 2 * distance <= p; distance *= 2)
    cost = cost + (2 * distance < p ? machine.exchange(n) : machine.message(n));
  return is_power_of_two(p) ? cost : cost + machine.beside(n);
}

}  // namespace lapwing::coll::model
