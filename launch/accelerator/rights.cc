#include "accelerator/rights.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace lapwing::launch {
namespace {

// Older headers have no number for it.
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

std::uint64_t needed_rights(bool for_ether) noexcept {
  return std::uint64_t{1} << CAP_BPF | std::uint64_t{1} << CAP_NET_ADMIN | (for_ether ? std::uint64_t{1} << CAP_NET_RAW : 0);
}

using Sets = std::array<__user_cap_data_struct, 2>;

__user_cap_header_struct header() noexcept {
  return {_LINUX_CAPABILITY_VERSION_3, 0};
}

// Where this process may. A program that it started could not get more in any case (no_new_privs), and it starts none.
void empty_bounding_set(std::uint64_t rights) noexcept {
  for (unsigned long capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    if (capability >= 64 || (rights >> capability & 1) == 0) ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
}

// The memory of raw Ethernet's sockets is locked by this process, for all of its ranks together.
bool lift_limit_of_locked_memory() noexcept {
  const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
  return ::setrlimit(RLIMIT_MEMLOCK, &none) == 0;
}

}  // namespace

Status keep_only_needed_rights(bool for_ether) {
  std::uint64_t rights = needed_rights(for_ether);
  Sets sets{};
  __user_cap_header_struct head = header();
  if (::syscall(SYS_capget, &head, sets.data()) != 0)
    return Status::error(MPI_ERR_OTHER, "the rights of this process are not known: %s", std::strerror(errno));
  const std::uint64_t permitted = sets[0].permitted | std::uint64_t{sets[1].permitted} << 32;
  if ((permitted & rights) != rights)
    return Status::error(MPI_ERR_OTHER,
                         "the accelerator needs CAP_BPF and CAP_NET_ADMIN%s: root has them, or a service manager gives them to another user",
                         for_ether ? ", and CAP_NET_RAW for raw Ethernet" : "");
  // A root that may not lift limits (in a container) may have the right that makes them not count.
  if (for_ether && !lift_limit_of_locked_memory()) rights |= permitted & std::uint64_t{1} << CAP_IPC_LOCK;
  empty_bounding_set(rights);
  for (std::size_t half = 0; half < sets.size(); ++half) {
    const auto needed = static_cast<std::uint32_t>(rights >> (32 * half));
    sets[half] = {needed, needed, 0};
  }
  head = header();
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 ||
      ::syscall(SYS_capset, &head, sets.data()) != 0)
    return Status::error(MPI_ERR_OTHER, "rights that are not needed cannot be given up: %s", std::strerror(errno));
  return {};
}

}  // namespace lapwing::launch
