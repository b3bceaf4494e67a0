// What the files of the engine's model share: where each thread is, and the policy of a state.
#pragma once

#include "engine_model.h"

namespace lapwing::model::engine_parts {

using engine::ArmingPolicy;
using Order = engine::ArmingPolicy::Order;

enum Operation : std::uint8_t { kNoOperation, kFlying, kDone };
enum Flag : std::uint8_t { kDisarmed, kAtRest, kArmed };  // of a mailbox: what its peer is to ring for

enum At : std::uint8_t {
  // An application thread
  kOutside,
  kTested,
  kWaitLoop,
  kFutex,
  kFutexLate,
  kFutexWoken,
  kDrive,
  kSpin,
  kSpun,
  kBreathed,
  kSleepDisarm,
  kSleepArmed,
  kLower,
  kCollect,
  kCollected,
  kAwake,
  kDelivered,
  // Leaving
  kLeave,
  kPushTurn,
  kPushed,
  kLeft,
  // The event thread
  kListen,
  kHeard,
  kEventTurn,
  kEventMoved,
  kEventBreathed,
  kEventArm,
  kEventDone,
  // Subroutines: a turn, arming the sources, letting them rest
  kTurnThorough,
  kTurnQuick,
  kTurnLook,
  kTurnMayLook,
  kDeliver,
  kArm,
  kArmLook,
  kArmAnswered,
  kRest,
  kRestLook,
};

enum Heard : std::uint8_t { kHeardPort = 1, kHeardTimer = 2, kHeardControl = 4 };

// Small numbers, so that all that depends on them happens within few steps.
constexpr ArmingPolicy::Tuning kTuning{.arm_delay = 1,
                                       .idle_delay = 1,
                                       .short_rest = 1,
                                       .most_backoff = 1,
                                       .most_idle_backoff = 1,
                                       .few_backoffs = 0,
                                       .backoffs_per_turn = 2,
                                       .quick_returns = 2,
                                       .vain_wakes = 1,
                                       .vain_delay = 2};
constexpr std::int64_t kNow = 0, kMuchLater = 100;

// The policy of a state. Time is told anew each time, so none of it is kept.
class Policy {
 public:
  explicit Policy(EngineModel::State& state) : state_(state), policy_(kTuning, state.arming) {}
  ~Policy() {
    state_.arming = policy_.state();
    state_.arming.deadline = state_.arming.rested_at = kNow;
    if (state_.arming.left_at != ArmingPolicy::kInside) state_.arming.left_at = kNow;
  }
  ArmingPolicy* operator->() { return &policy_; }

 private:
  EngineModel::State& state_;
  ArmingPolicy policy_;
};

inline std::int64_t some_time(Step& step) {
  return step.maybe() ? kMuchLater : kNow;
}

}  // namespace lapwing::model::engine_parts
