// How a writer fills a ring that another core reads, so that it takes least time on this machine, between these cores:
//
//   short laps    it begins at the front again as soon as it may, and stays in lines that are in the caches
//   whole laps    it goes through all of the ring, or as much of it as its owner says, and comes back to a line when the reader's caches have given
//                 it up
//   past caches   in short laps too, by stores that fetch no line (streaming_copy); the reader has to fetch them from memory
//   claimed       in short laps, and the reader writes a word into each line that it has read. So the line is the reader's alone, and the writer's
//                 next store fetches it in one step, instead of having copies in other caches given up
//
// Which one it is differs with the processor and with the distance of the two cores, and that changes while a program runs. On AMD's Zen 4, for
// 64 KiB, in and out: where both cores share a level-two cache 1.2 + 1.2, 1.5 + 1.2 and 3.5 + 5.6 us; where they share but the last level a store
// into a line that the other core still has waits until that one has let it go, 7 + 1.8, 1.7 + 1.8 and 2.1 + 5.6; between distant cores
// 28 + 3.7, some 20 + 4 and 2.0 + 5.5. So what differs is the writer's part, but for lines that are fetched from memory; and those the writer
// can fetch as well as the reader can. Therefore the writer finds out alone, from the time of its own copies. The ranks of an area read as well, from
// rings that are filled the same way at the same time: there the time of reading counts too, because whole laps through many rings may not fit the
// caches. A writer that reads nothing itself reads again what it has written past the caches, and that time is divided among the readers, which
// work at the same time. (One that reads from others would bring the lines into caches where those find them, and measure what is not so
// afterwards.) A trial goes so:
//
//   rest      it goes on as was best in the last trial; by short laps at first
//   settle    it goes one of the ways, until the caches are as that way leaves them: whole laps for one lap, in which the memory may be touched for
//             the first time; and claims for as long, where the reader may lag so that the writer goes through all of the ring anyway
//   measure   the time of copies is taken that way, a window of some copies at a time, with that of reading them again where they went past the
//             caches. When this has been done for all ways, beginning with the usual one, the best one is the usual one
//
// Of windows the median counts, because the core may be lost in the middle of a copy. A way other than short laps must be faster by a quarter to be
// taken, because whole laps take room in the caches that the program may need, and is given up when it is not faster at all. But claims are
// given up only where short laps without them are faster by a quarter: where the program's messages are so long that they go through the whole ring,
// both seem to be as fast, and shorter messages took up to eight times as long without claims until the next trial. Each rest is
// several times as long as the one before, up to a bound, so that trials are some percent of what is copied.
//
// A trial that cannot be won is soon over, because a program may not have many more calls. A way of which each of the first windows takes twice the
// usual one's time is left at once. What whole laps save is the wait of a store until the reader has let its line go; and in them a ring's memory is
// touched for the first time, which costs one to three milliseconds. So they are not gone where the stores of short laps take less than twice as long
// as into memory of the writer's own, as between cores that share a level-two cache. (Stores past the caches do not wait either, but tell nothing of
// it: on a fifth-generation Intel Xeon they take longer than those of short laps, which take two to three times as long as those of whole ones.)
//
// There are two trials (RingTrials). One is whether short laps are claimed. The first comes soon, because it costs next to nothing where they are
// not claimed yet: 16 KiB between distant cores 9 us, or claimed 3. Where they are, all of a ring goes the slower way before that can be
// measured, as long as 32 messages of 64 KiB; so the others come late, and later still after a trial that claims have won by half. The words cost
// the reader less than the writer gains, where that gains a quarter. The other trial is of long messages and posts, of kLeast bytes and more, and between short laps, claimed if the first trial said so,
// and the two other ways. It costs some milliseconds, in which memory is touched for the first time and each way is gone for megabytes, and
// brings a tenth where claims have been won. There it comes late: copies that are claimed count for a small part. Where another way than short
// laps wins it, long ones go that way and are not claimed. Times are taken until the bytes have left the core's store buffer, in which most of a
// short copy is when it ends. Those of less than kLeastClaimed bytes are lost in the noise: they stay in short laps, and are not told of. (Between two
// ranks they are always claimed: net/shm/ring.h.)
//
// What else is tried by time, in the same calls, must not meet such a trial (pause()): or what one of them does is counted for the other.
//
// Pure: it knows no time and moves no byte.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace lapwing {

class RingTrial {
 public:
  enum class Way : std::uint8_t { kShortLaps, kWholeLaps, kPastCaches, kClaimed };
  // How much is copied in its parts, in bytes.
  struct Terms {
    std::uint64_t first_rest, longest_rest, settle, window;
    std::uint64_t growth;     // so many times as long as the one before is each rest
    std::uint64_t rings;      // and the first one at least so many times as long as the ring

