#include "net/ether/interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netpacket/packet.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <memory>

namespace lapwing::net::ether {
namespace {

using Addresses = std::unique_ptr<ifaddrs, void (*)(ifaddrs*)>;

Addresses all_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) list = nullptr;
  return {list, &freeifaddrs};
}

bool is_ethernet(const ifaddrs& entry) noexcept {
  if (entry.ifa_addr == nullptr || entry.ifa_addr->sa_family != AF_PACKET) return false;
  const auto& link = reinterpret_cast<const sockaddr_ll&>(*entry.ifa_addr);
  return (entry.ifa_flags & IFF_UP) != 0 && link.sll_hatype == ARPHRD_ETHER && link.sll_halen == Mac().size();
}

// Its first IPv4 address.
void find_address(const ifaddrs* list, Interface& interface) {
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET || entry->ifa_netmask == nullptr || interface.name != entry->ifa_name)
      continue;
    const std::uint32_t mask = reinterpret_cast<const sockaddr_in*>(entry->ifa_netmask)->sin_addr.s_addr;
    const std::uint32_t address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr.s_addr;
    const in_addr network{address & mask};
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &network, text, sizeof text);
    interface.address = ntohl(address);
    interface.network = std::string(text) + "/" + std::to_string(std::popcount(mask));
    return;
  }
  interface.network = "-";
}

// `request` holds what the ioctl takes and gives, besides the name.
bool ask(const std::string& name, unsigned long what, ifreq& request) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
  const bool told = fd >= 0 && ioctl(fd, what, &request) == 0;
  if (fd >= 0) ::close(fd);
  return told;
}

unsigned mtu_of(const std::string& name) {
  ifreq request{};
  return ask(name, SIOCGIFMTU, request) && request.ifr_mtu > 0 ? static_cast<unsigned>(request.ifr_mtu) : 0;
}

std::vector<Interface> list_interfaces() {
  const Addresses addresses = all_addresses();
  std::vector<Interface> found;
  for (const ifaddrs* entry = addresses.get(); entry != nullptr; entry = entry->ifa_next) {
    if (!is_ethernet(*entry)) continue;
    const auto& link = reinterpret_cast<const sockaddr_ll&>(*entry->ifa_addr);
    Interface& interface = found.emplace_back();
    interface.name = entry->ifa_name;
    interface.index = static_cast<unsigned>(link.sll_ifindex);
    std::copy_n(link.sll_addr, interface.mac.size(), interface.mac.begin());
    interface.mtu = mtu_of(interface.name);
    find_address(addresses.get(), interface);
  }
  return found;
}

bool next_field(std::string_view& text, std::string_view& field) {
  if (text.empty()) return false;
  const std::size_t comma = std::min(text.find(','), text.size());
  field = text.substr(0, comma);
  text.remove_prefix(std::min(comma + 1, text.size()));
  return true;
}

template <typename Number>
bool parse_number(std::string_view text, Number most, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number <= most;
}

}  // namespace

std::string text_of(const Mac& mac) {
  char text[18];
  std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
  return text;
}

bool parse_mac(std::string_view text, Mac& mac) {
  if (text.size() != 17) return false;
  for (std::size_t i = 0; i < mac.size(); ++i) {
    const char* digits = text.data() + 3 * i;
    if (i != 0 && digits[-1] != ':') return false;
    const auto [end, error] = std::from_chars(digits, digits + 2, mac[i], 16);
    if (error != std::errc() || end != digits + 2) return false;
  }
  return true;
}

bool is_there(const Interface& interface) noexcept {
  char name[IF_NAMESIZE];
  return ::if_indextoname(interface.index, name) != nullptr;
}

std::string driver_of(const std::string& name) {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  ifreq request{};
  request.ifr_data = reinterpret_cast<char*>(&info);
  return ask(name, SIOCETHTOOL, request) ? info.driver : "";
}

unsigned receive_queues(const std::string& name) {
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  ifreq request{};
  request.ifr_data = reinterpret_cast<char*>(&channels);
  return ask(name, SIOCETHTOOL, request) ? std::max(channels.rx_count + channels.combined_count, 1u) : 1;
}

Status choose_interface(const std::vector<std::string>& wanted, Interface& chosen) {
  const std::vector<Interface> all = list_interfaces();
  std::string names;
  for (const Interface& interface : all) names += (names.empty() ? "" : ", ") + interface.name;
  for (const std::string& name : wanted) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Interface& interface) { return interface.name == name; });
    if (found == all.end()) continue;
    chosen = *found;
    return {};
  }
  if (!wanted.empty())
    return Status::error(MPI_ERR_ARG, "LAPWING_ETHER_INTERFACE names no Ethernet interface that is up; there are: %s", names.empty() ? "none" : names.c_str());
  const auto addressed = std::find_if(all.begin(), all.end(), [](const Interface& interface) { return interface.network != "-"; });
  if (all.empty()) return Status::error(MPI_ERR_OTHER, "this host has no Ethernet interface that is up");
  chosen = addressed != all.end() ? *addressed : all.front();
  return {};
}

std::string encode_contact(const Contact& contact) {
  return text_of(contact.mac) + "," + std::to_string(contact.endpoint) + "," + std::to_string(contact.mtu) + "," + contact.network + "," +
         (contact.raw ? "raw" : "-") + "," + wire::text_of(contact.udp);
}

bool decode_contact(std::string_view text, Contact& contact) {
  std::string_view mac, queue, mtu, network, raw, udp;
  for (std::string_view* field : {&mac, &queue, &mtu, &network, &raw, &udp}) {
    if (!next_field(text, *field)) return false;
  }
  contact.network = network;
  contact.raw = raw == "raw";
  return text.empty() && (contact.raw || raw == "-") && wire::parse_udp_address(udp, contact.udp) && parse_mac(mac, contact.mac) &&
         parse_number<std::uint16_t>(queue, 0xffff, contact.endpoint) && parse_number<unsigned>(mtu, 1u << 16, contact.mtu);
}

}  // namespace lapwing::net::ether
