#include "net/ether/port.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "net/ether/next_hops.h"
#include "net/ether/own_source.h"
#include "net/ether/rights.h"
#include "net/ether/service_source.h"
#include "wire/packet_seal.h"

namespace lapwing::net::ether {

// A process that lacks rights may have enough of them: only one that shares what another has attached needs them all. So it tries, but the service
// first.
Status Port::open(const Interface& interface, const QueueOrder& order, Endpoint endpoint, const std::string& accelerator) {
  interface_ = interface;
  ether_type_ = endpoint.ether_type;
  Status by_service;
  if (const std::string lacking = lacking_rights(); !lacking.empty()) {
    by_service = accelerator.empty() ? Status::error(MPI_ERR_OTHER, "LAPWING_ACCELERATOR names no service")
                                     : open_socket(std::make_unique<ServiceSource>(accelerator, interface, endpoint), order, endpoint);
    if (by_service.ok()) return {};
    by_service = Status::error(MPI_ERR_OTHER, "this process lacks %s, and %s", lacking.c_str(), by_service.text());
  }
  Status by_itself = open_socket(std::make_unique<OwnSource>(interface, endpoint), order, endpoint);
  return by_itself.ok() || by_service.ok() ? std::move(by_itself) : std::move(by_service);
}

Status Port::open_socket(std::unique_ptr<SocketSource> source, const QueueOrder& order, const Endpoint& endpoint) {
  source_ = std::move(source);
  if (Status opened = socket_.open(*source_, order); !opened.ok()) {
    socket_.close();
    return Status::error(MPI_ERR_OTHER, "%s: %s", interface_.name.c_str(), opened.text());
  }
  const std::uint32_t queue = socket_.queue();
  contact_ = {interface_.mac, static_cast<std::uint16_t>(queue), interface_.mtu, interface_.network, endpoint.ether_type != 0,
              endpoint.udp_of(queue)};
  states_.assign(PacketSocket::kSendChunks, 0);
  for (Slot slot = PacketSocket::kSendChunks; slot-- > 0;) free_.push_back(slot);
  open_ = true;
  return {};
}

void Port::close() noexcept {
  if (!open_) return;
  open_ = false;
  source_->leave(socket_.queue());
  socket_.close();
  source_.reset();
}

void Port::renew_next_hop(ProcessId peer) {
  const wire::UdpAddress to = ways_[peer.index].to();
  if (to.port == 0) return;
  NextHop hop;
  if (NextHops(interface_).find(to, hop) == NextHops::Outcome::kFound) set_udp(peer, hop.mac, to);
}

std::size_t Port::trailer_bytes() const noexcept {
  switch (protection_) {
    case Protection::kPlain:
      return 0;
    case Protection::kChecked:
      return wire::kPacketCheckBytes;
    case Protection::kSealed:
      break;
  }
  return wire::kPacketSealBytes;
}

// ---- memory of packets ----------------------------------------------------------------------------------------------

bool Port::take_leaving(std::size_t others, Room& room) noexcept {
  if (free_.size() <= others) reclaim();
  if (free_.size() <= others) return false;
  room = {free_.back(), bytes(free_.back())};
  states_[room.slot] = kTaken;
  free_.pop_back();
  return true;
}

void Port::give_back(Slot slot) noexcept {
  states_[slot] &= kLeaving;
  if (states_[slot] == 0) free_.push_back(slot);
}

void Port::reclaim() noexcept {
  for (PacketSocket::Chunk chunk; socket_.reclaim(chunk);) {
    if (chunk >= states_.size()) continue;  // the kernel would not
    states_[chunk] &= kTaken;
    if (states_[chunk] == 0) free_.push_back(chunk);
  }
}

// ---- sending --------------------------------------------------------------------------------------------------------

bool Port::can_send(Slot slot) noexcept {
  if (gone_) return true;
  if ((states_[slot] & kLeaving) != 0) reclaim();
  return (states_[slot] & kLeaving) == 0 && socket_.can_queue();
}

bool Port::send(ProcessId peer, Slot slot, std::size_t count) noexcept {
  if (gone_) return true;
  const wire::Encapsulation& way = ways_[peer.index];
  count += protection_ == Protection::kChecked ? wire::add_check(bytes(slot)) : 0;
  way.write(bytes(slot), count);
  const auto headers = static_cast<std::uint32_t>(way.bytes()), whole = static_cast<std::uint32_t>(headers + count);
  if (whole < kLeastFrame) std::memset(bytes(slot) + count, 0, kLeastFrame - whole);
  states_[slot] |= kLeaving;
  socket_.queue_send(slot, kPacketAt - headers, std::max(whole, kLeastFrame));
  return true;
}

bool Port::flush(engine::SystemCalls& calls) noexcept {
  if (gone_ || !socket_.unsent()) return true;
  ++calls.sends;
  const int result = socket_.flush();
  if (result == ENXIO || result == ENODEV || result == EBADF) note_gone();
  return result == 0 || gone_;
}

// What was on its way out never leaves, nor is it given back.
void Port::note_gone() noexcept {
  if (std::exchange(gone_, true)) return;
  reclaim();
  for (Slot slot = 0; slot < states_.size(); ++slot) {
    const bool was_leaving = (states_[slot] & kLeaving) != 0;
    states_[slot] &= kTaken;
    if (was_leaving && states_[slot] == 0) free_.push_back(slot);
  }
}

}  // namespace lapwing::net::ether