    constexpr std::uint64_t first(std::uint64_t ring) const noexcept { return std::max(first_rest, rings * ring); }
  };
  // Whole laps settle for one of them. To touch that much memory for the first time takes as long as to copy some two to four times as much: so what
  // a first trial costs has nearly been spent before, and a loop of few calls does not pay for it. (In an area every reader touches it as well: with three
  // ranks that cost twice as much as had been spent. Rests of 8 and 16 rings moved that to longer messages, and saved nothing in the mean.)
  static constexpr Terms kOfLong{2 << 20, 128 << 20, 128 * 1024, 16 * 1024, 4, 2};
  static constexpr Terms kOfClaims{256 * 1024, 256 << 20, 256 * 1024, 16 * 1024, 16, 0};

  // Of long messages, in a ring of so many bytes, for so many readers; one that is too small for a difference is never tried. `past_caches`: the
  // writer can do that.
  explicit RingTrial(std::uint64_t ring = 0, bool past_caches = false, unsigned readers = 1) noexcept
      : RingTrial(kOfLong, ring, past_caches ? 3 : 2, {Way::kShortLaps, past_caches ? Way::kPastCaches : Way::kWholeLaps, Way::kWholeLaps}) {
    readers_ = readers;
  }
  // Of claims. `lags`: the reader may.
  static RingTrial of_claims(std::uint64_t ring, bool lags = false) noexcept {
    RingTrial trial{kOfClaims, ring, 2, {Way::kShortLaps, Way::kClaimed}};
    trial.lags_ = lags;
    return trial;
  }

  // The way of the next copy.
  Way way() const noexcept { return way_; }
  // The one that was best in the last trial.
  Way usual() const noexcept { return ways_[usual_]; }
  // Whether the time of the next copy is to be told, until its bytes have left the store buffer.
  bool timing() const noexcept { return phase_ == Phase::kMeasure; }
  // Whether the first trial is still to come to its end.
  bool is_undecided() const noexcept { return ring_ >= kLeastRing && rest_ == terms_->first(ring_); }
  // Whether a trial is under way.
  bool under_way() const noexcept { return phase_ != Phase::kRest; }
  // A copy into the ring that was not timed.
  void copied(std::uint64_t bytes) noexcept {
    if (left_ > bytes) [[likely]]
      left_ -= bytes;
    else if (!timing() && ring_ >= kLeastRing)
      end_phase();
  }
  // A copy that was, with its time in any unit; if it went past the caches, the time of reading it again too.
  void timed(std::uint64_t bytes, double writing, double again = 0) noexcept;
  // Whether private_copy() is to be told, for the copy just timed, what a byte of it takes on its way into memory that no other core reads.
  bool wants_private() const noexcept { return timing() && tried_ == 0 && ways_[1] != Way::kClaimed; }
  void private_copy(double time_per_byte) noexcept { private_ = private_ == 0 ? time_per_byte : std::min(private_, time_per_byte); }
  // While timing(): of reading what other writers have copied. Counts in the window that is open, whose next copy may end it.
  void has_read(double time) noexcept {
    window_.reading += time;
    reads_ = true;
  }
  // Whether what goes past the caches is to be read again, and the time of that told.
  bool reads_again() const noexcept { return timing() && !reads_; }
  // What was under way is as if it had just been begun: its copies have gone another way meanwhile.
  void begin_again() noexcept {
    if (under_way()) go(tried_);
  }

  static constexpr std::uint64_t kLeast = 8192;  // of a long one, which may be copied in pieces
  static constexpr std::uint64_t kLeastClaimed = 2048;
  static constexpr std::uint64_t kLeastRing = 512 * 1024;
  static constexpr unsigned kWindows = 9;
  static constexpr unsigned kFirstWindows = 3;  // of a way that may be left after them

 private:
  static constexpr unsigned kMostWays = 3;
  using Ways = std::array<Way, kMostWays>;
  enum class Phase : std::uint8_t { kRest, kSettle, kMeasure };
  RingTrial(const Terms& terms, std::uint64_t ring, unsigned count, Ways ways) noexcept
      : terms_(&terms), ring_(ring), left_(terms.first(ring)), rest_(terms.first(ring)), count_(count), ways_(ways) {}
  // What copies take: writing, reading what others have copied, and reading again what went past the caches.
  struct Times {
    double writing = 0, reading = 0, again = 0;
  };
  // All that counts, and writing alone.
  struct Cost {
    double all = 0, writing = 0;
  };
  // The ways in the order of a trial: the usual one, and then the others.
  unsigned nth(unsigned tried) const noexcept { return tried == 0 ? usual_ : tried <= usual_ ? tried - 1 : tried; }
  bool is_lost() const noexcept;
  bool may_win(unsigned way) const noexcept;
  void end_phase() noexcept;
  void go(unsigned tried) noexcept;
  void go_next() noexcept;
  void decide() noexcept;

