#include "net/ether/port.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace lapwing::net::ether {

Status Port::open(const Interface& interface, const QueueOrder& order, std::uint64_t tag, std::uint16_t ether_type) {
  interface_ = interface;
  ether_type_ = htons(ether_type);
  LAPWING_TRY(steering_.join(interface.index, interface.name));
  LAPWING_TRY(socket_.open(interface, order));
  LAPWING_TRY(steering_.add(socket_.queue(), socket_.fd(), tag, ether_type));
  states_.assign(PacketSocket::kSendChunks, 0);
  for (Slot slot = PacketSocket::kSendChunks; slot-- > 0;) free_.push_back(slot);
  open_ = true;
  return {};
}

void Port::close() noexcept {
  if (!open_) return;
  open_ = false;
  steering_.remove(socket_.queue());
  socket_.close();
  steering_ = Steering();
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
  auto whole = static_cast<std::uint32_t>(kEthernetBytes + count);
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
