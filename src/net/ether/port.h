// This rank's endpoint on an Ethernet: the socket of its queue, the program that brings packets there, and memory for packets on their way out, as
// the links want it (net/reliable/packet_carrier.h). A packet is built where it will be sent from, behind room for the headers of the network, and
// may be sent again from there.
//
//   slot   |        | headers: 14 or 42 | packet ...
//          0                            64
//
// A slot is a chunk of the socket's (2 KiB), or on an interface of jumbo frames as many as its longest packets need.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/protection.h"
#include "base/status.h"
#include "engine/system_calls.h"
#include "net/ether/interface.h"
#include "net/ether/packet_socket.h"
#include "net/ether/socket_source.h"
#include "net/reliable/packet_carrier.h"
#include "wire/encapsulation.h"
#include "wire/packet.h"

namespace lapwing::net::ether {

class Port final : public reliable::PacketCarrier {
 public:
  // Takes a queue of the interface.
  // `accelerator`: the socket of the service that stands in where this process lacks the rights; empty: none does.
  Status open(const Interface& interface, const QueueOrder& order, Endpoint endpoint, const std::string& accelerator);
  // Which ranks share the queue is known now (packet_socket.h): from here on packets are sent.
  void begin() noexcept;
  void close() noexcept;
  const Interface& interface() const noexcept { return interface_; }
  const PacketSocket& socket() const noexcept { return socket_; }
  Status begin_busy_poll() { return socket_.begin_busy_poll(); }
  const Contact& contact() const noexcept { return contact_; }
  std::string by() const { return source_->by(); }

  // How packets to each rank travel; and of how many bytes they are, the same for all.
  void reset_ways(std::size_t ranks) { ways_.assign(ranks, wire::Encapsulation()); }
  void set_raw(ProcessId peer, const Mac& mac) { ways_[peer.index] = wire::Encapsulation::raw(mac, interface_.mac, ether_type_); }
  void set_udp(ProcessId peer, const Mac& next_hop, const wire::UdpAddress& to) {
    ways_[peer.index] = wire::Encapsulation::udp(next_hop, interface_.mac, to, contact_.udp);
  }
  // Datagrams to a peer that does not answer go by the router that the kernel knows now: it may be another one, or have another Ethernet address.
  void renew_next_hop(ProcessId peer);
  void set_most_bytes(std::size_t bytes) noexcept { most_bytes_ = bytes - trailer_bytes(); }
  std::size_t slots() const noexcept { return slots_.size(); }
  // Of the socket's chunks, that one packet may fill when it comes.
  std::size_t chunks_per_packet() const noexcept;
  // Packets have a trailer, behind the bytes that they may have: of a check, which is added here, or of a seal, which is a link's matter. Before the
  // others are set.
  void set_protection(Protection protection) noexcept { protection_ = protection; }
  Protection protection() const noexcept { return protection_; }

  // ---- PacketCarrier ----

  std::size_t most_bytes() const noexcept override { return most_bytes_; }
  bool take(Room& room) noexcept override { return take_leaving(0, room); }
  void give_back(Slot slot) noexcept override;
  std::byte* bytes(Slot slot) noexcept override { return socket_.chunk(chunk_of(slot)) + kPacketAt; }
  bool can_send(Slot slot) noexcept override;
  bool send(ProcessId peer, Slot slot, std::size_t count) noexcept override;

  // One, where so many more are free.
  bool take_leaving(std::size_t others, Room& room) noexcept;
  // Everything that was sent leaves. False when some of it could not yet: call it again soon.
  bool flush(engine::SystemCalls& calls) noexcept;
  // The interface has gone, as flush() has found. What is sent then is lost.
  bool gone() const noexcept { return gone_; }
  // The same, as the event port has found.
  void note_gone() noexcept;

  // ---- receiving ----

  bool has_received() noexcept { return socket_.has_received(); }
  // The same, by a thread that waits: where the socket polls busily the driver is run if nothing has come.
  bool look(engine::SystemCalls& calls) noexcept;
  // The packet in the frame that has come.
  wire::Decapsulated received() noexcept { return wire::decapsulate(socket_.received(), ether_type_); }
  void pop() noexcept { socket_.pop(); }
  void return_memory() noexcept { socket_.return_memory(); }

 private:
  static constexpr std::uint32_t kPacketAt = 64, kLeastFrame = 60;
  static_assert(wire::Encapsulation::kMostBytes <= kPacketAt);
  struct SlotState {
    bool taken = false;
    std::uint8_t leaving = 0;  // so many of its chunks have not left; also after give_back()
  };

  std::size_t trailer_bytes() const noexcept;
  Status open_socket(std::unique_ptr<SocketSource> source, const QueueOrder& order, const Endpoint& endpoint);
  PacketSocket::Chunk chunk_of(Slot slot) const noexcept { return slot * chunks_per_slot_; }
  void reclaim() noexcept;

  Interface interface_;
  std::uint16_t ether_type_ = 0;  // 0: packets do not come straight on Ethernet
  Contact contact_;
  PacketSocket socket_;
  std::unique_ptr<SocketSource> source_;
  std::size_t most_bytes_ = 0;
  Protection protection_ = Protection::kPlain;
  std::vector<wire::Encapsulation> ways_;
  std::vector<Slot> free_;
  std::vector<SlotState> slots_;
  std::uint32_t chunks_per_slot_ = 1;
  bool gone_ = false;
  bool open_ = false;
};

}  // namespace lapwing::net::ether
