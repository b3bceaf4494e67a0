// Whether operands are copied directly (direct_on_area.cc) or go as they did, found out by taking the time of both while the program runs. Which
// one is faster depends on how fast one core's copy of another one's lines is, how fast the kernel's, how many ranks share a core, and what the
// program does to its buffers: on one processor the kernel's copy takes a third of the two copies' time, on another twice as long.
//
// Each communicator has a trial for each collective and class of lengths, of blocking calls alone. Calls are counted; the count, which is the
// same on all ranks, says how a call goes:
//
//   first call        as the model says; rank 0 posts whether there is anything to try (post_verdict()), so that all know it afterwards: not where it knows
//                     from another communicator (known_ways.h), where the next shorter blocks go directly or were level, or where shorter ones took so long directly
//                     that these can hardly take less; then a rest follows, and before a trial a short one, until posts go as is best (base/ring_trial.h). In that one
//                     calls go as the model says too, or directly where that should take much less time (likely_direct() and likely_in_place() in selection.h) and
//                     has not been found otherwise with shorter blocks: the kernel's copy is slow on some processors
//   first window      as the model says, not timed: memory is touched for the first time
//   ten windows       by turns as the model says and directly. What counts is the time of all ranks together, because a rank that need not wait for
//                     others goes on, until all have met; of each way the median, because in a window a core may be lost, or all ranks may happen to
//                     have one
//   one call          in which rank 0 posts its verdict; and another one after the first two of these windows, because where to go directly took
//                     half as long again the rest of the trial would only cost time, and after four, where either way took two thirds of the other's in
//                     both pairs
//   rest              that way; each rest is four times as long as the one before, up to a bound, and then all begins again: what a trial finds
//                     may be wrong, while memory and the ways of messages are new, or other later
//
// Where blocks differ in length (the v and w forms) only the two ranks of a block know how long it is; so each rank counts and times by itself, by
// the longest block that it has to do with, and decides by itself for what it posts, which others follow (uneven_on_area.cc); after a short rest,
// because the long ones of these blocks go as messages, whose way is found out by trials as well (net/shm/path_selection.h). It counts its calls as
// a root and as another rank together, because what makes one shorter may make the other longer. Ranks that have equal lengths try both ways at
// the same time; where they do not, each sees more of what the others do. As no rank waits for others at the end of a window, what one way makes
// late may be paid in the next window, and the two ways look alike: so such a window has sixteen calls, or four for each root, of which the first
// half is not timed, and to go directly must be faster by a quarter. With blocks from 128 KiB on, for which a rank waits before it can be late by many
// calls, a window has half as many.
//
// A window has five calls. Its first one is not timed, which finds the caches as the other way has left them. In its last call all ranks wait for each
// other at the end: a rank that needs nothing of the others runs ahead else, and the next window would pay for it. Only ranks that count alike can do
// so. There they tell rank 0 what the calls before took, less the time at which the last one began; so rank 0 knows what all took when it ends.
//
// Used with the endpoint's lock held. Knows no time and posts nothing by itself.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/algorithms.h"
#include "coll/call.h"
#include "coll/known_ways.h"

namespace lapwing::coll {

class DirectTrials {
 public:
  static constexpr unsigned kNone = ~0u;
  static constexpr std::uint64_t kLeast = 4096;  // shorter blocks are posted: a system call takes longer
  // The trial that a call belongs to, the same one on all ranks, or kNone.
  static unsigned number_of(const Call& call, const comm::Communicator& communicator) noexcept;
  // So many calls rest between the first one and a trial.
  static std::uint32_t opening_rest(unsigned number) noexcept;
  // For a collective, by its place among those that have trials, and the bytes of a block.
  static unsigned number_of(unsigned kind, std::uint64_t bytes) noexcept;
  // What the model knows of a trial: its collective, and the least bytes of a block.
  static CollectiveKind collective(unsigned number) noexcept;
  static std::uint64_t least_bytes(unsigned number) noexcept { return kLeast << number % kClasses; }
  // Whether each rank decides by itself, because blocks differ in length.
  static bool decides_alone(unsigned number) noexcept { return number >= kAgreed * kClasses; }

  // `known` remembers what is found out; null: nothing does.
  DirectTrials(int ranks, KnownWays* known);

