#include "net/ether/neighbours.h"

#include <algorithm>
#include <ctime>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "net/ether/link.h"
#include "wire/little_endian.h"

namespace lapwing::net::ether {
namespace {

constexpr int kRounds = 5;
constexpr std::int64_t kPerRound = 10'000'000;  // ns
constexpr std::size_t kMostEarly = 4096;        // packets; what comes beyond is sent again

// Packets that this host's interface sends come back to it from no switch.
bool may_reach(const Contact& peer, const Interface& own) noexcept {
  return peer.network == own.network && peer.mac != own.mac;
}

}  // namespace

std::uint64_t endpoint_tag(const wire::JobKey& key, std::uint32_t rank, bool checked) noexcept {
  char text[48];
  const int length = std::snprintf(text, sizeof text, "lapwing %sendpoint %u", checked ? "checked " : "", rank);
  std::byte proof[wire::kProofBytes];
  key.authenticate(reinterpret_cast<const std::byte*>(text), static_cast<std::size_t>(length), proof);
  return wire::load_little<std::uint64_t>(proof);
}

Status Neighbours::read(const wire::CardBook& cards, ProcessId self, const Interface& interface, const wire::JobKey& key, bool checked) {
  all_.assign(cards.size(), Neighbour());
  least_mtu_ = interface.mtu;
  wire::Card card;
  for (ProcessId peer; peer.index < all_.size(); ++peer.index) {
    LAPWING_TRY(cards.read(peer.index, card));
    Neighbour& neighbour = all_[peer.index];
    if (peer == self || !card.has("ether")) continue;
    if (!decode_contact(card.get("ether"), neighbour.contact))
      return Status::error(MPI_ERR_OTHER, "the card of rank %u is damaged: \"%s\" is no Ethernet endpoint", peer.index, card.get("ether").c_str());
    neighbour.known = may_reach(neighbour.contact, interface);
    neighbour.tag = endpoint_tag(key, peer.index, checked);
    if (neighbour.known) least_mtu_ = std::min(least_mtu_, neighbour.contact.mtu);
  }
  return {};
}

wire::PacketAddress Neighbours::address(ProcessId peer, ProcessId self) const noexcept {
  return {all_[peer.index].contact.queue, self.index, all_[peer.index].tag};
}

void Neighbours::probe(Port& port, ProcessId self, wire::PacketAddress own) noexcept {
  SteadyClock clock;
  engine::SystemCalls calls;
  missing_ = static_cast<std::size_t>(std::count_if(all_.begin(), all_.end(), [](const Neighbour& neighbour) { return neighbour.known; }));
  for (int round = 0; round < kRounds && missing_ != 0; ++round) {
    for (ProcessId peer; peer.index < all_.size(); ++peer.index) {
      if (!known(peer) || present(peer)) continue;
      own.source = peer.index;
      if (!send_probe(port, peer, address(peer, self), own, static_cast<std::uint32_t>(round))) port.flush(calls);
    }
    port.flush(calls);
    const std::int64_t end = clock.now() + kPerRound;
    while (missing_ != 0 && clock.now() < end) {
      if (hear(port, own.tag)) continue;
      constexpr timespec kMoment{0, 50'000};
      nanosleep(&kMoment, nullptr);
    }
  }
}

bool Neighbours::hear(Port& port, std::uint64_t own_tag) noexcept {
  if (!port.has_received()) return false;
  const std::span<const std::byte> packet = port.received();
  wire::PacketHeader header;
  if (!wire::decode(packet.data(), packet.size(), header).ok() || header.to.tag != own_tag || !known({header.to.source})) {
    // A stranger's.
  } else if (header.kind == wire::PacketKind::kPresent) {
    missing_ -= std::exchange(all_[header.to.source].present, true) ? 0 : 1;
  } else if (early_.size() < kMostEarly) {
    early_.emplace_back(packet.begin(), packet.end());
  }
  port.pop();
  port.return_memory();
  return true;
}

}  // namespace lapwing::net::ether
