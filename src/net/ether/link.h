// The way to and from one peer: its packets (net/reliable/packet_link.h), and whether it is there. What ends it is judged here.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "net/ether/link_carrier.h"
#include "net/ether/liveness.h"
#include "net/ether/port.h"
#include "net/ether/way.h"
#include "net/reliable/packet_link.h"
#include "net/transport.h"

namespace lapwing::net::ether {

// What the links of a transport share.
struct LinkContext {
  const Sinks& sinks;
  Port& port;
  std::int64_t patience;         // LAPWING_PEER_TIMEOUT
  wire::PacketAddress own;       // where answers come back to; its source is a peer's matter
  std::string self;              // "rank 3 on host node7"
  bool goodbye_expected = false;
  DetourCounters detours{};
};

class Link {
 public:
  // `to`: the peer's endpoint, with this rank as source. `name`: "rank 3 on host node7". `place`: how it is reached.
  // `sealer`: of packets to it, or null. `detour`: by which its packets may travel instead, or null.
  Link(LinkContext& context, PeerId peer, const wire::PacketAddress& to, std::string name, std::string place, wire::PacketSealer* sealer,
       Transport* detour);
  ~Link();

  reliable::PacketLink& packets() noexcept { return packets_; }
  const reliable::PacketLink& packets() const noexcept { return packets_; }
  void watch() noexcept { liveness_.watch(); }

  // A packet that is for this rank and from this peer.
  void take(const wire::PacketHeader& header, const std::byte* packet, std::int64_t now) noexcept;
  // One that the detour has brought, or what is wrong with one.
  void take_diverted(const wire::PacketHeader& header, const std::byte* packet, std::int64_t now) noexcept;
  void refuse(const char* rule) noexcept;
  bool diverted() const noexcept { return carrier_.diverted(); }
  // As PacketLink's. Not from inside post().
  bool work(std::int64_t now) noexcept;
  std::int64_t deadline(std::int64_t now) const noexcept;
  // Its packets travel by the detour from now on, or where there is none the peer is lost.
  void interface_lost(const Status& why) noexcept;
  // Another transport has lost the peer.
  void abandon(const Status& why) noexcept;
  void close() noexcept;
  // The peer is known to be lost.
  void give_up(const Status& why) noexcept {
    if (packets_.open()) lose(why);
  }

  // In the transport's lists.
  bool listed = false, touched = false;

 private:
  bool silent() const noexcept { return packets_.sender().silent_timeouts() >= kSilentTimeouts; }
  void take_goodbye(const wire::PacketHeader& header, std::int64_t now) noexcept;
  bool follow_way(std::int64_t now) noexcept;
  bool may_divert() const noexcept { return detour_ != nullptr && detour_->is_met(peer_); }
  bool should_divert() const noexcept { return way_.on_detour() && may_divert(); }
  bool is_amiss() const noexcept { return silent() || way_.in_doubt() || (way_.closed() && !diverted()); }
  void tell_way() noexcept;
  void ask(std::int64_t now) noexcept;
  void ask_again(std::int64_t now) noexcept;
  void probe_again() noexcept;
  Status why_gone() const noexcept;
  void lose(const Status& why) noexcept;
  void say_goodbye(std::uint8_t flags) noexcept;
  void tell_counters() const noexcept;

  static constexpr unsigned kSilentTimeouts = 4;

  LinkContext& context_;
  const PeerId peer_;
  const wire::PacketAddress to_;
  const std::string name_;
  const std::string place_;
  Transport* const detour_;
  LinkCarrier carrier_;
  reliable::PacketLink packets_;
  Liveness liveness_;
  Way way_;
  reliable::PacketCarrier::Room probe_{};  // of those on the detour, one at a time: where the interface is down they stay here
  bool has_probe_ = false;
  bool told_of_detour_ = false;
};

// A probe for that endpoint, filled up to `least_bytes`.
bool send_probe(Port& port, PeerId peer, const wire::PacketAddress& to, const wire::PacketAddress& way_back, std::uint32_t number,
                std::size_t least_bytes) noexcept;

}  // namespace lapwing::net::ether
