#include "net/tcp/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace lapwing::net::tcp {
namespace {

constexpr std::size_t kMaxAddresses = 64;

// A decimal number of at most `most`; false when `text` is anything else.
bool parse_number(std::string_view text, unsigned most, unsigned& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value <= most;
}

// Cuts `text` at the last `separator`; false when there is none.
bool cut_last(std::string_view text, char separator, std::string_view& before, std::string_view& after) {
  const std::size_t at = text.rfind(separator);
  if (at == std::string_view::npos) return false;
  before = text.substr(0, at);
  after = text.substr(at + 1);
  return true;
}

bool decode_address(std::string_view text, Address& address) {
  if (!text.empty() && text.back() == '~') {
    address.last_resort = true;
    text.remove_suffix(1);
  }
  std::string_view host_and_port, prefix_text, host, port_text;
  if (!cut_last(text, '/', host_and_port, prefix_text) || !cut_last(host_and_port, ':', host, port_text)) return false;
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  unsigned port = 0, prefix = 0;
  if (!parse_address(host, address) || bracketed != (address.family == AF_INET6)) return false;
  if (!parse_number(port_text, 65535, port) || port == 0) return false;
  if (!parse_number(prefix_text, static_cast<unsigned>(address.byte_count() * 8), prefix)) return false;
  address.port = static_cast<std::uint16_t>(port);
  address.prefix_length = static_cast<std::uint8_t>(prefix);
  return true;
}

}  // namespace

Address Address::from_sockaddr(const sockaddr* address) {
  Address result;
  result.family = address->sa_family;
  if (address->sa_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, address, sizeof v4);
    std::memcpy(result.bytes.data(), &v4.sin_addr, 4);
    result.port = ntohs(v4.sin_port);
  } else if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, address, sizeof v6);
    std::memcpy(result.bytes.data(), &v6.sin6_addr, 16);
    result.port = ntohs(v6.sin6_port);
  }
  return result;
}

socklen_t Address::to_sockaddr(sockaddr_storage& out) const noexcept {
  std::memset(&out, 0, sizeof out);
  if (family == AF_INET) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, bytes.data(), 4);
    std::memcpy(&out, &v4, sizeof v4);
    return sizeof v4;
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  std::memcpy(&v6.sin6_addr, bytes.data(), 16);
  std::memcpy(&out, &v6, sizeof v6);
  return sizeof v6;
}

bool Address::is_loopback() const noexcept {
  if (family == AF_INET) return bytes[0] == 127;
  return std::all_of(bytes.begin(), bytes.end() - 1, [](std::uint8_t byte) { return byte == 0; }) && bytes[15] == 1;
}

bool Address::is_link_local() const noexcept {
  if (family == AF_INET) return bytes[0] == 169 && bytes[1] == 254;
  return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

bool Address::network_contains(const Address& other) const noexcept {
  if (family != other.family) return false;
  const std::size_t whole = prefix_length / 8;
  if (!std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(whole), other.bytes.begin())) return false;
  const unsigned rest = prefix_length % 8;
  return rest == 0 || ((bytes[whole] ^ other.bytes[whole]) >> (8 - rest)) == 0;
}

std::string Address::text_without_port() const {
  char buffer[INET6_ADDRSTRLEN] = "";
  inet_ntop(family, bytes.data(), buffer, sizeof buffer);
  return buffer;
}

std::string Address::text() const {
  const std::string host = text_without_port();
  return (family == AF_INET6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string encode_addresses(const std::vector<Address>& addresses) {
  std::string text;
  for (const Address& address : addresses) {
    if (!text.empty()) text += ',';
    text += address.text() + "/" + std::to_string(address.prefix_length);
    if (address.last_resort) text += '~';
  }
  return text;
}

Status decode_addresses(std::string_view text, std::vector<Address>& addresses) {
  addresses.clear();
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
    Address address;
    if (addresses.size() == kMaxAddresses || !decode_address(entry, address)) {
      addresses.clear();
      return Status::error(MPI_ERR_OTHER, "malformed TCP address '%s'", std::string(entry.substr(0, 100)).c_str());
    }
    addresses.push_back(address);
  }
  return {};
}

bool parse_address(std::string_view text, Address& address) {
  const std::string terminated(text);
  address.bytes.fill(0);
  for (const sa_family_t family : {sa_family_t{AF_INET}, sa_family_t{AF_INET6}}) {
    if (inet_pton(family, terminated.c_str(), address.bytes.data()) == 1) {
      address.family = family;
      return true;
    }
  }
  return false;
}

}  // namespace lapwing::net::tcp
