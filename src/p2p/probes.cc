#include "p2p/probes.h"

namespace lapwing::p2p {

void Probes::add(ProbeWatch& watch, std::uint64_t& counter) noexcept {
  watches_.push_back(watch);
  watch.counter_ = &counter;
  ++counter;
}

void Probes::remove(ProbeWatch& watch) noexcept {
  if (!watch.linked()) return;
  watch.unlink();
  --*watch.counter_;
}

template <typename Concerns>
void Probes::notify_if(Concerns concerns) noexcept {
  for (auto at = watches_.begin(); at != watches_.end();) {
    ProbeWatch& watch = *at;
    ++at;
    if (!concerns(watch.key_)) continue;
    remove(watch);
    engine_.arrive(watch.waiter_);
  }
}

void Probes::notify_matching(const UnexpectedMessage& message) noexcept {
  notify_if([&](MatchKey wanted) { return wanted.covers(message.ByEnvelope::key); });
}

void Probes::notify_lost(net::PeerId id, bool failed) noexcept {
  notify_if([&](MatchKey wanted) { return wanted.peer() == id || (failed && wanted.peer() == kAnyPeer); });
}

}  // namespace lapwing::p2p
