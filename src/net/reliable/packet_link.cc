#include "net/reliable/packet_link.h"

#include <algorithm>
#include <utility>

#include "wire/little_endian.h"

namespace lapwing::net::reliable {
namespace {

// A carrier that is full says nothing when it has room again.
constexpr std::int64_t kTryAgain = 100'000;

}  // namespace

// ---- frames out -----------------------------------------------------------------------------------------------------

bool PacketLink::send_now(const wire::FrameHeader& header, const std::byte* payload, std::int64_t now) noexcept {
  const std::uint64_t bytes = header.payload_bytes();
  PacketCarrier::Room room;
  if (!open() || !cutter_.empty() || sender_.waiting() != 0 || !sender_.may_send(now) || sender_.full()) return false;
  if (wire::piece_overhead(0) + bytes > carrier_.most_bytes() || !carrier_.take(room)) return false;
  build(room, cutter_.cut_small(header, payload, bytes, room.bytes));
  send_packets(now);
  return true;
}

bool PacketLink::post(SendOp& op, std::int64_t now) noexcept {
  const bool first = cutter_.empty();
  cutter_.post(op);
  if (!first) return false;
  while (cut()) send_packets(now);
  if (leaving_.empty() || &leaving_.back() != &op || !has_left(op)) return false;
  op.unlink();
  return true;
}

void PacketLink::build(const PacketCarrier::Room& room, std::uint16_t bytes) noexcept {
  wire::PacketHeader header;
  header.kind = wire::PacketKind::kData;
  header.to = to_;
  header.number = static_cast<std::uint32_t>(sender_.add(room.slot));
  header.bytes = bytes;
  wire::encode(header, room.bytes);
}

// One packet; false: there is nothing to cut, or no room.
bool PacketLink::cut() noexcept {
  PacketCarrier::Room room;
  if (cutter_.empty() || !may_build() || !carrier_.take(room)) return false;
  SendOp* whole = nullptr;
  build(room, cutter_.cut(room.bytes, carrier_.most_bytes(), whole));
  if (whole == nullptr) return true;
  whole->transport_progress = sender_.unsent() + sender_.waiting();
  leaving_.push_back(*whole);
  return true;
}

bool PacketLink::tell_left() noexcept {
  bool told = false;
  for (; !leaving_.empty() && has_left(leaving_.front()); told = true) {
    SendOp& op = leaving_.pop_front();
    op.on_taken(op, Status());
  }
  return told;
}

bool PacketLink::send_packets(std::int64_t now) noexcept {
  bool sent = false;
  blocked_ = false;
  for (PacketSender::Turn turn; sender_.next(now, turn); sent = true) {
    if (!carrier_.can_send(turn.slot)) {
      blocked_ = true;
      break;
    }
    std::byte* packet = carrier_.bytes(turn.slot);
    wire::stamp({static_cast<std::uint32_t>(receiver_.received()), credit(), turn.asks ? wire::kPacketAsks : std::uint8_t{0}, turn.transmission,
                 receiver_.heard()},
                packet);
    if (!carrier_.send(peer_, turn.slot, wire::packet_bytes(packet))) {
      blocked_ = true;
      break;
    }
    sender_.sent(turn.number, now);
    // What came beyond a gap is told by a packet of its own, which has a bitmap.
    if (!receiver_.owes_now()) receiver_.told();
  }
  return sent;
}

// ---- packets in -----------------------------------------------------------------------------------------------------

const char* PacketLink::take_acknowledgement(const wire::PacketHeader& header, std::span<const std::uint64_t> map, std::int64_t now) noexcept {
  const char* broken = sender_.acknowledge(header.acknowledged, header.heard, map, now, freed_);
  sender_.allow(header.credit);
  free_slots();
  return broken;
}

const char* PacketLink::take(const wire::PacketHeader& header, const std::byte* packet, std::int64_t now) noexcept {
  std::uint64_t map[wire::kMostMapWords];
  const std::size_t words = header.kind == wire::PacketKind::kAcknowledge ? header.bytes / sizeof(std::uint64_t) : 0;
  for (std::size_t word = 0; word < words; ++word)
    map[word] = wire::load_little<std::uint64_t>(packet + wire::kPacketHeaderBytes + word * sizeof(std::uint64_t));
  if (const char* broken = take_acknowledgement(header, {map, words}, now); broken != nullptr) return broken;
  if (header.kind != wire::PacketKind::kData) return nullptr;
  if (!receiver_.owes()) owing_since_ = now;
  switch (receiver_.arrive(header.number, header.transmission, (header.flags & wire::kPacketAsks) != 0)) {
    case PacketReceiver::Arrival::kNew:
      return intake_.take(wire::piece_of(header, packet)) ? nullptr : intake_.violation().text();
    case PacketReceiver::Arrival::kAgain:
      return nullptr;
    case PacketReceiver::Arrival::kBeyond:
      return "it sends more packets than it has credit for";
  }
  return nullptr;
}

void PacketLink::free_slots() noexcept {
  for (const PacketSender::Slot slot : freed_) carrier_.give_back(slot);
  freed_.clear();
}

// ---- when something has changed, or time has passed -----------------------------------------------------------------

bool PacketLink::work(std::int64_t now) noexcept {
  if (!open()) return false;
  if (sender_.deadline() <= now) sender_.expired(now);
  bool moved = send_packets(now);
  while (cut()) moved |= send_packets(now);
  moved |= tell_left();
  if (receiver_.owes_now() || (receiver_.owes() && now >= owing_since_ + kAcknowledgeAfter)) acknowledge(now);
  return moved;
}

void PacketLink::way_changed(std::int64_t now) noexcept {
  if (open()) sender_.ask_now(now);
}

void PacketLink::acknowledge(std::int64_t) noexcept {
  if (receiver_.owes() && open() && send_control(wire::PacketKind::kAcknowledge, 0)) receiver_.told();
}

bool PacketLink::send_control(wire::PacketKind kind, std::uint8_t flags) noexcept {
  PacketCarrier::Room room;
  if (!carrier_.take(room)) return false;
  wire::PacketHeader header;
  header.kind = kind;
  header.to = to_;
  header.acknowledged = static_cast<std::uint32_t>(receiver_.received());
  header.credit = credit();
  header.heard = receiver_.heard();
  header.flags = flags;
  if (kind == wire::PacketKind::kAcknowledge) {
    std::uint64_t map[wire::kMostMapWords];
    const std::size_t words = receiver_.map(map);
    for (std::size_t word = 0; word < words; ++word)
      wire::store_little(room.bytes + wire::kPacketHeaderBytes + word * sizeof(std::uint64_t), map[word]);
    header.bytes = static_cast<std::uint16_t>(words * sizeof(std::uint64_t));
  }
  wire::encode(header, room.bytes);
  const bool sent = carrier_.can_send(room.slot) && carrier_.send(peer_, room.slot, wire::packet_bytes(room.bytes));
  carrier_.give_back(room.slot);
  return sent;
}

std::int64_t PacketLink::deadline(std::int64_t now) const noexcept {
  if (!open()) return kNever;
  std::int64_t at = std::min(sender_.deadline(), sender_.paced_until(now));
  if (blocked_ || (!cutter_.empty() && may_build())) at = std::min(at, now + kTryAgain);
  if (receiver_.owes()) at = std::min(at, owing_since_ + kAcknowledgeAfter);
  return at;
}

// ---- the end --------------------------------------------------------------------------------------------------------

void PacketLink::end(State state, const Status& why, bool quietly) noexcept {
  if (!open()) return;
  state_ = state;
  why_ = why.copy();
  sender_.give_up(freed_);
  free_slots();
  while (!leaving_.empty()) {
    SendOp& op = leaving_.pop_front();
    op.on_taken(op, why_);
  }
  while (SendOp* op = cutter_.remove()) op->on_taken(*op, why_);
  if (quietly) return;
  if (state == State::kLost)
    sinks_.peer_lost(peer_, why_, intake_.header(), intake_.half_received());
  else
    sinks_.peer_left(peer_, why_);
}

}  // namespace lapwing::net::reliable
