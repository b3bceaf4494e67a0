// The way to and from one peer: its packets (net/reliable/packet_link.h), and whether it is there. What ends it is judged here.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "net/ether/liveness.h"
#include "net/ether/port.h"
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
};

class Link {
 public:
  // `to`: the peer's endpoint, with this rank as source. `name`: "rank 3 on host node7". `place`: how it is reached.
  Link(LinkContext& context, PeerId peer, const wire::PacketAddress& to, std::string name, std::string place);

  reliable::PacketLink& packets() noexcept { return packets_; }
  const reliable::PacketLink& packets() const noexcept { return packets_; }
  void watch() noexcept { liveness_.watch(); }

  // A packet that is for this rank and from this peer.
  void take(const wire::PacketHeader& header, const std::byte* packet, std::int64_t now) noexcept;
  // As PacketLink's. Not from inside post().
  bool work(std::int64_t now) noexcept;
  std::int64_t deadline(std::int64_t now) const noexcept;
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
  void ask(std::int64_t now) noexcept;
  void lose(const Status& why) noexcept;
  void refuse(const char* rule) noexcept;
  void say_goodbye(std::uint8_t flags) noexcept;
  void tell_counters() const noexcept;

  static constexpr unsigned kSilentTimeouts = 4;

  LinkContext& context_;
  const PeerId peer_;
  const wire::PacketAddress to_;
  const std::string name_;
  const std::string place_;
  reliable::PacketLink packets_;
  Liveness liveness_;
};

// A probe for that endpoint, filled up to `least_bytes`.
bool send_probe(Port& port, PeerId peer, const wire::PacketAddress& to, const wire::PacketAddress& way_back, std::uint32_t number,
                std::size_t least_bytes = 0) noexcept;

}  // namespace lapwing::net::ether