  // What a rank that tells the others has to say; of one byte, because it is posted.
  enum class Verdict : std::uint8_t { kTry, kTryDirectFirst, kAsModel, kDirectly };

  // How a call goes.
  struct Way {
    bool directly = false;
    bool on_trial = false;  // of a window: what else is tried by time waits meanwhile
    bool timed = false;     // took() is to be told
    bool meets = false;     // at its end all ranks wait for each other
    bool decides = false;   // rank 0's verdict travels with it
  };
  // Whether this trial has not begun: with next(), or directly() of a rank that decides alone.
  bool is_new(unsigned number) const noexcept { return trials_[number].phase == Phase::kNew; }
  // The next blocking call's, which is counted. `likely`, for the first: direct copies should take much less time.
  Way next(unsigned number, bool likely = false) noexcept;
  // Of a call that is not counted. `likely` as above, for ranks that decide alone.
  bool directly(unsigned number, bool likely = false) noexcept;

  // A call that was to be timed has taken so long.
  void took(unsigned number, double time) noexcept { trials_[number].sum += time; }
  // Of the call in which all meet: it begins; what this rank tells in it; where rank 0 gets that from each rank; and, of rank 0, it has ended. (In a
  // container with a clock of its own a rank is wrong by as much in each window, which is no difference between the two ways.)
  void last_began(unsigned number, double now) noexcept { trials_[number].sum -= now; }
  double* told(unsigned number) noexcept { return &trials_[number].sum; }
  double* told_by_all() noexcept { return told_by_all_.data(); }
  void all_ended(unsigned number, double now) noexcept;
  // What rank 0 posts, and into which the others copy it.
  Verdict* verdict(unsigned number) noexcept { return &trials_[number].verdict; }

  static constexpr unsigned kOfEach = 5, kWindows = 2 * kOfEach, kFirstLook = 2, kEarly = 4;  // windows
  static constexpr double kHopeless = 1.5, kClearly = 1.5, kGainAlone = 1.25, kLevel = 1.1;
  static constexpr std::uint32_t kRestAlone = 32, kFirstRest = 256, kLongestRest = 16'384;  // calls

 private:
  static constexpr unsigned kAgreed = 5, kKinds = kAgreed + 3, kClasses = KnownWays::kClasses;
  static constexpr std::uint64_t kLong = 128 * 1024;
  static constexpr std::uint32_t kTogether = 5, kAlone = 16, kAloneOfLong = 8;  // calls of a window, at least
  static unsigned family(unsigned number) noexcept { return number / kClasses % KnownWays::kFamilies; }

  enum class Phase : std::uint8_t {
    kNew,          // no call has asked
    kDecided,      // the last call had a verdict, which has not been taken account of
    kRest,
    kWindow,
    kWindowEnded,  // with the last call, whose time may be told yet
  };
  struct Trial {
    Phase phase = Phase::kNew;
    bool directly = false;  // what is in force
    Verdict verdict = Verdict::kTry;
    std::uint32_t calls = 0, left = 0, rest = kFirstRest;  // of windows since the last rest; of a rest; of the next rest
    double loss = 0;                                       // what the last trial took directly, over the other way's time; 0: none has ended
    double sum = 0;                                        // of this window
    std::array<std::array<double, kOfEach>, 2> times{};    // by way
  };
  std::uint32_t window(unsigned number) const noexcept;
  bool is_timed(unsigned number, std::uint32_t place) const noexcept;
  Verdict guess(unsigned number, bool likely) const noexcept;
  void begin(unsigned number, bool likely) noexcept;
  void settle(unsigned number) noexcept;
  void judge(unsigned number) noexcept;
  Way next_of_window(unsigned number) noexcept;
  bool is_hopeless(unsigned number, unsigned shorter) const noexcept;
  bool is_promising(unsigned number, unsigned shorter) const noexcept;
  static Verdict first_look(const Trial& trial) noexcept;
  static Verdict early(const Trial& trial) noexcept;
  static Verdict late(Trial& trial, double gain) noexcept;

  const int ranks_;
  KnownWays* const known_;
  std::array<Trial, kKinds * kClasses> trials_;
  std::vector<double> told_by_all_;  // at the end of one window
};

}  // namespace lapwing::coll
