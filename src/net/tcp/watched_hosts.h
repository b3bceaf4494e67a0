// Which rank of each host stands for it, when messages from any source are waited for: a host that vanishes takes all its ranks along,
// so a connection to one of them shows it. A rank that was met anyway is taken; others are met for this purpose on a bounded number
// of hosts, so that thousands of ranks that all wait for anything do not connect each to each.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "net/transport.h"

namespace lapwing::net::tcp {

class WatchedHosts {
 public:
  static constexpr std::uint32_t kMost = 32;  // hosts where a rank is met for this purpose

  // `own`: this host's identity. Until this is called no host is watched.
  void reset(const std::string& own, std::size_t peers);
  void add(PeerId peer, const std::string& host);
  // A link to `peer` exists now.
  void meet(PeerId peer) noexcept;
  // False: no rank of that host need be met, or may be.
  bool choose(PeerId peer, PeerId& representative) noexcept;
  // `gone` can stand for its host no more. False when there is none to take its place.
  bool replace(PeerId gone, PeerId peer) noexcept;

 private:
  static constexpr std::uint32_t kOwn = 0;
  static constexpr PeerId kNone{~0u};

  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<std::uint32_t> host_of_;   // by peer
  std::vector<PeerId> representatives_;  // by host
  std::uint32_t met_ = 0;                // for this purpose
};

}  // namespace lapwing::net::tcp
