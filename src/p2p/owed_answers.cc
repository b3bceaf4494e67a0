#include "p2p/owed_answers.h"

#include <utility>

namespace lapwing::p2p {

void OwedAnswers::owe(net::PeerId peer, const wire::MessageHeader& answer) {
  owed_.push_back({peer, answer});
  idle_ = false;
  common_.engine.want_turn();
}

bool OwedAnswers::poll() noexcept {
  if (owed_.empty()) return false;
  const std::vector<Owed> owed = std::exchange(owed_, {});
  idle_ = true;
  for (const Owed& one : owed) frames_.post_control(one.peer, one.answer);
  return true;
}

void OwedAnswers::give_to(net::PeerId peer) noexcept {
  std::vector<Owed> others;
  for (const Owed& one : std::exchange(owed_, {})) {
    if (one.peer == peer)
      frames_.post_control(peer, one.answer);
    else
      others.push_back(one);
  }
  owed_ = std::move(others);
  idle_ = owed_.empty();
}

}  // namespace lapwing::p2p
