#include "wire/encapsulation.h"

#include <charconv>
#include <cstring>

namespace lapwing::wire {
namespace {

constexpr std::uint16_t kIpv4Type = 0x0800, kDontFragment = 0x4000, kFragmentBits = 0x3fff;
constexpr std::uint8_t kVersionAndWords = 0x45, kTimeToLive = 64, kUdpProtocol = 17;
// Where fields are in a frame.
constexpr std::size_t kTypeAt = 12, kIpAt = kEthernetHeaderBytes, kIpBytes = 20, kIpLengthAt = kIpAt + 2, kFragmentAt = kIpAt + 6;
constexpr std::size_t kProtocolAt = kIpAt + 9, kIpSumAt = kIpAt + 10, kUdpAt = kIpAt + kIpBytes, kUdpBytes = 8, kUdpLengthAt = kUdpAt + 4;
static_assert(kIpBytes + kUdpBytes == kUdpHeadersBytes);

void store16(std::byte* at, std::uint32_t value) noexcept {
  at[0] = static_cast<std::byte>(value >> 8);
  at[1] = static_cast<std::byte>(value);
}
void store32(std::byte* at, std::uint32_t value) noexcept {
  store16(at, value >> 16);
  store16(at + 2, value);
}
std::uint16_t load16(const std::byte* at) noexcept {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(at[0]) << 8 | std::to_integer<unsigned>(at[1]));
}

// RFC 791: the complement of the words' sum in ones' complement. Twenty bytes' sum takes two steps to fold.
std::uint32_t complement(std::uint32_t sum) noexcept {
  sum = (sum & 0xffff) + (sum >> 16);
  return ~(sum + (sum >> 16)) & 0xffff;
}

bool parse_part(std::string_view& text, char end, std::uint32_t most, std::uint32_t& value) noexcept {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value > most) return false;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  if (end == '\0') return text.empty();
  if (text.empty() || text[0] != end) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string text_of(const UdpAddress& address) {
  if (address.port == 0) return "-";
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += std::to_string(address.address >> shift & 0xff) + (shift == 0 ? ":" : ".");
  return text + std::to_string(address.port);
}

bool parse_udp_address(std::string_view text, UdpAddress& address) {
  if (text == "-") return address = {}, true;
  UdpAddress read;
  std::uint32_t part = 0;
  for (const char end : {'.', '.', '.', ':'}) {
    if (!parse_part(text, end, 255, part)) return false;
    read.address = read.address << 8 | part;
  }
  if (!parse_part(text, '\0', 65535, part) || part == 0) return false;
  read.port = static_cast<std::uint16_t>(part);
  address = read;
  return true;
}

Encapsulation Encapsulation::raw(const MacAddress& to, const MacAddress& from, std::uint16_t ether_type) noexcept {
  Encapsulation made;
  std::memcpy(made.headers_.data(), to.data(), to.size());
  std::memcpy(made.headers_.data() + to.size(), from.data(), from.size());
  store16(made.headers_.data() + kTypeAt, ether_type);
  return made;
}

Encapsulation Encapsulation::udp(const MacAddress& next_hop, const MacAddress& from, const UdpAddress& to, const UdpAddress& own) noexcept {
  Encapsulation made = raw(next_hop, from, kIpv4Type);
  std::byte* const headers = made.headers_.data();
  headers[kIpAt] = std::byte{kVersionAndWords};
  store16(headers + kFragmentAt, kDontFragment);
  headers[kIpAt + 8] = std::byte{kTimeToLive};
  headers[kProtocolAt] = std::byte{kUdpProtocol};
  store32(headers + kIpAt + 12, own.address);
  store32(headers + kIpAt + 16, to.address);
  for (std::size_t at = kIpAt; at < kUdpAt; at += 2) made.sum_ += load16(headers + at);
  store16(headers + kUdpAt, own.port);
  store16(headers + kUdpAt + 2, to.port);
  made.bytes_ = kMostBytes;
  return made;
}

UdpAddress Encapsulation::to() const noexcept {
  if (framing() == Framing::kRaw) return {};
  const std::byte* const address = headers_.data() + kIpAt + 16;
  return {std::uint32_t{load16(address)} << 16 | load16(address + 2), load16(headers_.data() + kUdpAt + 2)};
}

void Encapsulation::write(std::byte* packet, std::size_t count) const noexcept {
  std::byte* const headers = packet - bytes_;
  std::memcpy(headers, headers_.data(), bytes_);
  if (bytes_ == kEthernetHeaderBytes) return;
  const auto length = static_cast<std::uint32_t>(kUdpHeadersBytes + count);
  store16(headers + kIpLengthAt, length);
  store16(headers + kIpSumAt, complement(sum_ + length));
  store16(headers + kUdpLengthAt, length - kIpBytes);
}

Decapsulated decapsulate(std::span<const std::byte> frame, std::uint16_t ether_type) noexcept {
  if (frame.size() < kEthernetHeaderBytes) return {};
  const std::uint16_t type = load16(frame.data() + kTypeAt);
  if (type == ether_type) return {Framing::kRaw, frame.subspan(kEthernetHeaderBytes)};
  if (type != kIpv4Type || frame.size() < Encapsulation::kMostBytes) return {};
  if (frame[kIpAt] != std::byte{kVersionAndWords} || frame[kProtocolAt] != std::byte{kUdpProtocol}) return {};
  if ((load16(frame.data() + kFragmentAt) & kFragmentBits) != 0) return {};
  const std::size_t length = load16(frame.data() + kUdpLengthAt);
  if (length < kUdpBytes || length > frame.size() - kUdpAt || length + kIpBytes != load16(frame.data() + kIpLengthAt)) return {};
  return {Framing::kUdp, frame.subspan(Encapsulation::kMostBytes, length - kUdpBytes)};
}

}  // namespace lapwing::wire
