#include "net/tcp/shared_state.h"

#include <algorithm>
#include <utility>

#include "net/tcp/sender.h"

namespace lapwing::net::tcp {

std::string SharedState::describe(PeerId peer) const {
  std::string text = options.processes->describe(peer);
  wire::Card card;
  if (options.processes->is_own_job(peer) && cards.read(peer.index, card).ok() && card.has("name")) text += " on host " + card.get("name");
  return text;
}

std::string SharedState::describe_self() const {
  std::string text = options.processes->describe(options.self);
  if (!options.host_name.empty()) text += " on host " + options.host_name;
  return text;
}

bool SharedState::wants_to_resume(bool same_host) const noexcept {
  if (options.wire != Protection::kPlain) return true;
  // A connection that comes past a program in the kernel may be torn on any host (net/kernel/area.h).
  const bool may_break = !same_host || options.receive != Receive::kUser;
  return options.resume == Choice::kOn || (options.resume == Choice::kAuto && may_break);
}

wire::Terms SharedState::terms(bool resume, const wire::Position& position, std::uint16_t rail) const noexcept {
  wire::Terms terms;
  terms.features = wire::kFeatureGivenUp | (resume ? wire::kFeatureResume : 0) | wire::features_of(options.wire);
  if (options.polls) terms.features |= wire::kFeaturePolls;
  if (intakes.answers() && options.wire == Protection::kPlain) terms.features |= wire::kFeatureAnswers;
  if (resume && options.links != 1) terms.features |= wire::kFeatureRails;
  terms.rail = rail;
  terms.frame_limit = options.frame_limit;
  terms.position = position;
  return terms;
}

bool SharedState::has_work(bool thread_waits) const noexcept {
  const auto which = thread_waits ? SendQueue::Loans::kAll : SendQueue::Loans::kFollowed;
  return !deferred.empty() || !owing.empty() || std::any_of(lending.begin(), lending.end(), [&](Sender* link) { return link->lends(which); });
}

void SharedState::retire(std::unique_ptr<Connection> connection) noexcept {
  if (!connection) return;
  connection->close();
  retired.push_back(std::move(connection));
}

}  // namespace lapwing::net::tcp
