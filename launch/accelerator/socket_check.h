// Whether the accelerator lets the program see a socket that a rank has sent: it is a TCP connection that stands, in this network namespace, made by
// the user who runs the rank, and nothing else has changed what becomes of its bytes.
//
// What is found is true at that moment; the rank has the socket too. So nothing that the kernel depends on may follow from it: the kernel checks for
// itself what it needs. docs/ethernet.md says what is not checked.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/status.h"

namespace lapwing::launch {

// The text of an error is for the rank.
Status check_socket(int socket, uid_t user);

// By which the kernel tells network namespaces apart; 0: not known.
std::uint64_t own_network_namespace() noexcept;

}  // namespace lapwing::launch
