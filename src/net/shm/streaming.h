// How the sender copies long frames into the ring: through its caches, or past them. Between cores that share a cache the first takes half the
// time of the second; where each line has to come from the cache of a distant core, it takes twice as long. Only the clock tells which
// cores these are, and they change while a program runs: so the receiver measures, and chooses as among paths (path_selection.h).
//
// The time of a frame runs from the moment when its header is seen while the rest is not there yet, or from the end of the frame before it,
// until its last byte is copied out. A frame of which more than half is there when the receiver comes tells little, and is not counted.
//
// To time a frame takes two looks at the clock and one at how far the ring is written, which the sender then has to fetch back: a tenth of the time of
// 8 KiB. So of frames below kLong that went through the caches all are timed until many have been (kAtFirst), and later one part in four, some in
// a row.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/bulk_copy.h"
#include "base/memory_order.h"
#include "base/tuning.h"
#include "net/shm/path_selection.h"

namespace lapwing::net::shm {

class Streaming {
 public:
  // Words of frames from the peer, and of frames to it.
  void attach(std::atomic<std::uint64_t>& in, std::atomic<std::uint64_t>& out) noexcept { in_ = &in, out_ = &out; }

  // The sender: whether a frame of so much payload is to go past the caches. What is too short to be timed goes as the shortest that is timed.
  bool chosen_for(std::uint64_t payload) const noexcept {
    return kCanStream && payload >= tuning().shm_least_past_caches && path_in(load_relaxed(*out_), payload) == Path::kStream;
  }

  // The receiver, once for each frame: whether it is to be timed.
  bool times(std::uint64_t payload, bool streamed) noexcept {
    if (!kCanStream || payload < PathSelection::kSmallestClass) return false;
    if (payload >= kLong || streamed) return true;
    if (frames_ >= kAtFirst + kRound) frames_ = kAtFirst;
    return frames_++ < kAtFirst + kRound / 4;
  }
  // The header is there, `present` bytes of the payload too.
  void begin(std::int64_t now, bool streamed, std::uint64_t payload, std::uint64_t present) noexcept;
  void end(std::int64_t now, std::uint64_t payload);

  const PathSelection* selection() const noexcept { return selection_.get(); }

  static constexpr std::uint64_t kLong = 64 * 1024;
  static constexpr unsigned kAtFirst = 1024, kRound = 64;

 private:
  std::atomic<std::uint64_t>* in_ = nullptr;
  std::atomic<std::uint64_t>* out_ = nullptr;
  std::unique_ptr<PathSelection> selection_;  // from the first frame on that is timed
  std::int64_t began_ = 0;
  unsigned frames_ = 0;        // below kLong, through the caches; a round after the other from kAtFirst on
  std::uint64_t present_ = 0;  // bytes of this frame when it began
  bool streamed_ = false;
};

}  // namespace lapwing::net::shm
