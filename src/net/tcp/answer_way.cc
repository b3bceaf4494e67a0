#include "net/tcp/answer_way.h"

#include <utility>

namespace lapwing::net::tcp {

AnswerWay::AnswerWay(SharedState& shared, PeerId peer, const std::vector<Address>& addresses, bool same_host, RailUser& user)
    : link_(shared, peer, addresses, same_host, Rail{kAnswerRail, std::nullopt, &user}), eager_limit_(shared.options.eager_limit) {}

Asking AnswerWay::asking(std::uint64_t bytes) noexcept {
  if (!std::exchange(begun_, true)) link_.watch_over();
  if (link_.state() != Link::State::kOpen) return Asking::kNever;
  const Asking way = choice(bytes).asks();
  if (way == Asking::kKernel) link_.expect_answer();
  return way;
}

}  // namespace lapwing::net::tcp
