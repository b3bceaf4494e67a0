#include "mpiexec/guardian.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

namespace lapwing::launch {
namespace {

// A message is a group to watch, or kFarewell.
constexpr pid_t kFarewell = 0;

[[noreturn]] void run_guardian(int pipe) {
  ::setsid();  // a signal to mpiexec's process group must not end both
  ::prctl(PR_SET_NAME, "mpiexec-guard");
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  // No process must wait for the guardian to close a pipe it inherited.
  for (int fd = 0; fd < 3; ++fd) ::close(fd);

  std::vector<pid_t> groups;
  while (true) {
    pid_t message = kFarewell;
    const ssize_t count = ::read(pipe, &message, sizeof message);
    if (count < 0 && errno == EINTR) continue;
    if (count != sizeof message) break;
    if (message == kFarewell) std::_Exit(0);
    groups.push_back(message);
  }
  for (const pid_t group : groups) ::kill(-group, SIGKILL);
  std::_Exit(0);
}

}  // namespace

Guardian::Guardian() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  process_ = ::fork();
  if (process_ == 0) {
    ::close(ends[1]);
    run_guardian(ends[0]);
  }
  ::close(ends[0]);
  pipe_ = ends[1];
}

Guardian::~Guardian() {
  tell(kFarewell);
  if (pipe_ >= 0) ::close(pipe_);
  if (process_ > 0) ::waitpid(process_, nullptr, 0);
}

void Guardian::watch(pid_t group) {
  tell(group);
}

void Guardian::tell(pid_t message) {
  if (pipe_ < 0) return;
  [[maybe_unused]] const ssize_t ignored = ::write(pipe_, &message, sizeof message);
}

}  // namespace lapwing::launch
