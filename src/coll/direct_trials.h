// Whether operands are copied directly (direct_on_area.cc) or go as they did, found out by taking the time of both while the program runs. Which
// one is faster depends on how fast one core's copy of another one's lines is, how fast the kernel's, how many ranks share a core, and what the
// program does to its buffers: on one processor the kernel's copy takes a third of the two copies' time, on another twice as long.
//
// Each communicator has a trial for each collective and class of lengths, of blocking calls alone. Calls are counted; the count, which is the
// same on all ranks, says how a call goes:
//
//   first window      as the model says, not timed: memory is touched for the first time
//   ten windows       by turns as the model says and directly. Rank 0 takes their times, of each way the median, because in a window a core
//                     may be lost, or all ranks may happen to have one
//   one call          in which rank 0 posts which way is the better one (post_decision()), so that all know it afterwards
//   all that follow   that way
//
// A window has as many calls as there are ranks, because roots may go around, and at least four; its first call is not timed, which finds the
// caches as the other way has left them. In its last call all ranks wait for each other at the end: a rank that needs nothing of the others
// runs ahead else, and the next window would pay for it.
//
// Used with the endpoint's lock held. Knows no time and posts nothing by itself.
#pragma once

#include <array>
#include <cstdint>

#include "coll/call.h"

namespace lapwing::coll {

class DirectTrials {
 public:
  static constexpr unsigned kNone = ~0u;
  static constexpr std::uint64_t kLeast = 4096;  // shorter blocks are posted: a system call takes longer
  // The trial that a call belongs to, the same one on all ranks, or kNone.
  static unsigned number_of(const Call& call, const comm::Communicator& communicator) noexcept;
  // For a collective, by its place among those that have trials, and the bytes of a block.
  static unsigned number_of(unsigned kind, std::uint64_t bytes) noexcept;

  // How a call goes.
  struct Way {
    bool directly = false;
    bool timed = false;    // rank 0 is to tell took()
    bool meets = false;    // at its end all ranks wait for each other
    bool decides = false;  // rank 0's decision travels with it
  };
  // The next blocking call's, which is counted.
  Way next(unsigned number, int ranks) noexcept;
  // Of a call that is not counted.
  bool directly(unsigned number, int ranks) const noexcept;

  // At rank 0: a call that was to be timed has taken so long.
  void took(unsigned number, double time) noexcept;
  // The byte that rank 0 posts, and into which the others copy it.
  std::uint8_t* decision(unsigned number) noexcept { return &trials_[number].decision; }

  static constexpr unsigned kOfEach = 5, kWindows = 2 * kOfEach;

 private:
  static constexpr unsigned kKinds = 4, kClasses = 10;
  struct Trial {
    std::uint32_t calls = 0;
    std::uint8_t decision = 0;
    double sum = 0;  // of this window
    std::array<std::array<double, kOfEach>, 2> times{};  // by way
  };
  static std::uint32_t window(int ranks) noexcept;
  static bool directly_is_faster(Trial& trial) noexcept;

  std::array<Trial, kKinds * kClasses> trials_;
};

}  // namespace lapwing::coll
