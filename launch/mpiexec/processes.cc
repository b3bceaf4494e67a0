#include "mpiexec/processes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "machine.h"

namespace lapwing::launch {
namespace {

// What a child says through the failure pipe when it cannot become the program. Small enough to be written at once.
struct StartFailure {
  int rank;
  int error;
  char step[24];
};

[[noreturn]] void give_up(int failure_pipe, int rank, const char* step) {
  StartFailure failure{rank, errno, {}};
  std::strncpy(failure.step, step, sizeof failure.step - 1);
  [[maybe_unused]] const ssize_t ignored = ::write(failure_pipe, &failure, sizeof failure);
  std::_Exit(127);
}

void restore_signals() {
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// In the child. Only calls that are safe between fork and exec.
[[noreturn]] void become_program(const StartOrder& order, char** arguments, char** environment, pid_t parent,
                                 int failure_pipe) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) std::_Exit(127);  // mpiexec ended before the line above
  if (order.processors != nullptr) ::sched_setaffinity(0, sizeof(cpu_set_t), order.processors);
  for (int stream = 0; stream < 3; ++stream) {
    if (order.streams[stream] >= 0 && ::dup2(order.streams[stream], stream) < 0) {
      give_up(failure_pipe, order.rank, "redirecting");
    }
  }
  ::fcntl(order.pmi, F_SETFD, 0);
  ::setrlimit(RLIMIT_NOFILE, &order.descriptors);
  if (!order.directory.empty() && ::chdir(order.directory.c_str()) != 0) {
    give_up(failure_pipe, order.rank, "entering the directory");
  }
  restore_signals();
  // The p form knows how to run a script without a first line; the path is found already.
  ::execvpe(order.path.c_str(), arguments, environment);
  give_up(failure_pipe, order.rank, "executing");
}

}  // namespace

ProcessTable::ProcessTable(int ranks) : entries_(static_cast<std::size_t>(ranks)) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (::pipe2(failure_pipe_, O_CLOEXEC | O_NONBLOCK) != 0) failure_pipe_[0] = failure_pipe_[1] = -1;
}

ProcessTable::~ProcessTable() {
  for (const int fd : failure_pipe_) {
    if (fd >= 0) ::close(fd);
  }
}

Status ProcessTable::start(const StartOrder& order) {
  const std::vector<char*> arguments = pointers_to(*order.arguments);
  const std::vector<char*> environment = pointers_to(order.environment);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    return Status::error(MPI_ERR_OTHER,
                         "cannot start rank %d: %s; see ulimit -u and the container's limit on processes", order.rank,
                         std::strerror(errno));
  }
  if (child == 0) {
    become_program(order, const_cast<char**>(arguments.data()), const_cast<char**>(environment.data()), parent,
                   failure_pipe_[1]);
  }
  ::setpgid(child, child);  // here too: a signal to the group may be sent before the child has run
  guardian_.watch(child);
  entries_[static_cast<std::size_t>(order.rank)].process = child;
  ++running_;
  return {};
}

std::vector<RankEnd> ProcessTable::collect_ends() {
  std::vector<RankEnd> ends;
  int status = 0;
  // Any child: descendants that lost their parent are adopted by mpiexec and must be reaped as well.
  for (pid_t process = 0; (process = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    const int rank = rank_of(process);
    if (rank < 0) continue;
    Entry& entry = entries_[static_cast<std::size_t>(rank)];
    entry.ended = true;
    entry.group_empty = ::kill(-process, 0) != 0;
    if (entry.group_empty) guardian_.forget(process);
    --running_;
    ends.push_back({rank, process, status, {}});
  }
  if (ends.empty()) return ends;
  read_start_failures();
  for (RankEnd& end : ends) end.start_failure = entries_[static_cast<std::size_t>(end.rank)].start_failure;
  std::stable_partition(ends.begin(), ends.end(), [](const RankEnd& end) { return WIFSIGNALED(end.wait_status); });
  return ends;
}

void ProcessTable::read_start_failures() {
  StartFailure failure;
  while (::read(failure_pipe_[0], &failure, sizeof failure) == static_cast<ssize_t>(sizeof failure)) {
    entries_[static_cast<std::size_t>(failure.rank)].start_failure =
        std::string(failure.step) + " failed: " + std::strerror(failure.error);
  }
}

int ProcessTable::rank_of(pid_t process) const noexcept {
  for (std::size_t rank = 0; rank < entries_.size(); ++rank) {
    if (entries_[rank].process == process && !entries_[rank].ended) return static_cast<int>(rank);
  }
  return -1;
}

void ProcessTable::signal_all(int signal) {
  for (const Entry& entry : entries_) {
    if (entry.process > 0 && !entry.ended) ::kill(-entry.process, signal);
  }
}

void ProcessTable::sweep() {
  for (const Entry& entry : entries_) {
    if (entry.process > 0 && !entry.group_empty) ::kill(-entry.process, SIGKILL);
  }
  // Those who left their group were adopted when their parents ended; each that is reaped may give us its children.
  const std::string children_file = "/proc/self/task/" + std::to_string(::getpid()) + "/children";
  for (int round = 0; round < 100; ++round) {
    const std::string children = read_small_file(children_file);
    bool found = false;
    for (std::size_t position = 0; position < children.size();) {
      char* end = nullptr;
      const long process = std::strtol(children.c_str() + position, &end, 10);
      position = static_cast<std::size_t>(end - children.c_str()) + 1;
      if (process <= 0 || process == guardian_.process()) continue;
      found = true;
      ::kill(static_cast<pid_t>(process), SIGKILL);
      ::waitpid(static_cast<pid_t>(process), nullptr, 0);
    }
    if (!found) return;
  }
}

}  // namespace lapwing::launch
