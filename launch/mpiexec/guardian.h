// A second, sleeping process that ends the ranks should mpiexec itself be killed without a chance to do so.
//
// The ranks themselves get a signal from the kernel when mpiexec dies; what they started does not. The guardian knows
// every rank's process group and waits for the end of a pipe whose only writer is mpiexec. It cannot hit a stranger: while
// mpiexec lives, the numbers of all groups are taken (processes.h), and the kernel gives out a number that has become
// free only after all the others.
#pragma once

#include <sys/types.h>

namespace lapwing::launch {

class Guardian {
 public:
  // Forks; call it before any descriptor that the guardian must not hold open is made. Without one (no process to be
  // had) the job runs all the same.
  Guardian();
  // An orderly end: the guardian goes without touching any process.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  void watch(pid_t group);
  pid_t process() const noexcept { return process_; }

 private:
  void tell(pid_t message);

  int pipe_ = -1;
  pid_t process_ = -1;
};

}  // namespace lapwing::launch
