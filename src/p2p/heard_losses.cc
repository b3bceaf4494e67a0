#include "p2p/heard_losses.h"

#include "base/log.h"

namespace lapwing::p2p {

void HeardLosses::hear(net::PeerId lost, Status why) noexcept {
  if (lost == common_.network->self() || common_.peers[lost].lost) return;
  heard_.emplace_back(lost, std::move(why));
  if (!linked()) common_.engine.defer(*this);
}

// The process may be of a job that only the peer has met.
void HeardLosses::hear_of(wire::JobRank name, net::PeerId from) noexcept {
  net::PeerId lost;
  if (!common_.network->find(name, lost)) return;
  const std::string source = common_.network->describe(from);
  if (lost == common_.network->self()) return be_given_up(from);
  if (!common_.peers[lost].lost) sources_.emplace_back(lost, from);
  hear(lost, Status::error(MPI_ERR_PROC_ABORTED,
                           "%s is lost, as %s says: that process has ended, or its host could not be reached; look at what it printed last",
                           common_.network->describe(lost).c_str(), source.c_str()));
}

void HeardLosses::be_given_up(net::PeerId by) noexcept {
  if (!loss_.is_given_up())
    log_warn("%s has given this rank up, and tells all others: it could not reach it, or heard so", common_.network->describe(by).c_str());
  loss_.be_given_up();
}

// The first word counts, as in hear().
net::PeerId HeardLosses::source_of(net::PeerId lost) const noexcept {
  for (const auto& [process, source] : sources_)
    if (process == lost) return source;
  return lost;
}

void HeardLosses::act() noexcept {
  for (const auto& [lost, why] : std::exchange(heard_, {})) {
    loss_.tell_lost_one(lost);
    common_.network->give_up(lost, why);
    loss_.end(lost, why, PeerLoss::How::kFailed);
  }
}

}  // namespace lapwing::p2p
