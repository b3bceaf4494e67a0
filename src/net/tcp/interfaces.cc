#include "net/tcp/interfaces.h"

#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <string_view>

namespace lapwing::net::tcp {
namespace {

// Bridges and pairs that container runtimes and hypervisors make: every host has its own behind the same addresses.
constexpr std::string_view kBridgePrefixes[] = {"docker", "br-",   "virbr", "veth",  "cni",     "podman",
                                                "lxc",    "lxdbr", "cali",  "vmnet", "vboxnet", "nerdctl"};

bool is_bridge(std::string_view name) {
  return std::any_of(std::begin(kBridgePrefixes), std::end(kBridgePrefixes),
                     [name](std::string_view prefix) { return name.substr(0, prefix.size()) == prefix; });
}

std::uint8_t prefix_length_of(const sockaddr* mask) {
  if (mask == nullptr) return 0;
  const Address address = Address::from_sockaddr(mask);
  unsigned length = 0;
  for (std::size_t i = 0; i < address.byte_count(); ++i)
    length += static_cast<unsigned>(std::popcount(address.bytes[i]));
  return static_cast<std::uint8_t>(length);
}

// "192.0.2.0/24".
bool parse_network(std::string_view text, Address& network) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || !parse_address(text.substr(0, slash), network)) return false;
  const std::string_view digits = text.substr(slash + 1);
  unsigned length = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (error != std::errc() || end != digits.data() + digits.size() || length > network.byte_count() * 8) return false;
  network.prefix_length = static_cast<std::uint8_t>(length);
  return true;
}

bool matches(const Interface& interface, const std::string& wish) {
  Address network;
  if (parse_network(wish, network)) return network.network_contains(interface.address);
  return interface.name == wish;
}

bool contains(const std::vector<Interface>& list, const Interface& interface) {
  return std::any_of(list.begin(), list.end(), [&](const Interface& other) {
    return other.name == interface.name && other.address.same_host_address(interface.address);
  });
}

Status nothing_matches(const std::vector<Interface>& all, const std::vector<std::string>& wanted) {
  std::string wishes, present;
  for (const std::string& wish : wanted) wishes += (wishes.empty() ? "" : ",") + wish;
  for (const Interface& interface : all) {
    if (!interface.up || interface.address.is_loopback()) continue;
    present += (present.empty() ? "" : ", ") + interface.name + " (" + interface.address.text_without_port() + "/" +
               std::to_string(interface.address.prefix_length) + ")";
  }
  return Status::error(MPI_ERR_OTHER,
                       "LAPWING_TCP_INTERFACE=%s matches no network interface that is up; this host has %s",
                       wishes.c_str(), present.empty() ? "none but loopback" : present.c_str());
}

}  // namespace

std::vector<Interface> list_interfaces() {
  std::vector<Interface> result;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return result;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    if (entry->ifa_addr->sa_family != AF_INET && entry->ifa_addr->sa_family != AF_INET6) continue;
    Interface interface;
    interface.name = entry->ifa_name;
    interface.address = Address::from_sockaddr(entry->ifa_addr);
    interface.address.prefix_length = prefix_length_of(entry->ifa_netmask);
    interface.up = (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_RUNNING) != 0;
    interface.point_to_point = (entry->ifa_flags & IFF_POINTOPOINT) != 0;
    result.push_back(std::move(interface));
  }
  freeifaddrs(first);
  return result;
}

Status usable_interfaces(const std::vector<Interface>& all, const std::vector<std::string>& wanted,
                         std::vector<Interface>& usable) {
  usable.clear();
  if (!wanted.empty()) {
    for (const std::string& wish : wanted) {
      for (const Interface& interface : all) {
        // A link-local IPv6 address needs a scope that means nothing on another host.
        if (!interface.up || (interface.address.family == AF_INET6 && interface.address.is_link_local())) continue;
        if (matches(interface, wish) && !contains(usable, interface)) usable.push_back(interface);
      }
    }
    return usable.empty() ? nothing_matches(all, wanted) : Status();
  }
  for (const Interface& interface : all) {
    if (!interface.up || interface.point_to_point) continue;
    if (interface.address.is_loopback() || interface.address.is_link_local()) continue;
    usable.push_back(interface);
    usable.back().address.last_resort = is_bridge(interface.name);
  }
  std::stable_sort(usable.begin(), usable.end(), [](const Interface& a, const Interface& b) {
    return a.address.last_resort < b.address.last_resort;
  });
  return {};
}

std::vector<Interface> loopback_interfaces(const std::vector<Interface>& all) {
  std::vector<Interface> result;
  for (const sa_family_t family : {sa_family_t{AF_INET}, sa_family_t{AF_INET6}}) {
    for (const Interface& interface : all) {
      if (interface.up && interface.address.family == family && interface.address.is_loopback()) {
        result.push_back(interface);
      }
    }
  }
  return result;
}

}  // namespace lapwing::net::tcp
