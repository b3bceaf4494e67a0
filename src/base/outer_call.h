// The MPI function that this thread is in, where that is not plain from what it waits for: MPI_Comm_dup waits in a broadcast.
// Only functions whose nanoseconds do not count say so.
#pragma once

namespace lapwing {

class OuterCall {
 public:
  // `name` is a literal.
  explicit OuterCall(const char* name) noexcept : before_(current_) { current_ = name; }
  ~OuterCall() { current_ = before_; }
  OuterCall(const OuterCall&) = delete;
  OuterCall& operator=(const OuterCall&) = delete;

  // Null: none has said so.
  static const char* name() noexcept { return current_; }

 private:
  static inline constinit thread_local const char* current_ = nullptr;
  const char* before_;
};

}  // namespace lapwing
