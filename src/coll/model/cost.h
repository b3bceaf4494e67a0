// What an algorithm costs, and what costs are made of.
//
// A message of n bytes takes L + 2o + n G, of which n G is k n G for a long one (Link::long_share). Its two processors have o + n O of work each,
// most of it while the bytes move: where the kernel or the ranks themselves copy, a rank that sends and receives at the same time is held up by its
// own work, which plain LogGP does not know.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "coll/model/parameters.h"

namespace lapwing::coll::model {

struct Cost {
  double time = 0;       // until the last rank has done, if all begin together
  double processor = 0;  // of the rank that works most
  double waits = 0;      // how often a rank waits for another, on the way that takes longest
};
inline Cost operator+(const Cost& a, const Cost& b) noexcept {
  return {a.time + b.time, a.processor + b.processor, a.waits + b.waits};
}
inline Cost operator*(double times, const Cost& cost) noexcept {
  return {times * cost.time, times * cost.processor, times * cost.waits};
}

// What the ranks of one communicator have between them.
struct Machine {
  Link link;
  Memory memory;
  double segment = 131072;        // of a chain
  int barrier_radix = 2, tree_radix = 4;
  double post_bytes = 65536;      // what a rank posts in a shared area at once
  double ring_bytes = 2097152;    // by which a rank that waits for none is ahead
  double longest_post = 270336;   // and as a piece of what is longer
  double call_bytes = 262144;     // that one system call copies between the memory of two ranks
  double direct_at_once = 3;      // ranks that copy from the same pages of a root
  double one_lock = 2097152;      // ... of which so many bytes count as the same
  double cores = 0;               // that all ranks share where they are more; 0: each has one

  // Of a message: those of a long one count less.
  double counted(double bytes) const noexcept { return bytes < Link::kLong ? bytes : bytes * link.long_share; }
  // o + n O.
  double work(double bytes) const noexcept { return link.overhead + counted(bytes) * link.overhead_per_byte; }
  double wire(double bytes) const noexcept { return counted(bytes) * std::max(link.per_byte, link.overhead_per_byte); }
  // Between the beginnings of two messages of a rank.
  double gap(double bytes) const noexcept { return std::max({link.gap, work(bytes), wire(bytes)}); }

  // One message, and what both ends do for it.
  Cost message(double bytes) const noexcept {
    return {link.latency + 2 * link.overhead + wire(bytes), work(bytes), 1};
  }
  // A rank sends one and waits for one.
  Cost exchange(double bytes) const noexcept { return exchange(bytes, bytes); }
  Cost exchange(double longer, double shorter) const noexcept {
    const double worked = (counted(longer) + counted(shorter)) * link.overhead_per_byte;
    const double moved = std::max(link.latency + wire(longer), worked);
    return {2 * link.overhead + moved, work(longer) + work(shorter), 1};
  }
  // So many messages from one rank, or to one, one after the other.
  Cost series(double messages, double bytes) const noexcept {
    if (messages < 1) return {};
    return {message(bytes).time + (messages - 1) * gap(bytes), messages * work(bytes), 1};
  }
  // One more message of a rank that has others under way.
  Cost beside(double bytes) const noexcept { return {gap(bytes), work(bytes), 0}; }
  Cost copy(double bytes) const noexcept { return local(bytes * memory.copy); }
  // From another rank's memory, or to it.
  Cost direct(double bytes) const noexcept {
    return local(std::max(1.0, std::ceil(bytes / call_bytes)) * memory.call + bytes * memory.direct);
  }
  Cost reduce(double bytes) const noexcept { return local(bytes * memory.reduce); }

 private:
  static Cost local(double time) noexcept { return {time, time, 0}; }
};

}  // namespace lapwing::coll::model
