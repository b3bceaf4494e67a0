// The peers that packets reach: those whose cards tell of an endpoint, and that answer a probe there. The kernel of their hosts answers, so it does
// not matter what they do just then. A peer that is reached by no packet, or whose NIC brings packets to another queue than its endpoint's, is not
// one.
//
// One on the same network is asked straight on Ethernet first, and from the third time on by UDP as well: the way of the first answer is taken.
// Others are asked by UDP alone. Probes are as long as the longest packet that may follow, because on the way there may be links, or a switch, that
// take less and tell nobody; those that are not answered are followed by shorter ones, and an answer tells which one it is to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/process_id.h"
#include "base/protection.h"
#include "base/status.h"
#include "net/ether/next_hops.h"
#include "net/ether/port.h"
#include "wire/card_book.h"
#include "wire/handshake.h"
#include "wire/packet.h"
#include "wire/packet_keys.h"

namespace lapwing::net::ether {

// In the card of a rank that takes packets as frames of another transport as well.
inline constexpr const char* kPacketFramesKey = "packets";
// In the card of a rank whose packets are sealed: its public key (wire/packet_keys.h).
inline constexpr const char* kPacketKeyKey = "packet_key";

// What only ranks of the job know of an endpoint: the first 8 bytes of an HMAC with the job's secret. Of another protection it is another one, so
// that ranks that do not agree about it do not reach each other here; the handshake of TCP then says so.
std::uint64_t endpoint_tag(const wire::JobKey& key, std::uint32_t rank, Protection protection) noexcept;
// What only ranks of the job know of it, by which they know each other's receive queues.
std::uint64_t job_tag(const wire::JobKey& key) noexcept;

class Neighbours {
 public:
  // Reads the cards. An error when one is damaged.
  Status read(const wire::CardBook& cards, ProcessId self, const Contact& own, const wire::JobKey& key, Protection protection);
  // Asks all of them, and waits for answers for some hundredths of a second at most. `own`: where answers come back to.
  void probe(Port& port, ProcessId self, wire::PacketAddress own) noexcept;

  // It has a card, and may send.
  bool known(ProcessId peer) const noexcept { return peer.index < all_.size() && all_[peer.index].known(); }
  // It has answered.
  bool present(ProcessId peer) const noexcept { return peer.index < all_.size() && all_[peer.index].present; }
  // It takes packets as frames, too.
  bool takes_frames(ProcessId peer) const noexcept { return known(peer) && all_[peer.index].takes_frames; }
  // "02:00:00:00:00:01, straight on Ethernet"
  std::string place(ProcessId peer) const;
  wire::PacketAddress address(ProcessId peer, ProcessId self) const noexcept;
  // Where packets are sealed.
  const wire::PacketKeys::Public& key(ProcessId peer) const noexcept { return all_[peer.index].key; }
  // Of a packet, that all who are present take.
  std::size_t most_bytes() const noexcept;
  // Packets of peers that had begun already and came before their answers, in their order. Were they dropped, their senders would notice only after
  // the first time-out, of 6 ms, and take the network for one that loses packets.
  const std::vector<std::vector<std::byte>>& early() const noexcept { return early_; }
  void forget_early() noexcept { early_ = {}; }

 private:
  struct Neighbour {
    bool raw = false, udp = false;  // it can be asked so
    bool takes_frames = false;
    bool present = false;
    wire::Framing framing = wire::Framing::kRaw;  // by which it has answered
    unsigned mtu = 0;                             // of the way to it
    Mac next_hop{};                               // of datagrams, where it has been found
    bool found = false;
    Contact contact;
    std::uint64_t tag = 0;
    wire::PacketKeys::Public key;

    bool known() const noexcept { return raw || udp; }
    // Whether it is asked so in this round.
    bool asks_raw(int round) const noexcept;
    bool asks_udp(int round) const noexcept;
    // The MTU that the probe of this round is for.
    unsigned mtu_asked(wire::Framing by, int round) const noexcept;
  };
  bool ask_all(Port& port, ProcessId self, wire::PacketAddress own, int round) noexcept;
  void set_way(Port& port, ProcessId peer, wire::Framing by) const noexcept;
  void find_ways(NextHops& hops, int round);
  bool find_way(NextHops& hops, Neighbour& neighbour);
  void note_present(Neighbour& neighbour, wire::Framing by, std::uint32_t round) noexcept;
  bool hear(Port& port, std::uint64_t own_tag) noexcept;

  std::vector<Neighbour> all_;
  unsigned own_mtu_ = 0;
  std::vector<std::vector<std::byte>> early_;
  std::size_t missing_ = 0;  // answers
};

}  // namespace lapwing::net::ether
