// Which path the long messages from one peer take: chosen by their measured times while the program runs.
//
// How long, how often and by how much: the tuning values of shm (trial_share to messages_between_changes).
// Nothing here knows the time or moves a byte. The code that moves messages says what each took (measured), and asks what the next
// is to take (path). Sizes are put into classes, a class for each power of two, each with its own decision. A class is in one of three states:
//
//   kUntried   no message of this class has come. It takes the path of the nearest class that has times, or the ring.
//   kSettled   messages take the path that was the fastest. Each of them earns a share of its time for trials.
//   kTrying    a trial: the next few messages take another path. The first of them is not counted, because it finds the caches
//              as the path before has left them.
//
// A trial ends with the comparison of two medians, of the trial's messages and of the last ones before it, so that a message during which a
// process lost its core decides nothing. The other path must be faster by a margin, so that decisions are stable. What a trial has cost
// beyond the usual path is paid from what was earned; a path that is much slower is so tried seldom, and its trial ends after two messages.
// In the long run trials take at most that share of the time, and what the first ones of a class cost.
//
// When the times of the path in use have changed for good, for better or worse, something else is different: the program's habit
// with its buffers, or the cores. Then the other paths are tried at once, on account.
#pragma once

#include <array>
#include <cstdint>

namespace lapwing::net::shm {

enum class Path : std::uint8_t {
  kRing = 0,    // through the ring: the sender copies in, the receiver copies out
  kPull = 1,    // the receiver reads the sender's memory
  kShared = 2,  // both sides copy pieces from the sender's memory to the receiver's (shared_pull.h)
  kStream = 3,  // through the ring, past the sender's caches (streaming.h)
};
inline constexpr unsigned kPaths = 4;

// What a receiver tells a sender: a path for each class of sizes, four bits each.
Path path_in(std::uint64_t word, std::uint64_t bytes) noexcept;
const char* name_of(Path path) noexcept;

class PathSelection {
 public:
  static constexpr unsigned kClasses = 12;
  static constexpr std::uint64_t kSmallestClass = 16 * 1024;  // sizes below twice this are one class
  static unsigned class_of(std::uint64_t bytes) noexcept;

  // The paths that exist between the two ranks; the ring always does.
  void allow(Path path) noexcept { allowed_ |= 1u << static_cast<unsigned>(path); }
  // A path has failed, and is never taken again.
  void forbid(Path path) noexcept;
  bool allows(Path path) const noexcept { return (allowed_ >> static_cast<unsigned>(path) & 1u) != 0; }

  // What the next message of this class is to take.
  Path path(unsigned size_class) const noexcept;
  // What messages of this class take when nothing is tried.
  Path chosen(unsigned size_class) const noexcept { return classes_[size_class].chosen; }
  // All of path(), for path_in().
  std::uint64_t word() const noexcept;
  // A message of so many bytes has taken so many nanoseconds. True: path() is another now for some class.
  bool measured(Path path, std::uint64_t bytes, std::int64_t ns) noexcept;

  // Nanoseconds per byte, the median of the last messages; 0: none is known.
  double cost(unsigned size_class, Path path) const noexcept {
    return classes_[size_class].times[static_cast<unsigned>(path)].median();
  }
  struct Counters {
    std::uint64_t messages[kPaths] = {};
    std::uint64_t trials = 0, changes = 0;  // of what is usual
  };
  const Counters& counters() const noexcept { return counters_; }

 private:
  enum class State : std::uint8_t { kUntried, kSettled, kTrying };

  static constexpr unsigned kLateMessages = 64;  // a trial none of whose messages come within so many others is given up
  // A trial costs so much of the usual time of its messages at least: of paths that are level the other is tried every hundred messages.
  static constexpr double kLeastPrice = 0.3;

  class Times {
   public:
    void add(double ns_per_byte) noexcept;
    void assume(double ns_per_byte) noexcept { count_ = 0, add(ns_per_byte); }
    void forget() noexcept { count_ = 0; }
    unsigned count() const noexcept { return count_; }
    double median() const noexcept;
    double least() const noexcept;

   private:
    static constexpr unsigned kKept = 9;
    std::array<double, kKept> last_{};
    unsigned count_ = 0, next_ = 0;
  };

  struct SizeClass {
    State state = State::kUntried;
    Path chosen = Path::kRing, trial = Path::kRing, next = Path::kPull;
    unsigned seen = 0;  // messages of this trial; late ones of others
    unsigned late = 0;
    unsigned since_change = 0;  // messages
    double saved = 0;  // for trials; counted, as all that is paid, in messages on the usual path
    double settled_cost = 0;  // of the chosen path when it was last compared
    Times times[kPaths];
    Times& times_of(Path path) noexcept { return times[static_cast<unsigned>(path)]; }
  };

  unsigned nearest_tried(unsigned size_class) const noexcept;
  void begin(SizeClass& sizes, unsigned number) noexcept;
  double excess(const SizeClass& sizes, Path path) const noexcept;
  void go_on(SizeClass& sizes) noexcept;
  void notice_change(SizeClass& sizes) noexcept;
  void try_next(SizeClass& sizes) noexcept;
  void on_trial(SizeClass& sizes, double ns_per_byte) noexcept;
  void conclude(SizeClass& sizes) noexcept;

  unsigned allowed_ = 1;
  std::array<SizeClass, kClasses> classes_;
  Counters counters_;
};

}  // namespace lapwing::net::shm
