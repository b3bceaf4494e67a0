#include "net/ether/port.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "net/ether/next_hops.h"
#include "net/ether/own_source.h"
#include "net/ether/rights.h"
#include "net/ether/service_source.h"
#include "wire/packet_frame.h"
#include "wire/packet_seal.h"

namespace lapwing::net::ether {
namespace {

// What a packet of ours may have, headers of IP included: of one chunk, with what stands before it and behind it, or of as many as a slot may be.
constexpr std::size_t kBeside = 100;
constexpr std::size_t kMostInOnePiece = PacketSocket::kMostPieceBytes - kBeside, kMostInPieces = PacketSocket::kMostFrameBytes - kBeside;
static_assert(kMostInPieces <= wire::kMostFramedPacket);

std::size_t chunks_for(std::size_t bytes, std::size_t per_chunk) noexcept {
  return (bytes + per_chunk - 1) / per_chunk;
}

}  // namespace

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
  if (Status opened = socket_.open(*source_, order, std::size_t{interface_.mtu} > kMostInOnePiece); !opened.ok()) {
    socket_.close();
    return Status::error(MPI_ERR_OTHER, "%s: %s", interface_.name.c_str(), opened.text());
  }
  const std::size_t most = std::min(std::size_t{interface_.mtu}, socket_.in_pieces() ? kMostInPieces : kMostInOnePiece);
  contact_ = {interface_.mac, static_cast<std::uint16_t>(socket_.endpoint()), static_cast<unsigned>(most), interface_.network, endpoint.ether_type != 0,
              endpoint.udp_of(socket_.endpoint())};
  chunks_per_slot_ = static_cast<std::uint32_t>(chunks_for(kPacketAt + most, PacketSocket::kChunkBytes));
  open_ = true;
  return {};
}

void Port::begin() noexcept {
  source_->end_offer();
  socket_.begin();
  slots_.assign(socket_.send_chunks() / chunks_per_slot_, SlotState());
  for (auto slot = static_cast<Slot>(slots_.size()); slot-- > 0;) free_.push_back(slot);
}

void Port::close() noexcept {
  if (!open_) return;
  open_ = false;
  source_->leave(socket_.endpoint());
  socket_.close();
  source_.reset();
}

void Port::renew_next_hop(ProcessId peer) {
  const wire::UdpAddress to = ways_[peer.index].to();
  if (to.port == 0) return;
  NextHop hop;
  if (NextHops(interface_).find(to, hop) == NextHops::Outcome::kFound) set_udp(peer, hop.mac, to);
}

std::size_t Port::chunks_per_packet() const noexcept {
  return chunks_for(wire::kEthernetHeaderBytes + contact_.mtu, PacketSocket::kMostPieceBytes);
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
  slots_[room.slot].taken = true;
  free_.pop_back();
  return true;
}

void Port::give_back(Slot slot) noexcept {
  slots_[slot].taken = false;
  if (slots_[slot].leaving == 0) free_.push_back(slot);
}

void Port::reclaim() noexcept {
  for (PacketSocket::Chunk chunk; socket_.reclaim(chunk);) {
    const Slot slot = chunk / chunks_per_slot_;
    if (slot >= slots_.size() || slots_[slot].leaving == 0) continue;  // the kernel would not
    if (--slots_[slot].leaving == 0 && !slots_[slot].taken) free_.push_back(slot);
  }
}

// ---- sending --------------------------------------------------------------------------------------------------------

bool Port::can_send(Slot slot) noexcept {
  if (gone_) return true;
  if (slots_[slot].leaving != 0) reclaim();
  return slots_[slot].leaving == 0 && socket_.can_queue();
}

bool Port::send(ProcessId peer, Slot slot, std::size_t count) noexcept {
  if (gone_) return true;
  const wire::Encapsulation& way = ways_[peer.index];
  count += protection_ == Protection::kChecked ? wire::add_check(bytes(slot)) : 0;
  way.write(bytes(slot), count);
  const auto headers = static_cast<std::uint32_t>(way.bytes()), whole = static_cast<std::uint32_t>(headers + count);
  if (whole < kLeastFrame) std::memset(bytes(slot) + count, 0, kLeastFrame - whole);
  const std::uint32_t chunks = socket_.queue_send(chunk_of(slot), kPacketAt - headers, std::max(whole, kLeastFrame));
  slots_[slot].leaving = static_cast<std::uint8_t>(chunks);
  return true;
}

bool Port::flush(engine::SystemCalls& calls) noexcept {
  if (gone_ || !socket_.unsent()) return true;
  ++calls.sends;
  const int result = socket_.flush();
  if (result == ENXIO || result == ENODEV || result == EBADF) note_gone();
  return result == 0 || gone_;
}

bool Port::look(engine::SystemCalls& calls) noexcept {
  if (socket_.has_received()) return true;
  if (!socket_.busy_polls() || gone_) return false;
  ++calls.receives;
  socket_.run_driver();
  return socket_.has_received();
}

// What was on its way out never leaves, nor is it given back.
void Port::note_gone() noexcept {
  if (std::exchange(gone_, true)) return;
  reclaim();
  for (Slot slot = 0; slot < slots_.size(); ++slot) {
    const bool was_leaving = std::exchange(slots_[slot].leaving, std::uint8_t{0}) != 0;
    if (was_leaving && !slots_[slot].taken) free_.push_back(slot);
  }
}

}  // namespace lapwing::net::ether
