// Which congestion control the kernel uses on connections: that of the host (net.ipv4.tcp_congestion_control), or of the route, unless
// LAPWING_TCP_CONGESTION names another. Where no wire lies between the ranks of a job, nothing can congest, and BBR, which paces all the same, makes
// streams take two to three times as long: there it is one that does not.
#pragma once

#include <string>

#include "base/status.h"

namespace lapwing::net::tcp {

// For loopback: one that every kernel has and lets every user choose, and that does not pace.
const std::string& congestion_control_of_loopback() noexcept;
// For containers and network namespaces of one machine, between which an administrator may have put a limit: CUBIC, which keeps such a link fuller
// than Reno does, if this process may choose it.
std::string congestion_control_of_machine();

// Before the socket's connection is made, because one that has been BBR's for a moment is paced for ever; what a listening socket has counts for those
// that it accepts from then on. An empty name leaves it as it is. Returns 0 or an errno value: ENOENT, the kernel has none of that name; EPERM, this
// user may not choose it.
int set_congestion_control(int fd, const std::string& name) noexcept;

// Whether this process may use what LAPWING_TCP_CONGESTION names; empty: yes.
Status check_congestion_control(const std::string& name);

}  // namespace lapwing::net::tcp
