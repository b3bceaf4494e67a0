// Blocked probes: threads that wait for a message that they could probe for.
#pragma once

#include <cstdint>

#include "base/intrusive_list.h"
#include "engine/operation.h"
#include "p2p/common.h"
#include "p2p/match_table.h"
#include "p2p/unexpected_message.h"

namespace lapwing::p2p {

inline MatchKey key_of(const comm::Communicator& communicator, comm::Plane plane, int source, int tag) noexcept {
  return {communicator.wire_context(plane),
          source == MPI_ANY_SOURCE ? kAnyPeer : communicator.peers(plane).member(source),
          tag == MPI_ANY_TAG ? kAnyTag : tag};
}

// One thread's. Lives on that thread's stack.
class ProbeWatch : public ListNode<> {
 public:
  // `waiter` gets one arrival; the watch is over then.
  ProbeWatch(const comm::Communicator& communicator, int source, int tag, engine::Waiter& waiter) noexcept
      : key_(key_of(communicator, comm::Plane::kPointToPoint, source, tag)),
        group_(communicator.peers()),
        waiter_(waiter) {}

  MatchKey key() const noexcept { return key_; }
  const comm::Group& group() const noexcept { return group_; }

 private:
  friend class Probes;
  friend class Vigil;
  MatchKey key_;
  const comm::Group& group_;
  bool waited_ = false;                // in the last round of the vigil already
  std::uint64_t* counter_ = nullptr;   // counts this watch while it waits
  engine::Waiter& waiter_;
};

class Probes {
 public:
  explicit Probes(engine::Engine& engine) noexcept : engine_(engine) {}

  // Both count the watch in or out.
  void add(ProbeWatch& watch, std::uint64_t& counter) noexcept;
  void remove(ProbeWatch& watch) noexcept;
  bool empty() const noexcept { return watches_.empty(); }
  IntrusiveList<ProbeWatch>& watches() noexcept { return watches_; }

  // A message is there for those that match it.
  void notify(const UnexpectedMessage& message) noexcept {
    if (!watches_.empty()) [[unlikely]]
      notify_matching(message);
  }
  // The peer is lost: their threads find out why (Messenger::reachable). `failed`: also those that probe for any source.
  void notify_lost(net::PeerId id, bool failed) noexcept;

 private:
  void notify_matching(const UnexpectedMessage& message) noexcept;
  template <typename Concerns>
  void notify_if(Concerns concerns) noexcept;

  engine::Engine& engine_;
  IntrusiveList<ProbeWatch> watches_;
};

}  // namespace lapwing::p2p