  const Terms* terms_;
  std::uint64_t ring_;
  std::uint64_t left_;  // bytes until a rest or a settling ends
  std::uint64_t rest_;
  unsigned count_;  // of ways
  bool lags_ = false;
  bool reads_ = false;  // has_read() has been told since this trial began
  unsigned readers_ = 1;
  Ways ways_;
  unsigned tried_ = 0;  // ways, of this trial
  Phase phase_ = Phase::kRest;
  unsigned usual_ = 0;  // among ways_
  Way way_ = Way::kShortLaps;

  unsigned windows_ = 0;  // complete ones of this measurement
  std::uint64_t window_bytes_ = 0;
  Times window_;
  std::array<Cost, kWindows> measured_{};  // per byte
  std::array<Cost, kMostWays> costs_{};
  double private_ = 0;  // the least; 0: none is known
};

// Both trials of a ring. Messages and posts have so many bytes in all, and are copied in one piece or several.
class RingTrials {
 public:
  using Way = RingTrial::Way;
  struct Ring {
    std::uint64_t bytes = 0;   // of a whole lap
    bool past_caches = false;  // the writer can go past the caches
    bool claims = true;        // the reader can claim lines
    bool lags = false;         // the reader may be a ring behind
    unsigned readers = 1;
  };
  RingTrials() noexcept : RingTrials(Ring{}) {}
  explicit RingTrials(const Ring& ring) noexcept
      : laps_(ring.bytes, ring.past_caches, ring.readers), claims_(RingTrial::of_claims(ring.claims ? ring.bytes : 0, ring.lags)) {}

  // The way of such a message.
  Way way(std::uint64_t message) const noexcept {
    if (message < RingTrial::kLeastClaimed) return Way::kShortLaps;
    if (!goes_by_laps(message)) return paused_ ? claims_.usual() : claims_.way();
    return way_of_laps() == Way::kShortLaps ? claims_.usual() : way_of_laps();
  }
  // Whether it goes a way that is tried.
  bool tries(std::uint64_t message) const noexcept {
    if (message < RingTrial::kLeastClaimed || paused_) return false;
    return goes_by_laps(message) ? laps_.under_way() : claims_.under_way();
  }
  // The trial that is to be told of its copies; null: none.
  RingTrial* of(std::uint64_t message) noexcept {
    if (message < RingTrial::kLeastClaimed || paused_) return nullptr;
    return goes_by_laps(message) ? &laps_ : &claims_;
  }
  // After each copy: long ones bring the trial of laps nearer, whichever of the two was told, when it is known whether lines are to be claimed.
  void count(std::uint64_t message, std::uint64_t bytes) noexcept {
    if (message < RingTrial::kLeast || paused_ || goes_by_laps(message) || claims_.is_undecided()) return;
    laps_.copied(claims_.usual() == Way::kClaimed ? bytes / kClaimedPerCounted : bytes);
  }
  // Whether it is known if short laps are claimed, and no trial of that is under way: what is compared with the ring before is compared with another
  // one than is used afterwards.
  bool knows_claims() const noexcept { return !claims_.is_undecided() && !claims_.under_way(); }
  // Whether the first trial of that has not begun.
  bool never_tried_claims() const noexcept { return claims_.is_undecided() && !claims_.under_way(); }
  // So many bytes went past the caches, because somebody else has found that faster. They bring the next trial of claims nearer, but slowly: it
  // costs megabytes that go the slower way.
  void count_streamed(std::uint64_t bytes) noexcept {
    if (!claims_.under_way()) claims_.copied(bytes / kStreamedPerCounted);
  }
  // Whether has_read() is to be told how long this process reads what others have posted.
  bool times_reading() const noexcept { return !paused_ && laps_.timing(); }
  void has_read(double time) noexcept { laps_.has_read(time); }
  // Until the end of a pause all goes as was best in the last trials, and no trial goes on.
  void pause(bool paused) noexcept {
    if (paused == paused_) return;
    paused_ = paused;
    laps_.begin_again();
    claims_.begin_again();
  }

 private:
  Way way_of_laps() const noexcept { return paused_ ? laps_.usual() : laps_.way(); }
  bool goes_by_laps(std::uint64_t message) const noexcept {
    return message >= RingTrial::kLeast && ((!paused_ && laps_.under_way()) || way_of_laps() != Way::kShortLaps);
  }

  // The trial comes after 512 MiB of them, some 0.1 s of copying: so its milliseconds, and the memory it touches, are some percent even of a first time
  // that brings nothing.
  static constexpr std::uint64_t kClaimedPerCounted = 128;
  static constexpr std::uint64_t kStreamedPerCounted = 16;

  RingTrial laps_, claims_;
  bool paused_ = false;
};

}  // namespace lapwing
