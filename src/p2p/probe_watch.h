// A thread's wish to hear of a message that it could probe for. Lives on that thread's stack.
#pragma once

#include "base/intrusive_list.h"
#include "engine/operation.h"
#include "p2p/match_table.h"
#include "p2p/messenger.h"

namespace lapwing::p2p {

class Messenger::ProbeWatch : public ListNode<> {
 public:
  // `waiter` gets one arrival; the watch is over then.
  ProbeWatch(comm::Communicator& communicator, int source, int tag, engine::Waiter& waiter) noexcept;

 private:
  friend class Messenger;
  MatchKey key_;
  const comm::Group& group_;
  bool waited_ = false;  // in the last round of the vigil already
  engine::Waiter& waiter_;
};

}  // namespace lapwing::p2p
