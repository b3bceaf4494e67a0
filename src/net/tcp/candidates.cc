#include "net/tcp/candidates.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "net/tcp/socket.h"

namespace lapwing::net::tcp {
namespace {

// Smaller is better. Classes are far enough apart for the size of the network to order within the first.
enum : int { kSameNetwork = 0, kRoutable = 1000, kTunnelled = 2000, kLastResort = 3000, kUnreachable = 4000 };

bool is_own(const Address& address, const std::vector<Interface>& own) {
  return std::any_of(own.begin(), own.end(),
                     [&](const Interface& interface) { return interface.address.same_host_address(address); });
}

// How many bits number the hosts of the narrowest network in which `address` is a neighbour; kUnreachable when there is none. So
// IPv4 comes before IPv6 on the same wire, where its packets carry 20 bytes more: 1.4 % of a stream over Ethernet.
int neighbourhood(const Address& address, const std::vector<Interface>& own) {
  const int bits = address.family == AF_INET6 ? 128 : 32;
  int narrowest = kUnreachable;
  for (const Interface& interface : own) {
    if (!interface.up || interface.point_to_point || interface.address.last_resort) continue;
    if (interface.address.network_contains(address))
      narrowest = std::min(narrowest, bits - static_cast<int>(interface.address.prefix_length));
  }
  return narrowest;
}

// The kernel is not asked about a neighbour: an interface that is up leads there, and to ask takes five system calls.
int cost_elsewhere(const Address& address, const std::vector<Interface>& own, const RouteFinder& route) {
  if (address.is_loopback() || is_own(address, own)) return kUnreachable;
  const int bits = address.last_resort ? kUnreachable : neighbourhood(address, own);
  if (bits != kUnreachable) return kSameNetwork + bits;
  const Route way = route(address);
  if (way == Route::kNone) return kUnreachable;
  if (address.last_resort) return kLastResort;
  return way == Route::kTunnel ? kTunnelled : kRoutable;
}

}  // namespace

std::vector<Address> order_candidates(const std::vector<Address>& peer, const std::vector<Interface>& own,
                                      bool same_host, const RouteFinder& route) {
  std::vector<std::pair<int, Address>> rated;
  for (const Address& address : peer) {
    const int cost =
        same_host ? (address.is_loopback() ? kSameNetwork : kRoutable) : cost_elsewhere(address, own, route);
    if (cost < kUnreachable) rated.emplace_back(cost, address);
  }
  std::stable_sort(rated.begin(), rated.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Address> result;
  result.reserve(rated.size());
  for (auto& entry : rated) result.push_back(entry.second);
  return result;
}

void put_last(std::vector<Address>& candidates, const Address& unreached, const std::vector<Interface>& own) {
  const auto lies_behind = [](const Address& address, const Interface& interface) { return interface.address.network_contains(address); };
  const auto shares_interface = [&](const Address& address) {
    return address.same_host_address(unreached) || std::any_of(own.begin(), own.end(), [&](const Interface& interface) {
      return lies_behind(address, interface) && std::any_of(own.begin(), own.end(), [&](const Interface& other) {
        return other.name == interface.name && lies_behind(unreached, other);
      });
    });
  };
  std::stable_partition(candidates.begin(), candidates.end(), [&](const Address& address) { return !shares_interface(address); });
}

Route find_route(const Address& address, const std::vector<Interface>& own) {
  const Socket probe(::socket(address.family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_storage target;
  const socklen_t length = address.to_sockaddr(target);
  if (!probe) return Route::kDirect;  // this process has no descriptor to ask with
  if (::connect(probe.fd(), reinterpret_cast<sockaddr*>(&target), length) != 0) return Route::kNone;
  const Address source = probe.local_address();
  for (const Interface& interface : own) {
    if (interface.address.same_host_address(source)) return interface.point_to_point ? Route::kTunnel : Route::kDirect;
  }
  return Route::kDirect;
}

}  // namespace lapwing::net::tcp
