// The transports that there are, in the order in which a way to a peer is sought. A new one is a folder, a line in registry.cc, and its
// own settings: nothing else in the library names it.
#pragma once

#include <memory>
#include <span>

#include "net/network.h"

namespace lapwing::net {

struct TransportKind {
  const char* name;  // as in LAPWING_TRANSPORTS
  bool notices_end;  // it finds out by itself that a peer has ended, or will have no more of this rank: a connection closes
  bool always;       // rather than where the user allows it and there are other ranks
  bool one_host;     // it reaches no other host
  bool may_lack;     // that a rank does without it is no news: there are fewer of what it needs than ranks, or it needs rights
  // Whether it can be used for all ranks of this job, as far as that is known before they have met. `another`: one that comes after it
  // may be used, so that the job can do without it.
  bool (*suits)(const NetworkConfig& config, bool another);
  std::unique_ptr<Transport> (*make)(engine::Engine& engine, const Sinks& sinks, const NetworkConfig& config);
};

std::span<const TransportKind> transport_kinds() noexcept;

}  // namespace lapwing::net
