// Why a thread waits, for a report on a hang (docs/debugging.md). Made on the thread's stack when a wait begins, so that a call that
// need not wait pays nothing for it.
#pragma once

namespace lapwing::wire {
struct HangReport;
struct HangWait;
}  // namespace lapwing::wire

namespace lapwing::engine {

class WaitReason {
 public:
  // `call` is the MPI function, a literal.
  explicit WaitReason(const char* call) noexcept : call_(call) {}
  const char* call() const noexcept { return call_; }
  // Adds what the thread waits for. With the endpoint's lock held, on any thread.
  virtual void describe(wire::HangWait& wait) const { (void)wait; }

 protected:
  ~WaitReason() = default;

 private:
  const char* call_;
};

}  // namespace lapwing::engine
