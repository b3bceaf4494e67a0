// One frame whose payload is arriving: it lands in contiguous or in scattered memory, or nowhere, as its sink has said. Pure; written
// once for all transports.
//
// A stream appends: the next bytes are copied in, or read straight into segments(). A carrier of packets places: parts come in any
// order, some of them twice, and each byte lands once. A frame is filled in one of the two ways. Several frames, each with an assembly of its own,
// may land in one walk at a time.
//
// Cost: append() is one copy. place() looks through the parts beyond the first gap, of which at most kMostParts are remembered.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/bulk_copy.h"
#include "net/transport.h"

namespace lapwing::net {

class Assembly {
 public:
  static constexpr std::size_t kMostParts = 1024;

  void begin(const Landing& landing, std::uint64_t payload_bytes) noexcept {
    landing_ = landing;
    const bool dropped = landing.base == nullptr && landing.walk == nullptr;
    landing_.accepted = dropped ? 0 : std::min(landing.accepted, payload_bytes);
    payload_bytes_ = payload_bytes;
    front_ = 0;
    origin_ = landing.walk != nullptr ? landing.walk->position() : 0;
    under_way_ = true;
  }
  // The frame will come once more, to the same landing, and what has come of it does not count. Others may land in its walk before that.
  void interrupt() noexcept {
    end();
    front_ = 0;
  }
  // It comes again.
  void resume() noexcept { under_way_ = true; }
  // The frame is over: complete, or given up.
  void end() noexcept {
    under_way_ = false;
    parts_.clear();
  }

  bool under_way() const noexcept { return under_way_; }
  bool complete() const noexcept { return front_ == payload_bytes_; }
  // Bytes before the first gap.
  std::uint64_t front() const noexcept { return front_; }
  std::uint64_t missing() const noexcept { return payload_bytes_ - front_; }
  const Landing& landing() const noexcept { return landing_; }

  // The next bytes, at most missing(); returns how many of them the landing takes. To contiguous memory `copy`, which is like memcpy, moves them,
  // unless they are there (net/kernel/zone.h).
  std::size_t append(const std::byte* bytes, std::uint64_t count) noexcept { return append(bytes, count, bulk_copy); }
  template <class Copy>
  std::size_t append(const std::byte* bytes, std::uint64_t count, Copy&& copy) noexcept {
    std::size_t kept = 0;
    if (front_ < landing_.accepted) {
      kept = static_cast<std::size_t>(std::min(count, landing_.accepted - front_));
      if (landing_.base == nullptr)
        walk_to_front().scatter(bytes, kept);
      else if (!are_there(bytes))
        copy(landing_.base + front_, bytes, kept);
    }
    front_ += count;
    return kept;
  }
  // Whether these, which come next, are where they land.
  bool are_there(const std::byte* bytes) const noexcept { return landing_.base != nullptr && landing_.base + front_ == bytes; }
  // Where the next bytes go, if at least `least` of them go to memory that they can be read into: at most `capacity` segments with
  // `bytes` in all. None: append() them.
  std::size_t segments(iovec* segments, std::size_t capacity, std::uint64_t least, std::uint64_t& bytes) noexcept;
  // So many bytes are in those.
  void filled(std::uint64_t bytes) noexcept {
    if (landing_.base == nullptr) landing_.walk->advance(bytes);
    front_ += bytes;
  }

  // A part of the payload. False, and nothing has happened, when it is not within the payload, or when there are too many gaps.
  bool place(std::uint64_t offset, const std::byte* bytes, std::uint64_t count);

 private:
  struct Part {
    std::uint64_t begin, end;
  };
  // Another frame may have landed in the same walk meanwhile.
  ByteWalk& walk_to_front() noexcept {
    if (landing_.walk->position() != origin_ + front_) landing_.walk->seek(origin_ + front_);
    return *landing_.walk;
  }
  void put(std::uint64_t offset, const std::byte* bytes, std::uint64_t count) noexcept;
  void remember(Part part);

  Landing landing_;
  std::uint64_t payload_bytes_ = 0;
  std::uint64_t front_ = 0;
  bool under_way_ = false;
  std::uint64_t origin_ = 0;  // of the frame in the landing's walk
  std::vector<Part> parts_;   // beyond the first gap; ascending, none touches another
};

}  // namespace lapwing::net
