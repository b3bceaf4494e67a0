// What machine a host's identity belongs to. Cards carry identities under "host": text that is equal on ranks that share memory and loopback.
// Such text is the kernel's boot id, the network namespace and the user (runtime/host_identity.h).
// In tests one machine plays several hosts, whose names stand behind a mark: they share no memory, and loopback leads to all of them.
#pragma once

#include <string_view>

namespace lapwing::wire {

inline constexpr char kEmulatedHost = '#';
inline constexpr char kWithinKernel = '/';  // behind it: what distinguishes hosts of one kernel

inline std::string_view machine_of(std::string_view identity) noexcept {
  return identity.substr(0, identity.find(kEmulatedHost));
}

// What runs the machine: containers and network namespaces of one kernel are hosts of their own, with no wire between them.
inline std::string_view kernel_of(std::string_view identity) noexcept {
  return identity.substr(0, identity.find(kWithinKernel));
}

// For people: why two processes of one machine count as being on different hosts. Empty where the identities name different machines, or one host.
const char* why_apart(std::string_view identity, std::string_view other) noexcept;

}  // namespace lapwing::wire
