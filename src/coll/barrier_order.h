// In which order the ranks leave a barrier on an area where they outnumber the cores. All may leave once all have come; which rank does so first is then
// the scheduler's choice, and what is called next may have to wait for one that does not have the core. A bcast or a scatter waits for its root; so the
// root leaves first where such a call followed the last barrier, and nothing is left to wait for when the others come. A gather or a reduction
// to a root waits for all others; there the root leaves last. Programs repeat what they do, with the same root, or with roots that go around: the next
// one is as far from the last as that one was from the one before. Where a program does something else, a barrier lasts until one more rank has had
// the core.
//
// Told of the blocking and non-blocking calls of a communicator, which all ranks make in the same order, so all ranks know the same. Where calls do
// not match they may not: that must make no barrier wait (barrier_on_area()). Pure.
#pragma once

#include <cstdint>

#include "coll/call.h"

namespace lapwing::coll {

class BarrierOrder {
 public:
  enum class Way : std::uint8_t { kTogether, kRootFirst, kRootLast };
  struct Order {
    Way way = Way::kTogether;
    int root = 0;

    // Another number for each.
    std::uint32_t number() const noexcept { return way == Way::kTogether ? 0 : 2 * static_cast<std::uint32_t>(root) + static_cast<std::uint32_t>(way); }
  };

  Order now() const noexcept { return now_; }

  // Of a communicator with so many ranks.
  void called(Collective what, int root, int ranks) noexcept {
    const bool follows_barrier = after_barrier_;
    after_barrier_ = what == Collective::kBarrier;
    if (!follows_barrier) return;
    const Way way = way_before(what);
    const int step = way == now_.way && way != Way::kTogether ? root - last_root_ : 0;
    last_root_ = root;
    now_ = {way, (root + step + ranks) % ranks};
  }

 private:
  static Way way_before(Collective next) noexcept {
    switch (next) {
      case Collective::kBcast:
      case Collective::kScatter:
      case Collective::kScatterv:
        return Way::kRootFirst;
      case Collective::kGather:
      case Collective::kGatherv:
      case Collective::kReduce:
        return Way::kRootLast;
      default:
        return Way::kTogether;
    }
  }

  Order now_;
  int last_root_ = 0;
  bool after_barrier_ = false;
};

}  // namespace lapwing::coll
