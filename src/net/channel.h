// The reliable channel between two processes: which frame comes next, which have come, and where to go on when a link broke and
// another stands in its place. Pure; one side of one pair. It keeps no frames: what it says must be sent again, its owner has kept
// (docs/transports.md, Channels). Frames carry the low halves of the numbers (wire/frame.h), which is enough as long as fewer than
// 2^31 are under way.
//
//   state    what it means                                       what its owner does with a frame
//   kFresh   no link has stood yet                                keeps it
//   kUp      a link stands                                        stamps and sends it
//   kDown    the link broke; another one may go on from there     keeps it
//   kOver    goodbye was said, or the peer was given up           completes it with an error
//
// test/model/channel_test.cc breaks and mends links between any two steps of two such sides.
#pragma once

#include <cinttypes>
#include <cstdint>

#include "base/status.h"
#include "wire/frame.h"

namespace lapwing::net {

class Channel {
 public:
  enum class State : std::uint64_t { kFresh, kUp, kDown, kOver };

  State state() const noexcept { return state_; }

  // A link stands, and the peer expects this frame next: from there on frames are sent (again). The text of an error says why that
  // cannot be.
  Status up(std::uint64_t peer_expects) {
    if (peer_expects < acknowledged_ || peer_expects > sent_)
      return Status::error(MPI_ERR_OTHER,
                           "it expects frame %" PRIu64 " next, and this rank can send those from %" PRIu64
                           " to %" PRIu64 " again",
                           peer_expects, acknowledged_, sent_);
    acknowledged_ = next_ = peer_expects;
    told_ = received_;  // by the handshake
    state_ = State::kUp;
    return {};
  }
  // The link broke. What had not come whole has not come.
  void down() noexcept {
    if (state_ == State::kUp) state_ = State::kDown;
  }
  void end() noexcept { state_ = State::kOver; }

  // Numbers a frame that leaves, a new one or one that is sent again, and acknowledges what has come.
  void stamp(wire::FrameHeader& header) noexcept {
    header.number(static_cast<std::uint32_t>(next_++), static_cast<std::uint32_t>(received_));
    told_ = received_;
    if (next_ > sent_) sent_ = next_;
  }
  // A header has come. The text of an error says which rule it breaks.
  Status accept(const wire::FrameHeader& header) {
    const wire::FrameHeader::Numbers numbers = header.numbers();
    const auto due = static_cast<std::uint32_t>(received_);
    if (numbers.sequence != due) [[unlikely]]
      return Status::error(MPI_ERR_OTHER, "frame %" PRIu32 " arrived where frame %" PRIu32 " was due", numbers.sequence, due);
    const std::uint32_t fresh = numbers.acknowledgement - static_cast<std::uint32_t>(acknowledged_);
    if (fresh > next_ - acknowledged_) [[unlikely]]
      return Status::error(MPI_ERR_OTHER, "it acknowledges %" PRIu32 " frames more than it was sent",
                           fresh - static_cast<std::uint32_t>(next_ - acknowledged_));
    acknowledged_ += fresh;
    if ((header.flags() & wire::kFlagAcknowledge) != 0) {
      if (received_ >= asked_) owed_ = asked_;
      asked_ = received_ + 1;
    }
    return {};
  }
  // The frame whose header was accepted last is here whole.
  void receive() noexcept { ++received_; }

  // The peer has asked to be told of a frame that has come whole, and has not been told.
  bool owes_acknowledgement() const noexcept { return (received_ >= asked_ ? asked_ : owed_) > told_; }

  // The number of the next frame to leave. Below sent(): it is sent again.
  std::uint64_t next() const noexcept { return next_; }
  std::uint64_t sent() const noexcept { return sent_; }
  // What the peer is told to go on from.
  std::uint64_t received() const noexcept { return received_; }
  // So many of the frames sent have been delivered, and need not be kept.
  std::uint64_t acknowledged() const noexcept { return acknowledged_; }

 private:
  std::uint64_t next_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t asked_ = 0;  // up to here the peer would be told what has come
  std::uint64_t owed_ = 0;   // up to here it asked before that, of frames that have come whole
  std::uint64_t told_ = 0;   // up to here it has been, by the frame that was numbered last
  State state_ = State::kFresh;
};

}  // namespace lapwing::net
