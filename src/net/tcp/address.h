// An address that a rank listens on, as its card names it: "192.0.2.2:4000/24", "[fd00::2]:4000/64". The prefix length
// tells peers which network the address belongs to; a '~' at the end marks a last resort (a bridge for containers,
// say).
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lapwing::net::tcp {

struct Address {
  sa_family_t family = AF_UNSPEC;        // AF_INET or AF_INET6
  std::array<std::uint8_t, 16> bytes{};  // in network order; IPv4 uses the first four
  std::uint16_t port = 0;
  std::uint8_t prefix_length = 0;
  bool last_resort = false;

  static Address from_sockaddr(const sockaddr* address);
  socklen_t to_sockaddr(sockaddr_storage& out) const noexcept;

  std::size_t byte_count() const noexcept { return family == AF_INET ? 4 : 16; }
  bool is_loopback() const noexcept;
  bool is_link_local() const noexcept;
  bool same_host_address(const Address& other) const noexcept { return family == other.family && bytes == other.bytes; }
  // Whether `other` lies in this address's network.
  bool network_contains(const Address& other) const noexcept;

  // "192.0.2.2:4000", for messages; and without the port.
  std::string text() const;
  std::string text_without_port() const;
};

// The value of the card's key "tcp".
std::string encode_addresses(const std::vector<Address>& addresses);
Status decode_addresses(std::string_view text, std::vector<Address>& addresses);
// "192.0.2.2" or "fd00::2"; false when it is neither.
bool parse_address(std::string_view text, Address& address);

}  // namespace lapwing::net::tcp
