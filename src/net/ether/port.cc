#include "net/ether/port.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "net/ether/own_source.h"
#include "net/ether/rights.h"
#include "net/ether/service_source.h"

namespace lapwing::net::ether {

// A process that lacks rights may have enough of them: only one that shares what another has attached needs them all. So it tries, but the service
// first.
Status Port::open(const Interface& interface, const QueueOrder& order, Endpoint endpoint, const std::string& accelerator) {
  interface_ = interface;
  ether_type_ = htons(endpoint.ether_type);
  Status by_service;
  if (const std::string lacking = lacking_rights(); !lacking.empty()) {
    by_service = accelerator.empty() ? Status::error(MPI_ERR_OTHER, "LAPWING_ACCELERATOR names no service")
                                     : open_socket(std::make_unique<ServiceSource>(accelerator, interface, endpoint), order);
    if (by_service.ok()) return {};
    by_service = Status::error(MPI_ERR_OTHER, "this process lacks %s, and %s", lacking.c_str(), by_service.text());
  }
  Status by_itself = open_socket(std::make_unique<OwnSource>(interface, endpoint), order);
  return by_itself.ok() || by_service.ok() ? std::move(by_itself) : std::move(by_service);
}

Status Port::open_socket(std::unique_ptr<SocketSource> source, const QueueOrder& order) {
  source_ = std::move(source);
  if (Status opened = socket_.open(*source_, order); !opened.ok()) {
    socket_.close();
    return Status::error(MPI_ERR_OTHER, "%s: %s", interface_.name.c_str(), opened.text());
  }
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

Contact Port::contact() const {
  return {interface_.mac, static_cast<std::uint16_t>(socket_.queue()), interface_.mtu, interface_.network};
}

// ---- memory of packets ----------------------------------------------------------------------------------------------

bool Port::take(Room& room) noexcept {
  if (free_.empty()) reclaim();
  if (free_.empty()) return false;
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
  if ((states_[slot] & kLeaving) != 0) reclaim();
  return (states_[slot] & kLeaving) == 0 && socket_.can_queue();
}

void Port::send(ProcessId peer, Slot slot, std::size_t count) noexcept {
  std::byte* frame = bytes(slot) - kEthernetBytes;
  std::memcpy(frame, neighbours_[peer.index].data(), sizeof(Mac));
  std::memcpy(frame + sizeof(Mac), interface_.mac.data(), sizeof(Mac));
  std::memcpy(frame + 2 * sizeof(Mac), &ether_type_, sizeof ether_type_);
  auto whole = static_cast<std::uint32_t>(kEthernetBytes + count + (checked_ ? wire::add_check(bytes(slot)) : 0));
  if (whole < kLeastFrame) std::memset(frame + whole, 0, kLeastFrame - whole);
  states_[slot] |= kLeaving;
  socket_.queue_send(slot, kPacketAt - kEthernetBytes, std::max(whole, kLeastFrame));
}

bool Port::flush(engine::SystemCalls& calls) noexcept {
  if (!socket_.unsent()) return true;
  ++calls.sends;
  const int result = socket_.flush();
  if (result == ENXIO || result == ENODEV || result == EBADF) error_ = result;
  return result == 0;
}

// ---- receiving ------------------------------------------------------------------------------------------------------

std::span<const std::byte> Port::received() const noexcept {
  const std::span<const std::byte> frame = socket_.received();
  return frame.size() < kEthernetBytes ? std::span<const std::byte>() : frame.subspan(kEthernetBytes);
}

}  // namespace lapwing::net::ether
