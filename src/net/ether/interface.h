// The Ethernet interface by which this rank speaks, and how peers are told of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "net/ether/mac.h"

namespace lapwing::net::ether {

struct Interface {
  std::string name;
  unsigned index = 0;
  Mac mac{};
  unsigned mtu = 0;
  std::uint32_t address = 0;  // of IPv4, as a number; 0: it has none
  std::string network;        // "192.0.2.0/24"; "-" where it has no address
};

// The first of `wanted` (LAPWING_ETHER_INTERFACE) that there is, is up and is an Ethernet; without a wish the first with an address, else the first.
Status choose_interface(const std::vector<std::string>& wanted, Interface& chosen);

// Whether it still is in this network namespace.
bool is_there(const Interface& interface) noexcept;

// Of the interface with this name, as ethtool says it; empty where that is not told.
std::string driver_of(const std::string& name);

// How many queues it receives with, each of which one socket can have; 1 where the driver does not tell.
unsigned receive_queues(const std::string& name);

// What a rank publishes in its card under "ether": where it can be reached, straight by those on the same segment, and by UDP.
struct Contact {
  Mac mac{};
  std::uint16_t endpoint = 0;  // its number
  unsigned mtu = 0;
  std::string network;
  bool raw = false;      // it takes packets straight on Ethernet
  wire::UdpAddress udp;  // without a port: it takes no datagrams
};
std::string encode_contact(const Contact& contact);
bool decode_contact(std::string_view text, Contact& contact);

}  // namespace lapwing::net::ether
