// Processors, memory and kernel interfaces.
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/processor_list.h"
#include "base/settings.h"
#include "machine.h"
#include "tool/doctor.h"

extern char** environ;

namespace lapwing::launch {
namespace {

std::string format(const char* pattern, double value) {
  char text[160];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

// Keeps the calling thread on one processor.
void stay_on(int processor) {
  (void)bind_to_processors(0, set_of_processors({processor}));
}

// Two threads on different cores wake each other through eventfds, as a sleeping rank is woken; the median of one way
// in microseconds. With one core only they share it.
double measure_wake_up(int own_processor, int other_processor) {
  constexpr int kRounds = 400;
  const int there = ::eventfd(0, EFD_CLOEXEC);
  const int back = ::eventfd(0, EFD_CLOEXEC);
  std::thread partner([there, back, other_processor] {
    stay_on(other_processor);
    std::uint64_t value = 0;
    for (int round = 0; round < kRounds; ++round) {
      if (::read(there, &value, sizeof value) < 0 || ::write(back, &value, sizeof value) < 0) return;
    }
  });
  const ProcessorSet before = processors_of(0);
  stay_on(own_processor);
  std::array<double, kRounds> times{};
  std::uint64_t value = 1;
  for (double& time : times) {
    const auto start = std::chrono::steady_clock::now();
    if (::write(there, &value, sizeof value) < 0 || ::read(back, &value, sizeof value) < 0) break;
    const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
    time = taken.count() / 2;
  }
  partner.join();
  (void)bind_to_processors(0, before);
  ::close(there);
  ::close(back);
  std::sort(times.begin(), times.end());
  return times[kRounds / 2];
}

// A parent reads its child's memory: what ranks of one host, being siblings, may do depends on Yama as well.
bool can_read_other_process() {
  static volatile int secret = 0;
  const pid_t child = ::fork();
  if (child == 0) {
    secret = 42;
    ::pause();
    std::_Exit(0);
  }
  if (child < 0) return false;
  int copy = 0;
  iovec local{&copy, sizeof copy};
  iovec remote{const_cast<int*>(&secret), sizeof secret};
  const bool permitted = ::process_vm_readv(child, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(sizeof copy);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return permitted;
}

}  // namespace

Finding check_settings() {
  Settings settings;
  const Status status = settings.load(environ);
  if (!status.ok()) return {Verdict::kError, "settings", status.text(), "correct or unset the variable"};
  const std::vector<SettingDescription> entries = settings.describe();
  const auto changed = std::count_if(entries.begin(), entries.end(),
                                     [](const auto& entry) { return entry.source == SettingSource::kEnvironment; });
  return {Verdict::kOk, "settings",
          std::to_string(changed) + " of " + std::to_string(entries.size()) + " changed by the environment", ""};
}

Finding check_cores() {
  const Machine machine = read_machine();
  std::string fact = std::to_string(machine.usable_cores()) + " usable cores (" + std::to_string(machine.processors) +
                     " of " + std::to_string(machine.processors_online) + " processors allowed";
  fact += machine.cpu_quota ? format(", quota %.2g processors)", *machine.cpu_quota) : ", no quota)";
  if (machine.cpu_quota && *machine.cpu_quota < machine.processors) {
    return {Verdict::kWarning, "cores", fact,
            "the container's CPU quota stops all ranks when it is used up; run at most as many ranks as the quota, "
            "or give the container whole CPUs (cpuset) instead"};
  }
  return {Verdict::kOk, "cores", fact, ""};
}

Finding check_wake_up() {
  const Machine machine = read_machine();
  if (machine.cores.empty()) return {Verdict::kOk, "wake-up", "not measured: the processors are unknown", ""};
  const double microseconds =
      measure_wake_up(machine.cores.front().processors.front(), machine.cores.back().processors.front());
  const std::string fact = format("waking a thread that sleeps on another core takes %.1f us", microseconds);
  if (microseconds < 200) return {Verdict::kOk, "wake-up", fact, ""};
  return {Verdict::kWarning, "wake-up", fact,
          "slow: is the machine busy, or are deep idle states on? `cpupower idle-set -D 50` limits them"};
}

Finding check_open_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const bool unlimited = limit.rlim_cur == RLIM_INFINITY;
  const std::string fact = (unlimited ? "unlimited" : std::to_string(limit.rlim_cur)) + " per process";
  constexpr rlim_t kReserved = 64;  // for the program itself
  if (unlimited || limit.rlim_cur >= 4096) return {Verdict::kOk, "open files", fact, ""};
  const std::string ranks = std::to_string(limit.rlim_cur > kReserved ? limit.rlim_cur - kReserved : 0);
  const Verdict verdict = limit.rlim_cur < 256 ? Verdict::kError : Verdict::kOk;
  return {verdict, "open files", fact + ", enough for about " + ranks + " connections over TCP",
          verdict == Verdict::kOk ? "" : "raise it with ulimit -n 4096"};
}

Finding check_shared_memory() {
  const int fd = static_cast<int>(::syscall(SYS_memfd_create, "lapwing-doctor", 1u /* MFD_CLOEXEC */));
  if (fd < 0) {
    return {Verdict::kError, "shared memory", std::string("memfd_create: ") + std::strerror(errno),
            "allow memfd_create (Linux 3.17 or later; a container's seccomp profile may forbid it), or use "
            "LAPWING_TRANSPORTS=tcp"};
  }
  constexpr std::size_t kSize = 1 << 20;
  void* memory =
      ::ftruncate(fd, kSize) == 0 ? ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  const int error = errno;
  ::close(fd);
  if (memory == MAP_FAILED) {
    return {Verdict::kError, "shared memory", std::string("mapping 1 MiB: ") + std::strerror(error),
            "raise the memory limit, or use LAPWING_TRANSPORTS=tcp"};
  }
  std::memset(memory, 1, kSize);
  ::munmap(memory, kSize);
  return {Verdict::kOk, "shared memory", "memfd_create and mmap work", ""};
}

Finding check_single_copy() {
  const std::string scope = read_small_file("/proc/sys/kernel/yama/ptrace_scope");
  const int level = scope.empty() ? 0 : std::atoi(scope.c_str());
  if (!can_read_other_process()) {
    return {Verdict::kWarning, "single copy",
            "process_vm_readv is refused; large messages go through shared memory twice",
            "for the faster way allow it: kernel.yama.ptrace_scope=0, or the container capability SYS_PTRACE"};
  }
  // Level 1 lets only ancestors read, and siblings that are told to allow it by name; root passes all the same.
  if (level >= 1 && ::geteuid() != 0) {
    return {Verdict::kOk, "single copy",
            "process_vm_readv works; kernel.yama.ptrace_scope is " + std::to_string(level) +
                ", so ranks must name each other",
            ""};
  }
  return {Verdict::kOk, "single copy", "process_vm_readv works", ""};
}

Finding check_event_calls() {
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  const int event = ::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
  const int timer = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  epoll_event wanted{};
  wanted.events = EPOLLIN | EPOLLET;
  epoll_event seen{};
  const bool works = epoll >= 0 && event >= 0 && timer >= 0 && ::epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wanted) == 0 &&
                     ::epoll_wait(epoll, &seen, 1, 0) == 1;
  const int error = errno;
  for (const int fd : {epoll, event, timer}) {
    if (fd >= 0) ::close(fd);
  }
  if (works) return {Verdict::kOk, "events", "epoll, eventfd and timerfd work", ""};
  return {Verdict::kError, "events", std::string("epoll, eventfd or timerfd fails: ") + std::strerror(error),
          "Linux 5.4 or later is needed, and a container profile that allows these calls"};
}

}  // namespace lapwing::launch
