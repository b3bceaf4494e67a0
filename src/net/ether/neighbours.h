// The peers on this rank's segment: those whose cards tell of an endpoint on the same network, and that answer a probe there. The kernel of their hosts
// answers, so it does not matter what they do just then. A peer that is reached by no packet, or whose NIC brings packets to another queue than its
// endpoint's, is not one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/process_id.h"
#include "base/status.h"
#include "net/ether/port.h"
#include "wire/card_book.h"
#include "wire/handshake.h"
#include "wire/packet.h"

namespace lapwing::net::ether {

// What only ranks of the job know of an endpoint: the first 8 bytes of an HMAC with the job's secret. Of another protection it is another one, so that
// ranks that do not agree about it do not reach each other here; the handshake of TCP then says so.
std::uint64_t endpoint_tag(const wire::JobKey& key, std::uint32_t rank, bool checked) noexcept;

class Neighbours {
 public:
  // Reads the cards. An error when one is damaged.
  Status read(const wire::CardBook& cards, ProcessId self, const Interface& interface, const wire::JobKey& key, bool checked);
  // Asks all of them, and waits for answers for some hundredths of a second at most. `own`: where answers come back to.
  void probe(Port& port, ProcessId self, wire::PacketAddress own) noexcept;

  // It has a card, and may send.
  bool known(ProcessId peer) const noexcept { return peer.index < all_.size() && all_[peer.index].known; }
  // It has answered.
  bool present(ProcessId peer) const noexcept { return peer.index < all_.size() && all_[peer.index].present; }
  const Contact& contact(ProcessId peer) const noexcept { return all_[peer.index].contact; }
  wire::PacketAddress address(ProcessId peer, ProcessId self) const noexcept;
  // Of a frame, that all of them take.
  unsigned least_mtu() const noexcept { return least_mtu_; }
  // Packets of peers that had begun already and came before their answers, in their order. Were they dropped, their senders would notice only after the
  // first time-out, of 6 ms, and take the network for one that loses packets.
  const std::vector<std::vector<std::byte>>& early() const noexcept { return early_; }
  void forget_early() noexcept { early_ = {}; }

 private:
  struct Neighbour {
    bool known = false, present = false;
    Contact contact;
    std::uint64_t tag = 0;
  };
  bool hear(Port& port, std::uint64_t own_tag) noexcept;

  std::vector<Neighbour> all_;
  std::vector<std::vector<std::byte>> early_;
  std::size_t missing_ = 0;  // answers
  unsigned least_mtu_ = 0;
};

}  // namespace lapwing::net::ether
