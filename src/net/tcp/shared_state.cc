#include "net/tcp/shared_state.h"

#include <utility>

namespace lapwing::net::tcp {

std::string SharedState::describe(PeerId peer) const {
  std::string text = "rank " + std::to_string(peer);
  wire::Card card;
  if (cards.read(peer, card).ok() && card.has("name")) text += " on host " + card.get("name");
  return text;
}

std::string SharedState::describe_self() const {
  std::string text = "rank " + std::to_string(options.rank);
  if (!options.host_name.empty()) text += " on host " + options.host_name;
  return text;
}

void SharedState::retire(std::unique_ptr<Connection> connection) noexcept {
  if (!connection) return;
  connection->close();
  retired.push_back(std::move(connection));
}

}  // namespace lapwing::net::tcp
