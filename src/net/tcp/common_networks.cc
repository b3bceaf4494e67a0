#include "net/tcp/common_networks.h"

#include <sys/socket.h>

#include <algorithm>

namespace lapwing::net::tcp {
namespace {

bool joins_hosts(const Address& address) noexcept {
  return !address.is_loopback() && !address.is_link_local() && !address.last_resort;
}

bool share_network(const Address& a, const Address& b) noexcept {
  return a.prefix_length == b.prefix_length && a.network_contains(b) && !a.same_host_address(b);
}

bool same_network(const CommonNetwork& a, const CommonNetwork& b) noexcept {
  return a.low.prefix_length == b.low.prefix_length && a.low.network_contains(b.low);
}

std::vector<CommonNetwork> of_family(sa_family_t family, const std::vector<Address>& low, const std::vector<Address>& high) {
  std::vector<CommonNetwork> all, result;
  for (const Address& ours : low) {
    for (const Address& theirs : high) {
      if (ours.family == family && joins_hosts(ours) && joins_hosts(theirs) && share_network(ours, theirs)) all.push_back({ours, theirs});
    }
  }
  std::sort(all.begin(), all.end(), [](const CommonNetwork& a, const CommonNetwork& b) {
    return a.low.bytes != b.low.bytes ? a.low.bytes < b.low.bytes : a.high.bytes < b.high.bytes;
  });
  for (const CommonNetwork& network : all) {
    if (std::none_of(result.begin(), result.end(), [&](const CommonNetwork& other) { return same_network(network, other); }))
      result.push_back(network);
  }
  return result;
}

}  // namespace

std::vector<CommonNetwork> common_networks(const std::vector<Address>& low, const std::vector<Address>& high) {
  std::vector<CommonNetwork> result = of_family(AF_INET, low, high);
  return result.empty() ? of_family(AF_INET6, low, high) : result;
}

}  // namespace lapwing::net::tcp
