// The packets of one direction that are not known to have come: which may be sent now, which are lost and sent again, and when to ask what became of
// them. Pure: it sees no bytes and has no clock. Its owner keeps each packet, in a slot of its own, until arrived() gives the slot back.
//
//   state        what it means
//   kWaiting     has not been sent, or was lost: it may be sent as soon as window, credit and pace allow. Lost ones go first
//   kUnderWay    was sent, and nothing is known of it
//   kArrived     the peer has it; it only waits for the ones before it
//
// Lost is what was sent three transmissions before one that has arrived, or an eighth of a round trip (RFC 9002, 6.1; with numbers that stay a
// packet's own, and a count of transmissions beside them, of which the peer tells the latest). Where nothing comes back for a time-out the oldest
// packet is sent again and asks for an answer; the time-out doubles each time.
//
// Cost: constant per packet and per acknowledgement, but for the bits of its bitmap.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <vector>

#include "net/reliable/congestion.h"
#include "net/reliable/loss_meter.h"
#include "net/reliable/pacer.h"
#include "net/reliable/round_trip.h"
#include "wire/packet.h"

namespace lapwing::net::reliable {

class PacketSender {
 public:
  using Slot = std::uint32_t;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  struct Counters {
    std::uint64_t sent = 0, sent_again = 0, probes = 0, lost = 0;
  };

  // ---- packets on their way out ----

  // The number of a new packet, which waits behind all others.
  std::uint64_t add(Slot slot);
  bool full() const noexcept { return packets_.size() >= wire::kMostPacketsUnderWay; }
  bool empty() const noexcept { return packets_.empty(); }
  // Those that were never sent.
  std::size_t waiting() const noexcept { return static_cast<std::size_t>(end() - unsent_); }
  // The first of them; packets before it have been sent.
  std::uint64_t unsent() const noexcept { return unsent_; }
  std::size_t under_way() const noexcept { return under_way_; }
  // A new packet could leave now.
  bool may_send(std::int64_t now) const noexcept { return lost_.empty() && unsent_ < allowed_ && window_open() && pacer_.next(now) <= now; }

  struct Turn {
    std::uint64_t number;
    std::uint32_t transmission;
    Slot slot;
    bool asks;  // for an acknowledgement now: nothing follows that would have one
  };
  // The packet that may be sent now; false: none.
  bool next(std::int64_t now, Turn& turn) noexcept;
  // The packet that next() gave has left. If it could not leave now, nothing is said, and next() gives it again.
  void sent(std::uint64_t number, std::int64_t now) noexcept;
  // next() would give something but for the pace, at this time; kNever: it is something else that is waited for.
  std::int64_t paced_until(std::int64_t now) const noexcept;

  // ---- what the peer says ----

  // Null, or the rule that is broken. Slots of packets that need not be kept are added to `freed`.
  const char* acknowledge(std::uint32_t before, std::uint32_t heard, std::span<const std::uint64_t> map, std::int64_t now, std::vector<Slot>& freed);
  void allow(std::uint32_t credit) noexcept;

  // ---- time ----

  // When expired() wants to be called; kNever: not as things stand.
  std::int64_t deadline() const noexcept;
  void expired(std::int64_t now) noexcept;
  // How often in a row it was in vain.
  unsigned silent_timeouts() const noexcept { return backoff_; }
  // Since when nothing has come back, though it was asked for.
  std::int64_t silent_since() const noexcept { return heard_at_; }

  // The oldest packet is sent again, and asks, as after a time-out; time-outs count from here, as the first one.
  void ask_now(std::int64_t now) noexcept;

  // All slots, when nothing will be sent any more.
  void give_up(std::vector<Slot>& freed);

  const Counters& counters() const noexcept { return counters_; }
  const Congestion& congestion() const noexcept { return congestion_; }
  const LossMeter& loss() const noexcept { return loss_; }
  // Not one of our packets.
  void lost_elsewhere() noexcept { loss_.lost(1); }
  const RoundTrip& round_trip() const noexcept { return round_trip_; }

 private:
  enum class State : std::uint8_t { kWaiting, kUnderWay, kArrived };
  struct Packet {
    std::uint64_t transmission;  // the last one's count
    Slot slot;
    State state;
  };
  struct Transmission {
    std::uint64_t number;
    std::int64_t sent_at;
  };

  Packet& at(std::uint64_t number) noexcept { return packets_[static_cast<std::size_t>(number - first_)]; }
  std::uint64_t end() const noexcept { return first_ + packets_.size(); }
  bool window_open() const noexcept { return static_cast<double>(under_way_) < congestion_.window(); }
  bool has_candidate() const noexcept { return !lost_.empty() || (unsent_ < end() && unsent_ < allowed_); }
  bool arrived(std::uint64_t number) noexcept;
  std::uint64_t take_map(std::span<const std::uint64_t> map) noexcept;
  void hear(std::uint32_t transmission, std::int64_t now) noexcept;
  void judge(std::uint64_t fresh, std::int64_t now) noexcept;
  void find_lost(std::int64_t now) noexcept;
  bool stale(const Transmission& transmission, std::uint64_t count) noexcept;
  void lose(std::uint64_t number) noexcept;

  RoundTrip round_trip_;
  LossMeter loss_;
  Congestion congestion_{static_cast<double>(wire::kMostPacketsUnderWay)};
  Pacer pacer_;
  std::deque<Packet> packets_;             // from first_ on
  std::deque<Transmission> transmissions_;  // the last ones, in their order; those of packets that have arrived or were sent again are stale
  std::deque<std::uint64_t> lost_;         // waiting to be sent again, or arrived meanwhile
  std::uint64_t first_ = 0;                // the oldest that is kept
  std::uint64_t unsent_ = 0;               // the first that was never sent
  std::uint64_t allowed_;                  // packets before it may be sent
  std::size_t under_way_ = 0;
  std::uint64_t count_ = 0;                // of transmissions
  std::uint64_t heard_ = 0;                // the latest transmission that has come
  std::uint64_t cut_until_ = 0;            // losses among packets before it have cut the window
  std::int64_t sent_at_ = 0, heard_at_ = 0;
  std::int64_t reordered_until_ = kNever;  // when the oldest under way counts as lost, though too few have overtaken it
  unsigned backoff_ = 0;
  bool probe_ = false;                     // the oldest packet is to be sent whatever the window says
  Counters counters_;

 public:
  PacketSender() noexcept : allowed_(kFirstCredit) {}
  // What every peer takes, before it has said more.
  static constexpr std::uint64_t kFirstCredit = 64;
};

}  // namespace lapwing::net::reliable
