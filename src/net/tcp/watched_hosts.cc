#include "net/tcp/watched_hosts.h"

namespace lapwing::net::tcp {

void WatchedHosts::reset(const std::string& own, std::size_t peers) {
  numbers_ = {{own, kOwn}};
  host_of_.assign(peers, kOwn);
  representatives_ = {kNone};
  met_ = 0;
}

void WatchedHosts::add(PeerId peer, const std::string& host) {
  const auto [at, fresh] = numbers_.try_emplace(host, static_cast<std::uint32_t>(representatives_.size()));
  if (fresh) representatives_.push_back(kNone);
  host_of_[peer.index] = at->second;
}

void WatchedHosts::meet(PeerId peer) noexcept {
  if (peer.index >= host_of_.size()) return;
  PeerId& representative = representatives_[host_of_[peer.index]];
  if (representative == kNone) representative = peer;
}

bool WatchedHosts::choose(PeerId peer, PeerId& representative) noexcept {
  if (peer.index >= host_of_.size() || host_of_[peer.index] == kOwn) return false;
  PeerId& chosen = representatives_[host_of_[peer.index]];
  if (chosen == kNone) {
    if (met_ == kMost) return false;
    ++met_;
    chosen = peer;
  }
  representative = chosen;
  return true;
}

bool WatchedHosts::replace(PeerId gone, PeerId peer) noexcept {
  if (gone == peer) return false;
  representatives_[host_of_[peer.index]] = peer;
  return true;
}

}  // namespace lapwing::net::tcp
