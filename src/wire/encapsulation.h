// What stands before a packet (packet.h) on an Ethernet: the Ethernet header alone, with an EtherType of this library's (raw), or headers of
// Ethernet, IPv4 and UDP, for networks that route or that pass nothing but IP. docs/wire-format.md has the bytes. All in the byte order of networks.
//
//   raw   | to (6) | from (6) | EtherType (2) | packet ...
//   udp   | to (6) | from (6) | 0x0800 (2) | IPv4 (20) | UDP (8) | packet ...
//
// Datagrams are sent with "don't fragment" (a fragment has no ports, so nothing could tell whose it is), a time to live of 64, and without UDP's
// checksum, which IPv4 lets a sender leave out (RFC 768): the NIC checks each link's frames, LAPWING_WIRE=checked has a better check of what is in
// between, and the sum would read each packet once more. IPv6 requires it, and is not done.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lapwing::wire {

using MacAddress = std::array<std::uint8_t, 6>;

// An IPv4 address, as a number, and a port; 0: none.
struct UdpAddress {
  std::uint32_t address = 0;
  std::uint16_t port = 0;
  bool operator==(const UdpAddress&) const = default;
};
// "192.0.2.7:27182"; "-" where there is none.
std::string text_of(const UdpAddress& address);
bool parse_udp_address(std::string_view text, UdpAddress& address);

enum class Framing : std::uint8_t { kRaw, kUdp };

inline constexpr std::size_t kEthernetHeaderBytes = 14;
inline constexpr std::size_t kUdpHeadersBytes = 28;  // of IPv4 and of UDP

// The headers that all packets to one receiver have, made once.
class Encapsulation {
 public:
  static constexpr std::size_t kMostBytes = kEthernetHeaderBytes + kUdpHeadersBytes;

  Encapsulation() noexcept = default;
  static Encapsulation raw(const MacAddress& to, const MacAddress& from, std::uint16_t ether_type) noexcept;
  // `next_hop`: the peer's own Ethernet address, or that of the router which leads there.
  static Encapsulation udp(const MacAddress& next_hop, const MacAddress& from, const UdpAddress& to, const UdpAddress& own) noexcept;

  std::size_t bytes() const noexcept { return bytes_; }
  Framing framing() const noexcept { return bytes_ > kEthernetHeaderBytes ? Framing::kUdp : Framing::kRaw; }
  // Where datagrams go; without a port: they are none.
  UdpAddress to() const noexcept;
  // Writes them in front of a packet of `count` bytes.
  void write(std::byte* packet, std::size_t count) const noexcept;

 private:
  std::array<std::byte, kMostBytes> headers_{};  // those of IPv4 and UDP without lengths and checksum
  std::uint32_t sum_ = 0;                        // of the IPv4 header's words
  std::uint8_t bytes_ = kEthernetHeaderBytes;
};

// What a frame that has come holds. Whom it is for the program in the kernel has looked at (src/net/ether/steer.bpf.c).
struct Decapsulated {
  Framing framing = Framing::kRaw;
  std::span<const std::byte> packet;  // with what Ethernet fills short ones up with; empty: there is none
};
Decapsulated decapsulate(std::span<const std::byte> frame, std::uint16_t ether_type) noexcept;

}  // namespace lapwing::wire
