// Arbitrary Ethernet frames, as a NIC hands them over: the packet that is found in one lies within it, behind the headers of its framing, and what
// our own headers are put before is found again.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/internal_error.h"
#include "wire/encapsulation.h"
#include "wire/packet.h"

namespace {

using namespace lapwing;

constexpr std::uint16_t kEtherType = 0x88b5;

void check(std::span<const std::byte> frame) {
  const auto [framing, packet] = wire::decapsulate(frame, kEtherType);
  if (packet.empty()) return;
  const std::size_t headers = wire::kEthernetHeaderBytes + (framing == wire::Framing::kUdp ? wire::kUdpHeadersBytes : 0);
  LAPWING_CHECK(packet.data() == frame.data() + headers && headers + packet.size() <= frame.size());
  std::vector<std::byte> copy(packet.begin(), packet.end());  // exactly, so that a sanitizer sees every byte too many
  wire::PacketHeader header;
  if (wire::decode(copy.data(), copy.size(), header).ok()) wire::check_holds(header, copy.data(), copy.size());
}

void put_length(std::vector<std::byte>& frame, std::size_t at, std::size_t length) {
  frame[at] = static_cast<std::byte>(length >> 8);
  frame[at + 1] = static_cast<std::byte>(length);
}

void check_own(const wire::Encapsulation& headers, std::span<const std::byte> packet) {
  std::vector<std::byte> frame(headers.bytes());
  frame.insert(frame.end(), packet.begin(), packet.end());
  headers.write(frame.data() + headers.bytes(), packet.size());
  const wire::Decapsulated found = wire::decapsulate(frame, kEtherType);
  LAPWING_CHECK(found.framing == headers.framing() && found.packet.size() == packet.size());
}

}  // namespace

// Arbitrary bytes are neither of our EtherType nor of IPv4: so they are tried as they are, and with the fields in place that are looked at first.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> frame(size);
  if (size != 0) std::memcpy(frame.data(), data, size);
  check(frame);
  if (size >= wire::Encapsulation::kMostBytes) {
    std::memcpy(&frame[12], "\x08\x00\x45", 3);
    std::memcpy(&frame[20], "\x40\x00\x40\x11", 4);
    check(frame);
    put_length(frame, 16, size - 14);
    put_length(frame, 38, size - 34);
    check(frame);
  }
  if (size < 12 || size > 1500) return 0;
  wire::MacAddress to{}, from{};
  std::memcpy(to.data(), data, to.size());
  std::memcpy(from.data(), data + 6, from.size());
  const std::span<const std::byte> packet(frame);
  check_own(wire::Encapsulation::raw(to, from, kEtherType), packet);
  check_own(wire::Encapsulation::udp(to, from, {data[0] * 0x01010101u, 1}, {data[1] * 0x01010101u, 65535}), packet);
  return 0;
}
