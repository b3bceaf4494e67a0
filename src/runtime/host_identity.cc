#include "runtime/host_identity.h"

#include <sched.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace lapwing::runtime {
namespace {

std::string first_word(const char* path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

// Cores' worth of time that control group version 2 grants; 0: no limit, or none known.
int quota_cores() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || period <= 0) return 0;
  return std::max(1, static_cast<int>(quota / period));
}

}  // namespace

std::string host_identity() {
  return first_word("/proc/sys/kernel/random/boot_id") + "/" + network_namespace() + "/" + std::to_string(getuid());
}

std::string network_namespace() {
  struct stat network {};
  stat("/proc/self/ns/net", &network);
  return std::to_string(network.st_ino);
}

std::string host_name() {
  utsname names{};
  return uname(&names) == 0 ? names.nodename : "unknown";
}

int usable_cores() {
  // Large enough for any machine Linux runs on; a smaller set than the kernel's would make the call fail.
  constexpr int kMostCores = 8192;
  cpu_set_t* set = CPU_ALLOC(kMostCores);
  int cores = 1;
  if (sched_getaffinity(0, CPU_ALLOC_SIZE(kMostCores), set) == 0) cores = CPU_COUNT_S(CPU_ALLOC_SIZE(kMostCores), set);
  CPU_FREE(set);
  const int quota = quota_cores();
  return std::max(1, quota > 0 ? std::min(cores, quota) : cores);
}

}  // namespace lapwing::runtime
