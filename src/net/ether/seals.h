// The keys by which packets are sealed (LAPWING_WIRE=sealed): a pair of this process, and what it has agreed on with each peer, from when the first
// packet to or from it is seen on.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "base/process_id.h"
#include "base/sparse_table.h"
#include "wire/job_key.h"
#include "wire/packet_keys.h"
#include "wire/packet_seal.h"

namespace lapwing::net::ether {

class Seals {
 public:
  // Both directions between this rank and a peer.
  struct Directions {
    explicit Directions(const wire::SessionKeys& keys) : out(keys.cipher, keys.own), in(keys.cipher, keys.peers) {}
    wire::PacketSealer out;
    wire::PacketOpener in;
  };

  // Packets are sealed. The job's key is known (libsodium wants that).
  void begin() noexcept { pair_.emplace(); }
  bool on() const noexcept { return pair_.has_value(); }
  const wire::PacketKeys::Public& own() const noexcept { return pair_->own(); }
  void set_ranks(std::size_t ranks) { directions_.reset(ranks); }

  // A public key that is no sound one is somebody's who has changed the peer's card. Then nothing is agreed on, and what is sealed is as good as
  // lost.
  Directions& with(const wire::JobKey& job, ProcessId self, ProcessId peer, const wire::PacketKeys::Public& peers) {
    std::unique_ptr<Directions>& directions = directions_[peer];
    if (!directions) [[unlikely]] {
      wire::SessionKeys keys;
      if (!pair_->agree(job, self.index, peer.index, peers, keys)) keys.own = keys.peers = wire::Secret::random();
      directions = std::make_unique<Directions>(keys);
    }
    return *directions;
  }

 private:
  std::optional<wire::PacketKeys> pair_;
  SparseTable<std::unique_ptr<Directions>> directions_;
};

}  // namespace lapwing::net::ether
