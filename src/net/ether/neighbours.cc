#include "net/ether/neighbours.h"

#include <algorithm>
#include <ctime>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "net/ether/link.h"
#include "wire/little_endian.h"

namespace lapwing::net::ether {
namespace {

constexpr int kRounds = 5, kFirstByUdp = 2;
constexpr std::int64_t kPerRound = 10'000'000;  // ns
constexpr std::size_t kMostEarly = 4096;        // packets; what comes beyond is sent again
// IPv4 promises no datagram more than this, and Ethernet has more. What a card says may be less, and no packet has room in that.
constexpr std::size_t kLeastPacket = 576;
// What is asked for where longer probes are not answered: what any Ethernet takes, and what most tunnels leave of it.
constexpr unsigned kEthernetMtu = 1500, kTunnelMtu = 1280;
constexpr int kLongestFor = 2, kEthernetFor = 4;  // rounds

// Packets that this host's interface sends come back to it from no switch.
bool may_reach_raw(const Contact& peer, const Contact& own) noexcept {
  return peer.raw && own.raw && peer.network == own.network && peer.mac != own.mac;
}
bool may_reach_udp(const Contact& peer, const Contact& own) noexcept {
  return peer.udp.port != 0 && own.udp.port != 0 && peer.udp.address != own.udp.address && peer.mac != own.mac;
}

// Of a packet, on a way with this MTU.
std::size_t bytes_of(unsigned mtu, wire::Framing by) noexcept {
  return mtu - (by == wire::Framing::kUdp ? wire::kUdpHeadersBytes : 0);
}

void pause(long ns) noexcept {
  const timespec moment{0, ns};
  nanosleep(&moment, nullptr);
}

std::uint64_t tag_of(const wire::JobKey& key, const char* text, std::size_t length) noexcept {
  std::byte proof[wire::kProofBytes];
  key.authenticate(reinterpret_cast<const std::byte*>(text), length, proof);
  return wire::load_little<std::uint64_t>(proof);
}

}  // namespace

std::uint64_t job_tag(const wire::JobKey& key) noexcept {
  constexpr std::string_view kText = "lapwing receive queues";
  return tag_of(key, kText.data(), kText.size());
}

std::uint64_t endpoint_tag(const wire::JobKey& key, std::uint32_t rank, Protection protection) noexcept {
  char text[48];
  const bool plain = protection == Protection::kPlain;
  const int length = std::snprintf(text, sizeof text, "lapwing %s%sendpoint %u", plain ? "" : name_of(protection), plain ? "" : " ", rank);
  return tag_of(key, text, static_cast<std::size_t>(length));
}

Status Neighbours::read(const wire::CardBook& cards, ProcessId self, const Contact& own, const wire::JobKey& key, Protection protection) {
  all_.assign(cards.size(), Neighbour());
  own_mtu_ = own.mtu;
  wire::Card card;
  for (ProcessId peer; peer.index < all_.size(); ++peer.index) {
    LAPWING_TRY(cards.read(peer.index, card));
    Neighbour& neighbour = all_[peer.index];
    if (peer == self || !card.has("ether")) continue;
    if (!decode_contact(card.get("ether"), neighbour.contact))
      return Status::error(MPI_ERR_OTHER, "the card of rank %u is damaged: \"%s\" is no Ethernet endpoint", peer.index, card.get("ether").c_str());
    if (protection == Protection::kSealed && !card.has(kPacketKeyKey)) continue;  // it seals none
    if (protection == Protection::kSealed && !wire::decode_packet_key(card.get(kPacketKeyKey), neighbour.key))
      return Status::error(MPI_ERR_OTHER, "the card of rank %u is damaged: \"%s\" is no public key", peer.index, card.get(kPacketKeyKey).c_str());
    neighbour.takes_frames = card.has(kPacketFramesKey);
    neighbour.mtu = std::min(own.mtu, neighbour.contact.mtu);
    const bool has_room = neighbour.mtu >= kLeastPacket;
    neighbour.raw = has_room && may_reach_raw(neighbour.contact, own);
    neighbour.udp = has_room && may_reach_udp(neighbour.contact, own);
    neighbour.tag = endpoint_tag(key, peer.index, protection);
  }
  return {};
}

wire::PacketAddress Neighbours::address(ProcessId peer, ProcessId self) const noexcept {
  return {all_[peer.index].contact.endpoint, self.index, all_[peer.index].tag};
}

std::string Neighbours::place(ProcessId peer) const {
  const Neighbour& neighbour = all_[peer.index];
  if (neighbour.framing == wire::Framing::kRaw) return text_of(neighbour.contact.mac) + ", straight on Ethernet";
  return wire::text_of(neighbour.contact.udp) + ", by UDP by way of " + text_of(neighbour.next_hop);
}

std::size_t Neighbours::most_bytes() const noexcept {
  std::size_t least = own_mtu_;
  for (const Neighbour& neighbour : all_) {
    if (neighbour.present) least = std::min(least, bytes_of(neighbour.mtu, neighbour.framing));
  }
  return least;
}

// ---- whom packets reach ---------------------------------------------------------------------------------------------

bool Neighbours::Neighbour::asks_raw(int round) const noexcept {
  return !present && raw && round < kRounds;
}
bool Neighbours::Neighbour::asks_udp(int round) const noexcept {
  const int first = raw ? kFirstByUdp : 0;
  return !present && udp && round >= first && round < first + kRounds;
}
unsigned Neighbours::Neighbour::mtu_asked(wire::Framing by, int round) const noexcept {
  const int asked = by == wire::Framing::kUdp && raw ? round - kFirstByUdp : round;
  return asked < kLongestFor ? mtu : std::min(mtu, asked < kEthernetFor ? kEthernetMtu : kTunnelMtu);
}

void Neighbours::probe(Port& port, ProcessId self, wire::PacketAddress own) noexcept {
  SteadyClock clock;
  NextHops hops(port.interface());
  missing_ = static_cast<std::size_t>(std::count_if(all_.begin(), all_.end(), [](const Neighbour& neighbour) { return neighbour.known(); }));
  for (int round = 0; missing_ != 0; ++round) {
    find_ways(hops, round);
    if (!ask_all(port, self, own, round)) break;
    const std::int64_t end = clock.now() + kPerRound;
    while (missing_ != 0 && clock.now() < end) {
      if (!hear(port, own.tag)) pause(50'000);
    }
  }
  // One that has not answered may have had an answer from here, and wants what it sends acknowledged.
  for (ProcessId peer; peer.index < all_.size(); ++peer.index) {
    const Neighbour& neighbour = all_[peer.index];
    set_way(port, peer, !neighbour.present && neighbour.found ? wire::Framing::kUdp : neighbour.framing);
  }
}

// False: nobody is left to be asked.
bool Neighbours::ask_all(Port& port, ProcessId self, wire::PacketAddress own, int round) noexcept {
  engine::SystemCalls calls;
  bool asked = false;
  for (ProcessId peer; peer.index < all_.size(); ++peer.index) {
    const Neighbour& neighbour = all_[peer.index];
    own.source = peer.index;
    const auto ask = [&](wire::Framing by) {
      asked = true;
      set_way(port, peer, by);
      const std::size_t bytes = bytes_of(neighbour.mtu_asked(by, round), by);
      if (!send_probe(port, peer, address(peer, self), own, static_cast<std::uint32_t>(round), bytes)) port.flush(calls);
    };
    if (neighbour.asks_raw(round)) ask(wire::Framing::kRaw);
    if (neighbour.asks_udp(round) && neighbour.found) ask(wire::Framing::kUdp);
  }
  port.flush(calls);
  return asked;
}

void Neighbours::set_way(Port& port, ProcessId peer, wire::Framing by) const noexcept {
  const Neighbour& neighbour = all_[peer.index];
  if (by == wire::Framing::kUdp) return port.set_udp(peer, neighbour.next_hop, neighbour.contact.udp);
  port.set_raw(peer, neighbour.contact.mac);
}

// Of those that are asked by UDP in this round. The kernel looks for all of them at once, which takes it a fraction of a millisecond where they
// are there.
void Neighbours::find_ways(NextHops& hops, int round) {
  const int tries = round == 0 || round == kFirstByUdp ? 40 : 1;
  bool looking = true;
  for (int tried = 0; tried < tries && std::exchange(looking, false); ++tried) {
    if (tried != 0) pause(500'000);
    for (Neighbour& neighbour : all_) {
      if (neighbour.asks_udp(round) && !neighbour.found) looking |= find_way(hops, neighbour);
    }
  }
}

// True: the kernel looks for it.
bool Neighbours::find_way(NextHops& hops, Neighbour& neighbour) {
  NextHop hop;
  const NextHops::Outcome outcome = hops.find(neighbour.contact.udp, hop);
  neighbour.found = outcome == NextHops::Outcome::kFound;
  neighbour.next_hop = hop.mac;
  if (neighbour.found && hop.mtu >= kLeastPacket) neighbour.mtu = std::min(neighbour.mtu, hop.mtu);
  return outcome == NextHops::Outcome::kLooking;
}

void Neighbours::note_present(Neighbour& neighbour, wire::Framing by, std::uint32_t round) noexcept {
  if (std::exchange(neighbour.present, true)) return;
  neighbour.framing = by;
  neighbour.mtu = neighbour.mtu_asked(by, static_cast<int>(std::min<std::uint32_t>(round, kRounds + kFirstByUdp)));
  --missing_;
}

bool Neighbours::hear(Port& port, std::uint64_t own_tag) noexcept {
  if (!port.has_received()) return false;
  const auto [framing, packet] = port.received();
  wire::PacketHeader header;
  if (!wire::decode_header(packet.data(), packet.size(), header).ok() || header.to.tag != own_tag || !known({header.to.source})) {
    // A stranger's.
  } else if (header.kind == wire::PacketKind::kPresent) {
    note_present(all_[header.to.source], framing, header.number);
  } else if (early_.size() < kMostEarly) {
    early_.emplace_back(packet.begin(), packet.end());
  }
  port.pop();
  port.return_memory();
  return true;
}

}  // namespace lapwing::net::ether
