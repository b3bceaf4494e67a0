#include "net/ether/rights.h"

#include <linux/capability.h>
#include <sys/resource.h>

#include <cstdio>
#include <memory>

namespace lapwing::net::ether {
namespace {

// Older headers have no number for it.
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

constexpr struct {
  int number;
  const char* name;
} kNeeded[] = {{CAP_NET_RAW, "CAP_NET_RAW"}, {CAP_BPF, "CAP_BPF"}, {CAP_NET_ADMIN, "CAP_NET_ADMIN"}, {CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}};

bool has(std::uint64_t effective, int capability) noexcept {
  return (effective >> capability & 1) != 0;
}

// 0: not known, so none.
std::uint64_t effective_capabilities() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/status", "re"), &std::fclose);
  unsigned long long effective = 0;
  for (char line[256]; file && std::fgets(line, sizeof line, file.get()) != nullptr;) {
    if (std::sscanf(line, "CapEff: %llx", &effective) == 1) break;
  }
  return effective;
}

}  // namespace

std::string lacking_rights(std::uint64_t effective, std::uint64_t lockable) {
  std::string lacking;
  for (const auto& needed : kNeeded) {
    if (!has(effective, needed.number)) lacking += (lacking.empty() ? "" : ", ") + std::string(needed.name);
  }
  if (lockable < kLockedBytes && !has(effective, CAP_IPC_LOCK)) lacking += (lacking.empty() ? "" : ", ") + std::string("8 MiB of lockable memory (ulimit -l)");
  return lacking;
}

std::string lacking_rights() {
  rlimit limit{};
  const bool known = getrlimit(RLIMIT_MEMLOCK, &limit) == 0;
  return lacking_rights(effective_capabilities(), known ? limit.rlim_cur : 0);
}

}  // namespace lapwing::net::ether
