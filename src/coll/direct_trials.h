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
//   rest              that way; each rest is four times as long as the one before, up to a bound, and then all begins again: what a trial finds
//                     may be wrong, while memory and the ways of messages are new, or other later
//
// Where blocks differ in length (the v and w forms) only the two ranks of a block know how long it is; so each rank counts and times by itself, by
// the longest block that it has to do with, and decides by itself for what it posts, which others follow (uneven_on_area.cc); after a short rest,
// because the long ones of these blocks go as messages, whose way is found out by trials as well (net/shm/path_selection.h). It counts its calls as
// a root and as another rank together, because what makes one shorter may make the other longer. Ranks that have equal lengths try both ways at
// the same time; where they do not, each sees more of what the others do. As no rank waits for others at the end of a window, what one way makes late may
// be paid in the next window, and the two ways look alike: so such a window is four times as long, of which the first half is not timed, and to go
// directly must be faster by a quarter.
//
// What pays for blocks of one length pays for longer ones, nearly always: a class that is new, the next shorter one of which goes directly, goes directly
// at once, and its own trial comes after the first rest.
//
// A window has as many calls as there are ranks, because roots may go around, and at least four; its first call is not timed, which finds the
// caches as the other way has left them. In its last call all ranks wait for each other at the end: a rank that needs nothing of the others
// runs ahead else, and the next window would pay for it. Only ranks that count alike can do so.
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
  DirectTrials() noexcept;
  // For a collective, by its place among those that have trials, and the bytes of a block.
  static unsigned number_of(unsigned kind, std::uint64_t bytes) noexcept;

  // How a call goes.
  struct Way {
    bool directly = false;
    bool on_trial = false;  // of a window: what else is tried by time waits meanwhile
    bool timed = false;     // took() is to be told
    bool meets = false;     // at its end all ranks wait for each other
    bool decides = false;   // rank 0's decision travels with it
  };
  // The next blocking call's, which is counted.
  Way next(unsigned number, int ranks) noexcept;
  // Of a call that is not counted.
  bool directly(unsigned number) const noexcept { return trials_[number].decision != 0; }

  // Whether this rank is to tell took(); else only rank 0 is.
  static bool takes_times(unsigned number, int rank) noexcept { return rank == 0 || decides_alone(number); }
  // A call that was to be timed has taken so long.
  void took(unsigned number, double time) noexcept;
  // The byte that rank 0 posts, and into which the others copy it.
  std::uint8_t* decision(unsigned number) noexcept { return &trials_[number].decision; }

  static constexpr unsigned kOfEach = 5, kWindows = 2 * kOfEach;
  static constexpr double kGainAlone = 1.25;
  static constexpr std::uint32_t kWindowAlone = 4;  // times as long as another
  static constexpr std::uint32_t kRestAlone = 32, kFirstRest = 256, kLongestRest = 16'384;  // calls

 private:
  static constexpr unsigned kAgreed = 5, kKinds = kAgreed + 3, kClasses = 10;
  static bool decides_alone(unsigned number) noexcept { return number >= kAgreed * kClasses; }
  struct Trial {
    std::uint32_t calls = 0, left = 0, rest = kFirstRest;  // of a trial; of a rest; of the next rest
    std::uint8_t decision = 0;
    bool begun = false;
    double sum = 0;  // of this window
    std::array<std::array<double, kOfEach>, 2> times{};  // by way
  };
  static std::uint32_t window(unsigned number, int ranks) noexcept;
  static std::uint32_t untimed(unsigned number, std::uint32_t window) noexcept;
  bool shorter_goes_directly(unsigned number) const noexcept {
    return number % kClasses != 0 && trials_[number - 1].decision != 0;
  }
  static void decide(Trial& trial, double gain) noexcept;

  std::array<Trial, kKinds * kClasses> trials_;
};

}  // namespace lapwing::coll
