// One side of what two ranks say to each other over a carrier of packets: frames go in order, each once, whole (net/transport.h), though packets
// are lost, doubled and reordered. Its parts, all pure; this class puts them together, and has no clock and no descriptor either:
//
//   frame_cutter.h      frames that are posted, cut into packets
//   packet_sender.h     which packet may be sent, which is lost, when to ask (congestion.h, pacer.h, round_trip.h)
//   packet_receiver.h   which packets have come, and what the peer is told
//   frame_intake.h      frames out of packets
//
//   state       what it means
//   kOpen       frames go both ways
//   kFinished   the peer has said goodbye, and had nothing more to say; or this side has closed. Posts fail
//   kLost       the peer is gone, or broke a rule. Posts fail
//
// Everything is called with the endpoint's lock held. Sinks and on_taken are called from take(), work() and the functions that end it, never from
// post().
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "net/reliable/frame_cutter.h"
#include "net/reliable/frame_intake.h"
#include "net/reliable/packet_carrier.h"
#include "net/reliable/packet_receiver.h"
#include "net/reliable/packet_sender.h"
#include "net/transport.h"
#include "wire/packet.h"

namespace lapwing::net::reliable {

class PacketLink {
 public:
  enum class State { kOpen, kFinished, kLost };
  static constexpr std::int64_t kNever = PacketSender::kNever;

  // `to`: the peer's endpoint, and this rank as the source.
  PacketLink(const Sinks& sinks, PacketCarrier& carrier, PeerId peer, const wire::PacketAddress& to) noexcept
      : sinks_(sinks), carrier_(carrier), peer_(peer), to_(to), intake_(sinks_, peer) {}

  State state() const noexcept { return state_; }
  bool open() const noexcept { return state_ == State::kOpen; }

  // ---- frames out ----

  // While it is open. True: the frame is taken whole, which is when all its packets have left: where no thread of this process drives any more, a
  // frame that is taken still comes, unless one of them is lost.
  bool post(SendOp& op, std::int64_t now) noexcept;
  // A frame that fits one packet, if nothing is before it and there is room. False: nothing has happened.
  bool send_now(const wire::FrameHeader& header, const std::byte* payload, std::int64_t now) noexcept;
  // Nothing is left that the peer is not known to have.
  bool flushed() const noexcept { return cutter_.empty() && sender_.empty(); }

  // ---- packets in ----

  // Of kData or kAcknowledge, from this peer. Null, or the rule that it breaks.
  const char* take(const wire::PacketHeader& header, const std::byte* packet, std::int64_t now) noexcept;
  // The peer sends again and again what has come: the way back to it may be lost.
  bool unheard() const noexcept { return receiver_.again_in_a_row() >= kMostAgain; }
  // What every header says, of another kind.
  const char* take_acknowledgement(const wire::PacketHeader& header, std::span<const std::uint64_t> map, std::int64_t now) noexcept;

  // ---- when something has changed, or time has passed ----

  // Sends what may be sent, and acknowledges what must be now. True when something moved.
  bool work(std::int64_t now) noexcept;
  bool owes() const noexcept { return receiver_.owes(); }
  // Acknowledges now, if anything is owed.
  void acknowledge(std::int64_t now) noexcept;
  // When work() has something to do though no packet comes.
  std::int64_t deadline(std::int64_t now) const noexcept;

  // The carrier sends by another way from now on, where nothing of what was under way may have come: work() asks at once what has, instead of after a
  // time-out that has grown meanwhile.
  void way_changed(std::int64_t now) noexcept;

  // How many packets this rank has memory for, from this peer.
  void set_window(std::uint64_t packets) noexcept { window_ = packets; }

  // Another way to the peer has sent so many packets again, since its connection was made, and is to carry so many bytes now. That counts as a loss
  // where it has happened before within kNear bytes: a fast network overflows now and then, and is the faster way all the same.
  void heed_resent(std::uint32_t packets, std::uint64_t bytes) noexcept {
    if (std::exchange(resent_elsewhere_, packets) != packets && packets != 0) {  // 0: a new connection
      if (since_resent_ < kNear) sender_.lost_elsewhere();
      since_resent_ = 0;
    }
    since_resent_ += std::min(bytes, kNear);
  }

  // ---- the end ----

  // Posted frames end with `why`; sinks hear of it unless `quietly`.
  void end(State state, const Status& why, bool quietly) noexcept;
  const Status& why() const noexcept { return why_; }
  // A frame is half here, or not all that came before it.
  bool incomplete() const noexcept { return intake_.half_received() != nullptr || intake_.kept() != 0; }
  // A packet that only says this; false: there is no room for it now.
  bool send_control(wire::PacketKind kind, std::uint8_t flags) noexcept;

  const PacketSender& sender() const noexcept { return sender_; }
  // Packets are lost in one of the directions. (Where few are sent in a row a sender does not know why it had to ask; the receiver of the other
  // direction does.) Those that another way to the peer has lost count as well.
  bool lossy() const noexcept { return sender_.loss().lossy() || receiver_.loss().lossy(); }

 private:
  // Packets that are built ahead of what may be sent: so many that a poll finds enough, so few that they are still in the cache when they leave.
  static constexpr std::size_t kBuiltAhead = 64;
  static constexpr std::uint64_t kNear = 3'000'000;  // some 2000 packets: two losses of one in a thousand are nearer, mostly
  static constexpr unsigned kMostAgain = 4;
  static constexpr std::int64_t kAcknowledgeAfter = RoundTrip::kLatestAcknowledgement / 2;

  bool may_build() const noexcept { return !sender_.full() && sender_.waiting() < kBuiltAhead; }
  void build(const PacketCarrier::Room& room, std::uint16_t bytes) noexcept;
  bool cut() noexcept;
  bool has_left(const SendOp& op) const noexcept { return op.transport_progress <= sender_.unsent(); }
  bool tell_left() noexcept;
  bool send_packets(std::int64_t now) noexcept;
  std::uint32_t credit() noexcept { return receiver_.credit(window_); }
  void free_slots() noexcept;

  const Sinks sinks_;
  PacketCarrier& carrier_;
  const PeerId peer_;
  const wire::PacketAddress to_;
  State state_ = State::kOpen;
  Status why_;
  FrameCutter cutter_;
  IntrusiveList<SendOp> leaving_;  // cut whole, and not taken: packets of theirs were never sent. transport_progress: the packets up to their end
  PacketSender sender_;
  PacketReceiver receiver_;
  FrameIntake intake_;
  std::vector<PacketSender::Slot> freed_;
  std::uint64_t window_ = 64;
  std::uint32_t resent_elsewhere_ = 0;
  std::uint64_t since_resent_ = kNear;  // bytes
  std::int64_t owing_since_ = 0;
  bool blocked_ = false;  // the carrier did not take what may be sent
};

}  // namespace lapwing::net::reliable
