// Which of a peer's addresses to try, and in which order: never simply the first of its list.
#pragma once

#include <functional>
#include <vector>

#include "net/tcp/address.h"
#include "net/tcp/interfaces.h"

namespace lapwing::net::tcp {

enum class Route {
  kNone,    // the kernel knows no way there
  kDirect,  // through an ordinary interface
  kTunnel,  // through a point-to-point interface
};
using RouteFinder = std::function<Route(const Address&)>;

// A peer on the same host: its loopback addresses, then the others. A peer elsewhere: addresses in a network that one
// of `own` is in (the narrowest network first), then routable ones, then through tunnels, then last resorts. Left out:
// loopback, addresses without a route (neighbours are taken to have one), and addresses that this host has itself (container bridges have the same
// one everywhere).
std::vector<Address> order_candidates(const std::vector<Address>& peer, const std::vector<Interface>& own,
                                      bool same_host, const RouteFinder& route);

// `unreached` did not answer: what leads through the same interface of this host as it comes last.
void put_last(std::vector<Address>& candidates, const Address& unreached, const std::vector<Interface>& own);

// Asks the kernel, with a UDP socket that sends nothing.
Route find_route(const Address& address, const std::vector<Interface>& own);

}  // namespace lapwing::net::tcp
