// Which processes share memory and loopback: equal text means the same host, as far as Lapwing is concerned.
//
// Made of the kernel's boot id, the network namespace (abstract sockets and loopback end there) and the user: two containers
// on one machine are two hosts unless they share the network.
#pragma once

#include <string>

namespace lapwing::runtime {

std::string host_identity();
// For tests: the name of the host that this rank is to count as being on, though all ranks run on one machine. LAPWING_INTERNAL_HOSTS has a
// letter for each rank, and begins again where ranks are more: "0012" puts ranks 0, 1, 4 and 5 on one host. Empty: nothing is emulated.
std::string emulated_host(int rank);
// Names the network namespace of this process, as mpiexec does for LAPWING_INTERNAL_NETWORK.
std::string network_namespace();
// The host's name as it calls itself, never looked up.
std::string host_name();

// How many cores this process may use: its affinity mask, cut by the control group's quota; at least 1.
int usable_cores();

}  // namespace lapwing::runtime
