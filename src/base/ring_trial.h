// How a writer fills a ring that another core reads, so that it takes least time on this machine, between these cores:
//
//   short laps    it begins at the front again as soon as it may, and stays in lines that are in the caches
//   whole laps    it goes through all of the ring, and comes back to a line when the reader's caches have given it up
//   past caches   in short laps too, by stores that fetch no line (streaming_copy); the reader has to fetch them from memory
//
// Which one it is differs with the processor and with the distance of the two cores, and that changes while a program runs. On AMD's Zen 4, for
// 64 KiB, in and out: where both cores share a level-two cache 1.2 + 1.2, 1.5 + 1.2 and 3.5 + 5.6 us; where they share but the last level a store
// into a line that the other core still has waits until that one has let it go, 7 + 1.8, 1.7 + 1.8 and 2.1 + 5.6; between distant cores
// 28 + 3.7, some 20 + 4 and 2.0 + 5.5. So what differs is the writer's part, but for lines that are fetched from memory; and those the writer
// can fetch as well as the reader can. Therefore the writer finds out alone, from the time of its own copies:
//
//   rest      it goes on as was best in the last trial; by short laps at first
//   settle    it goes one of the ways, until the caches are as that way leaves them: whole laps for one lap, in which the memory may be touched for
//             the first time
//   measure   the time of copies is taken that way, a window of some copies at a time, with that of reading them again where they went past the
//             caches. When this has been done for all ways, beginning with the usual one, the best one is the usual one
//
// Of windows the median counts, because the core may be lost in the middle of a copy. A way other than short laps must be faster by a quarter to be
// taken, because whole laps take room in the caches that the program may need, and is given up when it is not faster at all. Each rest is
// four times as long as the one before, up to a bound, so that trials are some percent of what is copied.
//
// All this is of messages and posts of kLeast bytes and more: of shorter ones most stays in the core's store buffer, so that their copies tell nothing, and short
// laps are as good. They go by those, and are not told of.
//
// Pure: it knows no time and moves no byte.
#pragma once

#include <array>
#include <cstdint>

namespace lapwing {

class RingTrial {
 public:
  enum class Way : std::uint8_t { kShortLaps, kWholeLaps, kPastCaches };
  // Of a ring of so many bytes; one that is too small for a difference is never tried. `past_caches`: the writer can do that.
  explicit RingTrial(std::uint64_t ring = 0, bool past_caches = false) noexcept : ring_(ring), ways_(past_caches ? 3 : 2) {}

  // The way of the next copy.
  Way way() const noexcept { return way_; }
  // Whether the time of the next copy is to be told.
  bool timing() const noexcept { return phase_ == Phase::kMeasure; }
  // A copy into the ring that was not timed.
  void copied(std::uint64_t bytes) noexcept {
    if (left_ > bytes) [[likely]]
      left_ -= bytes;
    else if (!timing() && ring_ >= kLeastRing)
      end_phase();
  }
  // A copy that was, with its time in any unit; if it went past the caches, with the time of reading it too.
  void timed(std::uint64_t bytes, double time) noexcept;

  static constexpr std::uint64_t kLeast = 8192;  // which may be copied in pieces
  static constexpr std::uint64_t kLeastRing = 512 * 1024;
  static constexpr unsigned kWindows = 9;
  static constexpr std::uint64_t kWindowBytes = 64 * 1024;
  static constexpr std::uint64_t kFirstRest = 4 << 20, kLongestRest = 256 << 20;
  static constexpr std::uint64_t kSettle = 256 * 1024;  // but for whole laps

 private:
  static constexpr unsigned kWays = 3;
  enum class Phase : std::uint8_t { kRest, kSettle, kMeasure };
  void end_phase() noexcept;
  void go(unsigned tried) noexcept;
  void decide() noexcept;

  std::uint64_t ring_;
  std::uint64_t left_ = kFirstRest;  // bytes until a rest or a settling ends
  std::uint64_t rest_ = kFirstRest;
  unsigned ways_;
  unsigned tried_ = 0;  // ways, of this trial
  Phase phase_ = Phase::kRest;
  Way usual_ = Way::kShortLaps, way_ = Way::kShortLaps;

  unsigned windows_ = 0;  // complete ones of this measurement
  std::uint64_t window_bytes_ = 0;
  double window_time_ = 0;
  std::array<double, kWindows> times_{};  // per byte
  std::array<double, kWays> costs_{};
};

}  // namespace lapwing
