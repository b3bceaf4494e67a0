// Collective operations for the rooms above that need them for their own ends: creating communicators, finalize.
//
// All functions here are called WITHOUT the endpoint's lock, on an application thread, by every member of the team, in
// the same order as other collectives on the same communicator. The blocking ones return when this process's part is
// done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "comm/communicator.h"
#include "engine/engine.h"
#include "p2p/messenger.h"
#include "request/request.h"

namespace lapwing::net {
class HostTable;
}

namespace lapwing::coll {

class AreaPool;
class KnownRates;
class KnownWays;
class ScratchPool;
struct SelectionRules;

// What a collective needs of the endpoint.
struct Services {
  engine::Engine& engine;
  p2p::Messenger& messenger;
  AreaPool* areas = nullptr;               // where ranks share memory
  const SelectionRules* rules = nullptr;   // by which algorithms are chosen; null: the defaults
  const net::HostTable* hosts = nullptr;   // which processes share one; null: all do
  ScratchPool* scratch = nullptr;          // null: memory is always new
  KnownRates* known_rates = nullptr;       // null: what communicators find out is not remembered
  KnownWays* known_ways = nullptr;         // likewise
};

// The ranks that take part in an internal collective. Roots and results are numbered by position in the team.
struct Team {
  comm::Communicator& communicator;
  comm::Plane plane = comm::Plane::kCollective;
  // Null: all of communicator.peers(plane). Else the members as ranks in communicator.peers(plane); this process
  // must be one of them. Then `tag` tells concurrent teams apart (0 .. 2^22-1); it is not taken from the communicator's
  // numbering, because those outside the team do not count along.
  const std::vector<int>* members = nullptr;
  int tag = 0;
};

Status barrier(const Services& services, const Team& team);
// `bytes` is the same on all members.
Status bcast_bytes(const Services& services, const Team& team, void* data, std::size_t bytes, int root);
// `all` receives the blocks of all members in order, `bytes` each.
Status allgather_bytes(const Services& services, const Team& team, const void* mine, std::size_t bytes, void* all);

// One member's number becomes that of all: that of the team's first member; in an inter-communicator (plane
// kCollective, no members) that of rank 0 of the group that leads (Communicator::leads). `proposed` counts there
// only.
Status agree_context(const Services& services, const Team& team, std::uint64_t proposed, std::uint64_t* agreed);

// The same without blocking. `on_agreed` is called once, with the lock held, on whatever thread drives, before the
// request completes; never when the agreement fails (the request then carries the error). The caller owns *request.
using OnAgreed = void (*)(void* context, std::uint64_t agreed);
Status start_context_agreement(const Services& services, const Team& team, std::uint64_t proposed, OnAgreed on_agreed,
                               void* context, request::Request** request);

// Once all ranks have made their last call on a communicator, with the lock held: whether it was the same on all, as far as memory that
// they share can tell.
Status compare_last_calls(comm::Communicator& communicator);

// Messages to calls that this rank has given up (drain.h) are awaited no longer. With the lock held.
void stop_draining(comm::Communicator& communicator) noexcept;

// In an inter-communicator (all of it takes part): rank 0 of each group gives `bytes` bytes, and every member of the
// other group gets them in `theirs`. `mine` counts at rank 0 only; the two groups may not differ in `bytes`.
Status exchange_bytes(const Services& services, comm::Communicator& inter, const void* mine, std::size_t bytes,
                      void* theirs);

}  // namespace lapwing::coll
