#include "mpiexec/processes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

namespace lapwing::launch {
namespace {

constexpr std::chrono::seconds kSweepPatience(2);
constexpr std::chrono::milliseconds kSweepStep(1), kExecutionPatience(100);

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
  if (order.processors != nullptr) (void)bind_to_processors(0, *order.processors);
  for (int stream = 0; stream < 3; ++stream) {
    if (order.streams[stream] >= 0 && ::dup2(order.streams[stream], stream) < 0) {
      give_up(failure_pipe, order.rank, "redirecting");
    }
  }
  ::fcntl(order.pmi, F_SETFD, 0);
  ::fcntl(order.questions, F_SETFD, 0);
  ::setrlimit(RLIMIT_NOFILE, &order.descriptors);
  if (!order.directory.empty() && ::chdir(order.directory.c_str()) != 0) {
    give_up(failure_pipe, order.rank, "entering the directory");
  }
  restore_signals();
  // The p form knows how to run a script without a first line; the path is found already.
  ::execvpe(order.path.c_str(), arguments, environment);
  give_up(failure_pipe, order.rank, errno == ENOENT ? "executing it, or the interpreter that its first line names," : "executing");
}

// The kernel's list, however long. Empty where the kernel keeps none.
std::vector<pid_t> children_of_this_process() {
  std::ifstream file("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  return {std::istream_iterator<pid_t>(file), {}};
}

std::unordered_set<pid_t> set_of(const std::vector<pid_t>& processes) {
  return {processes.begin(), processes.end()};
}

// The status as waitpid() gives it, while the process stays a zombie; nothing as long as it runs.
std::optional<int> peek_at_end(pid_t process) {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
    return std::nullopt;
  }
  if (info.si_code == CLD_EXITED) return W_EXITCODE(info.si_status, 0);
  return W_EXITCODE(0, info.si_status) | (info.si_code == CLD_DUMPED ? WCOREFLAG : 0);
}

enum class Origin { kRank, kAnother, kUnclear };

// Processes that a rank has started carry its variables, unless they were taken away. While a process executes another program it shows
// none for a moment; nor does a zombie.
Origin origin_of(pid_t child) {
  std::ifstream file("/proc/" + std::to_string(child) + "/environ");
  bool any = false;
  for (std::string variable; std::getline(file, variable, '\0'); any = true) {
    if (variable.rfind("PMI_RANK=", 0) == 0) return Origin::kRank;
  }
  return any || peek_at_end(child) ? Origin::kAnother : Origin::kUnclear;
}

}  // namespace

ProcessTable::ProcessTable(int ranks)
    : inherited_(set_of(children_of_this_process())), entries_(static_cast<std::size_t>(ranks)) {
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
  running_.push_back(order.rank);
  rank_processes_.insert(child);
  return {};
}

std::vector<RankEnd> ProcessTable::collect_ends() {
  std::vector<RankEnd> ends;
  for (const int rank : running_) {
    Entry& entry = entries_[static_cast<std::size_t>(rank)];
    const std::optional<int> status = peek_at_end(entry.process);
    if (!status) continue;
    entry.ended = true;
    ends.push_back({rank, entry.process, *status, {}});
  }
  if (ends.empty()) {
    // Then an orphan ended that mpiexec has adopted; a job may have any number of them.
    for (const pid_t orphan : orphans().of_ranks) ::waitpid(orphan, nullptr, WNOHANG);
    return ends;
  }
  running_.erase(std::remove_if(running_.begin(), running_.end(), [this](int rank) { return ended(rank); }),
                 running_.end());
  read_start_failures();
  for (RankEnd& end : ends) end.start_failure = entries_[static_cast<std::size_t>(end.rank)].start_failure;
  std::stable_partition(ends.begin(), ends.end(), [](const RankEnd& end) { return WIFSIGNALED(end.wait_status); });
  return ends;
}

// The other stops are the user's own doing.
std::optional<RankStop> ProcessTable::collect_terminal_stop() {
  std::optional<RankStop> stop;
  siginfo_t info{};
  while (::waitid(P_ALL, 0, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0) {
    const auto rank = std::find_if(running_.begin(), running_.end(), [&](int each) { return process(each) == info.si_pid; });
    if (rank != running_.end() && (info.si_status == SIGTTIN || info.si_status == SIGTTOU)) stop = {*rank, info.si_status};
    info = {};
  }
  return stop;
}

void ProcessTable::read_start_failures() {
  StartFailure failure;
  while (::read(failure_pipe_[0], &failure, sizeof failure) == static_cast<ssize_t>(sizeof failure)) {
    entries_[static_cast<std::size_t>(failure.rank)].start_failure =
        std::string(failure.step) + " failed: " + std::strerror(failure.error);
  }
}

// With inherited children an orphan may also be a descendant of theirs.
ProcessTable::Orphans ProcessTable::orphans() const {
  Orphans result;
  for (const pid_t child : children_of_this_process()) {
    if (child == guardian_.process() || rank_processes_.count(child) != 0 || inherited_.count(child) != 0) continue;
    const Origin origin = inherited_.empty() ? Origin::kRank : origin_of(child);
    if (origin == Origin::kRank) result.of_ranks.push_back(child);
    result.some_unclear |= origin == Origin::kUnclear;
  }
  return result;
}

void ProcessTable::signal_all(int signal) {
  for (const Entry& entry : entries_) {
    if (entry.process > 0 && !entry.ended) ::kill(-entry.process, signal);
  }
}

void ProcessTable::sweep() {
  for (const pid_t group : rank_processes_) ::kill(-group, SIGKILL);
  for (const pid_t process : rank_processes_) ::waitpid(process, nullptr, WNOHANG);
  rank_processes_.clear();
  // Those that left their group were adopted when their parents ended; each that is reaped may give us its children. A
  // process that the kernel does not let go (a file system that does not answer) must not keep mpiexec for ever.
  const auto begin = std::chrono::steady_clock::now();
  for (Orphans left = orphans(); !left.of_ranks.empty() || left.some_unclear; left = orphans()) {
    for (const pid_t process : left.of_ranks) ::kill(process, SIGKILL);
    for (const pid_t process : left.of_ranks) ::waitpid(process, nullptr, WNOHANG);
    const auto passed = std::chrono::steady_clock::now() - begin;
    if (passed >= kSweepPatience || (left.of_ranks.empty() && passed >= kExecutionPatience)) return;
    std::this_thread::sleep_for(kSweepStep);
  }
}

}  // namespace lapwing::launch
