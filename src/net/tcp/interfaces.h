// The network interfaces of this host, and which of their addresses TCP listens on.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "net/tcp/address.h"

namespace lapwing::net::tcp {

// One address of one interface.
struct Interface {
  std::string name;
  Address address;  // port 0
  bool up = true;
  bool point_to_point = false;  // a tunnel: reaches one machine, slowly
};

// All of this host.
std::vector<Interface> list_interfaces();

// The addresses that peers on other hosts may use, best first: those of interfaces that are up, without loopback,
// tunnels and link-local addresses, bridges for containers and virtual machines last. `wanted` (LAPWING_TCP_INTERFACE;
// names, or networks "192.0.2.0/24") replaces that choice by the user's, in the user's order; naming nothing that
// exists is an error.
Status usable_interfaces(const std::vector<Interface>& all, const std::vector<std::string>& wanted,
                         std::vector<Interface>& usable);

// The loopback addresses that this host has, IPv4 first.
std::vector<Interface> loopback_interfaces(const std::vector<Interface>& all);

}  // namespace lapwing::net::tcp
