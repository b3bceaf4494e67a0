// The messages one way between two ranks, of which several may be under way: each has a lane of its own, so they match whichever starts first.
// Lanes are used again, by a message that waits for the one before on its lane.
#pragma once

#include <vector>

#include "coll/schedule.h"

namespace lapwing::coll {

class MessageChannel {
 public:
  // After the step `ready`.
  StepId send(Schedule& schedule, const Block& source, int peer, StepId ready) {
    return add(schedule.send(source, peer, {ready, lane_free()}, lane()));
  }
  StepId receive(Schedule& schedule, const Block& target, int peer, StepId ready) {
    return add(schedule.receive(target, peer, {ready, lane_free()}, lane()));
  }

 private:
  int lane() const noexcept { return static_cast<int>(messages_.size() % kLanes); }
  StepId lane_free() const noexcept { return messages_.size() < kLanes ? kNoStep : messages_[messages_.size() - kLanes]; }
  StepId add(StepId message) {
    messages_.push_back(message);
    return message;
  }

  std::vector<StepId> messages_;
};

}  // namespace lapwing::coll
