// Which path the long messages from one peer take: the ring, unless another one is clearly faster.
//
// Nothing here knows the time or moves a byte. The code that moves messages says when each began and ended (measured), and asks which path the next
// is to take (path). Sizes are put into classes, one for each power of two; each begins with the ring, and decides by itself:
//
//   Trial     Now and then the next messages take another path. It wins when two windows in a row (path_clock.h), after a cold one, are faster by a
//             quarter (shm.path_gain) than the usual path in the better third of its last windows, so that a lost core decides nothing. The first window
//             that is not ends the trial.
//   Rest      The first trial of a path comes after some dozens of messages (shm.first_rest); each that is lost makes the rest until the next one four
//             times as long (to shm.longest_rest; a path that takes k times as long rests k times as long), so that what does not win is soon hardly tried. A trial that would be won by what was
//             measured last comes earlier: the usual path has become slower.
//   Proof     The path that has won a trial is taken for a while, and left again when it is not faster by a quarter then.
//   Heirs     Classes of longer messages of which none has come yet begin with a path that has proved itself. And one that took twice the time or more
//             (shm.hopeless) they try as late as this class does again: twice the size makes less of a difference than that.
//   Return    A path other than the ring must stay ahead of it by a tenth (shm.path_hold): otherwise a trial of the ring is won.
//
// What a wrong decision costs is not alike: the ring that was kept too long costs a few messages, and another path that was taken by mistake, as it
// happens to a choice among equals, costs the difference and all trials that lead back.
#pragma once

#include <array>
#include <cstdint>

#include "net/shm/path_clock.h"

namespace lapwing::net::shm {

// What a receiver tells a sender: a path for each class of sizes, four bits each.
Path path_in(std::uint64_t word, std::uint64_t bytes) noexcept;
const char* name_of(Path path) noexcept;

class PathSelection {
 public:
  static constexpr unsigned kClasses = 12;
  static constexpr std::uint64_t kSmallestClass = 8 * 1024;  // sizes below twice this are one class
  static unsigned class_of(std::uint64_t bytes) noexcept;

  // The paths that exist between the two ranks; the ring always does.
  void allow(Path path) noexcept { allowed_ |= 1u << static_cast<unsigned>(path); }
  // A path has failed, and is never taken again.
  void forbid(Path path) noexcept;
  // What was measured of this class does not hold any more: its trials begin anew.
  void forget(unsigned size_class) noexcept;
  bool allows(Path path) const noexcept { return (allowed_ >> static_cast<unsigned>(path) & 1u) != 0; }

  // What the next message of this class is to take.
  Path path(unsigned size_class) const noexcept { return classes_[size_class].path(); }
  // What messages of this class take when nothing is tried.
  Path usual(unsigned size_class) const noexcept { return classes_[size_class].usual; }
  // All of path(), for path_in().
  std::uint64_t word() const noexcept;
  // A message has come. True: word() is another now.
  bool measured(const TimedMessage& message) noexcept;

  // Nanoseconds per byte, as measured last; 0: none is known.
  double cost(unsigned size_class, Path path) const noexcept {
    return classes_[size_class].paths[static_cast<unsigned>(path)].cost;
  }
  struct Counters {
    std::uint64_t messages[kPaths] = {};
    std::uint64_t trials = 0, changes = 0;  // of what is usual
  };
  const Counters& counters() const noexcept { return counters_; }

 private:
  // The last windows on the usual path.
  class History {
   public:
    void clear() noexcept { count_ = 0; }
    void add(double ns_per_byte) noexcept { last_[count_++ % kKept] = ns_per_byte; }
    unsigned count() const noexcept { return count_; }
    bool full() const noexcept { return count_ >= kKept; }
    // A third of them are no slower.
    double cost() const noexcept;

   private:
    static constexpr unsigned kKept = 9;
    std::array<double, kKept> last_{};
    unsigned count_ = 0;
  };
  struct PathState {
    double cost = 0;          // ns per byte, as measured last
    std::uint64_t rest = 0;   // messages between two trials; 0: the first rest
    std::uint64_t since = 0;  // messages since the last trial
  };
  struct SizeClass {
    PathClock clock;
    Path usual = Path::kRing, trial = Path::kRing, before = Path::kRing;
    bool used = false;      // a message has come
    bool trying = false;    // messages take `trial`
    bool proving = false;   // `usual` has won a trial, and has to prove itself against `before`
    unsigned won = 0;       // windows of this trial
    unsigned in_trial = 0;  // messages since it began
    History history;
    PathState paths[kPaths];

    Path path() const noexcept { return trying ? trial : usual; }
    PathState& of(Path path) noexcept { return paths[static_cast<unsigned>(path)]; }
    const PathState& of(Path path) const noexcept { return paths[static_cast<unsigned>(path)]; }
  };

  Path home() const noexcept;
  bool wins(const SizeClass& sizes, Path path, Path against) const noexcept;
  bool due(const SizeClass& sizes, Path path) const noexcept;
  void on_usual(SizeClass& sizes, const PathClock::Window& window) noexcept;
  void on_trial(SizeClass& sizes, const PathClock::Window& window) noexcept;
  void try_next(SizeClass& sizes) noexcept;
  void prove(SizeClass& sizes) noexcept;
  template <typename Legacy>
  void leave_to_heirs(const SizeClass& sizes, Legacy legacy) noexcept;
  void bequeath(const SizeClass& sizes) noexcept;
  void lose(SizeClass& sizes, Path path) noexcept;
  void begin(SizeClass& sizes, Path path) noexcept;

  unsigned allowed_ = 1;
  std::int64_t last_end_ = 0;  // of a message
  bool bequeathed_ = false;    // by this message
  std::array<SizeClass, kClasses> classes_;
  Counters counters_;
};

}  // namespace lapwing::net::shm
