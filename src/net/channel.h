// The numbers of a reliable channel between two processes: which frame comes next, and which have come. Pure; one side of one
// pair. Frames carry the low halves of the numbers (wire/frame.h), which is enough as long as fewer than 2^31 are under way.
#pragma once

#include <cinttypes>
#include <cstdint>

#include "base/status.h"
#include "wire/frame.h"

namespace lapwing::net {

class Channel {
 public:
  // Numbers a frame that leaves, and acknowledges what has come.
  void stamp(wire::FrameHeader& header) noexcept {
    header.number(static_cast<std::uint32_t>(sent_++), static_cast<std::uint32_t>(received_));
  }
  // A header has come. The text of an error says which rule it breaks.
  Status accept(const wire::FrameHeader& header) {
    const auto due = static_cast<std::uint32_t>(received_);
    if (header.sequence() != due) [[unlikely]]
      return Status::error(MPI_ERR_OTHER, "frame %" PRIu32 " arrived where frame %" PRIu32 " was due",
                           header.sequence(), due);
    const std::uint32_t fresh = header.acknowledgement() - static_cast<std::uint32_t>(acknowledged_);
    if (fresh > sent_ - acknowledged_) [[unlikely]]
      return Status::error(MPI_ERR_OTHER, "it acknowledges %" PRIu32 " frames more than it was sent",
                           fresh - static_cast<std::uint32_t>(sent_ - acknowledged_));
    acknowledged_ += fresh;
    return {};
  }
  // The frame whose header was accepted last is here whole.
  void receive() noexcept { ++received_; }

  std::uint64_t sent() const noexcept { return sent_; }
  std::uint64_t received() const noexcept { return received_; }
  // So many of the frames sent are with the layers above, at the peer.
  std::uint64_t acknowledged() const noexcept { return acknowledged_; }

 private:
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t acknowledged_ = 0;
};

}  // namespace lapwing::net
