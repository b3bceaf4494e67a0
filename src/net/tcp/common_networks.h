// The networks that two hosts share, as far as the cards of two of their processes show. Pure; both sides find the same ones in the same order.
#pragma once

#include <vector>

#include "net/tcp/address.h"

namespace lapwing::net::tcp {

// One address of each of the two in one network; of the process whose name is lower, and of the other.
struct CommonNetwork {
  Address low, high;
};

// Not loopback, link-local networks, last resorts, and what both have the same address in (container bridges). Those of IPv4, and where there are
// none those of IPv6: both mostly lead over the same wires.
std::vector<CommonNetwork> common_networks(const std::vector<Address>& low, const std::vector<Address>& high);

}  // namespace lapwing::net::tcp
