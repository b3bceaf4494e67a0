// What raw Ethernet needs of the process that uses it, and a user or administrator can give it.
#pragma once

#include <cstdint>
#include <string>

namespace lapwing::net::ether {

// Memory of an AF_XDP socket that must be lockable, in bytes (RLIMIT_MEMLOCK), where CAP_IPC_LOCK is missing.
inline constexpr std::uint64_t kLockedBytes = 8u << 20;

// What is missing, for example "CAP_BPF, CAP_NET_ADMIN"; empty: nothing. `effective`: the process's capabilities, a bit each (capability.h);
// `lockable`: bytes that it may lock.
std::string lacking_rights(std::uint64_t effective, std::uint64_t lockable);
// Of this process.
std::string lacking_rights();

}  // namespace lapwing::net::ether
