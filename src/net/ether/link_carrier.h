// The carrier of one link's packets: they lie in the port's memory, and leave by ether or, while they are diverted, as frames of another transport.
// They are as long as ether takes either way, so that a packet which has left by one may be sent again by the other.
//
// Where packets are sealed, what leaves by ether is a sealed copy, in memory of its own until the kernel is done with it; the packet stays as it was
// built, and may be sent again at any time, sealed anew. So that there is always memory for copies, packets take no more than their part. On the
// detour they are sealed by the connection.
//
// A diverted packet may still wait in the port's queue from an earlier time, where the interface is down, and gets a new stamp there. That is
// harmless: fields of two stamps beside each other are all true when the later one is written.
#pragma once

#include "net/ether/port.h"
#include "net/reliable/packet_carrier.h"
#include "net/transport.h"
#include "wire/packet_frame.h"
#include "wire/packet_seal.h"

namespace lapwing::net::ether {

class LinkCarrier final : public reliable::PacketCarrier {
 public:
  // `sealer`: of packets to the peer; null: they are not sealed.
  LinkCarrier(Port& port, DetourCounters& detours, wire::PacketSealer* sealer) noexcept : port_(port), detours_(detours), sealer_(sealer) {}

  // Null: by ether.
  void divert(Transport* by) noexcept { detour_ = by; }
  bool diverted() const noexcept { return detour_ != nullptr; }

  std::size_t most_bytes() const noexcept override { return port_.most_bytes(); }
  bool take(Room& room) noexcept override { return port_.take_leaving(for_copies(), room); }
  void give_back(Slot slot) noexcept override { port_.give_back(slot); }
  std::byte* bytes(Slot slot) noexcept override { return port_.bytes(slot); }
  bool can_send(Slot slot) noexcept override { return diverted() || port_.can_send(slot); }
  bool send(ProcessId peer, Slot slot, std::size_t count) noexcept override {
    if (!diverted()) return sealer_ == nullptr ? port_.send(peer, slot, count) : send_sealed(peer, slot);
    wire::FrameHeader header = wire::packet_frame(count);
    const bool sent = detour_->send_now(peer, header, port_.bytes(slot), Delivery::kAtOnce);
    detours_.packets += sent;
    return sent;
  }

 private:
  std::size_t for_copies() const noexcept { return sealer_ == nullptr ? 0 : port_.slots() / 4; }

  bool send_sealed(ProcessId peer, Slot slot) noexcept {
    Room copy;
    if (!port_.take(copy)) return false;
    port_.send(peer, copy.slot, sealer_->close(port_.bytes(slot), copy.bytes));
    port_.give_back(copy.slot);
    return true;
  }

  Port& port_;
  DetourCounters& detours_;  // all links'
  wire::PacketSealer* const sealer_;
  Transport* detour_ = nullptr;
};

}  // namespace lapwing::net::ether
