// A wait for a condition that nothing completes, as MPI_Finalize waits for everything sent to have left. Between two looks something has
// moved: the thread that waits sleeps like any other.
#pragma once

#include "engine/engine.h"
#include "engine/wait_reason.h"

namespace lapwing::process {

// As a source of the engine, it is asked at every turn, and once more before a thread goes to sleep. What another thread of the
// application does inside a call of its own is no turn: by wanting one it has the sleeper woken when that thread leaves.
template <typename Predicate>
class Settling final : public engine::Source {
 public:
  Settling(engine::Engine& engine, engine::Waiter& waiter, Predicate condition)
      : engine_(engine), waiter_(waiter), condition_(condition) {
    engine_.add_source(*this);
  }
  ~Settling() { engine_.remove_source(*this); }
  Settling(const Settling&) = delete;
  Settling& operator=(const Settling&) = delete;

  bool poll() noexcept override {
    if (waiter_.ready()) return false;
    if (condition_()) {
      engine_.arrive(waiter_);
      return true;
    }
    engine_.want_turn();
    return false;
  }
  bool arm() noexcept override {
    engine_.want_turn();
    return waiter_.ready() || !condition_();
  }
  void disarm() noexcept override {}

 private:
  engine::Engine& engine_;
  engine::Waiter& waiter_;
  Predicate condition_;
};

// With the endpoint's lock held; releases it while it sleeps.
template <typename Predicate>
void wait_until(engine::Engine& engine, const engine::WaitReason& reason, Predicate condition) {
  if (condition()) return;
  engine::Waiter waiter(1, &reason);
  const Settling<Predicate> settling(engine, waiter, condition);
  engine.wait(waiter);
}

}  // namespace lapwing::process
