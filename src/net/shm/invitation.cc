#include "net/shm/invitation.h"

#include <charconv>

#include "net/shm/handover.h"

namespace lapwing::net::shm {
namespace {

// Takes the text up to the next comma.
std::string_view take_field(std::string_view& text) {
  const std::size_t comma = text.find(',');
  const std::string_view field = text.substr(0, comma);
  text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  return field;
}

template <typename Integer>
bool parse_number(std::string_view text, int base, Integer& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return result.ec == std::errc{} && result.ptr == text.data() + text.size();
}

std::string hex_number(std::uint64_t value) {
  char text[16];
  const auto result = std::to_chars(text, text + sizeof text, value, 16);
  return std::string(text, result.ptr);
}

bool parse_hex(std::string_view text, std::string& bytes) {
  bytes.clear();
  if (text.size() != 2 * Listener::kTokenBytes) return false;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned char byte = 0;
    if (!parse_number(text.substr(i, 2), 16, byte)) return false;
    bytes += static_cast<char>(byte);
  }
  return true;
}

}  // namespace

std::string Invitation::encode() const {
  return name + ',' + to_hex(token.data(), token.size()) + ',' + std::to_string(process.pid) + ',' +
         hex_number(probe_address) + ',' + hex_number(probe_value) + ',' + std::to_string(process.pid_namespace) + ',' +
         std::to_string(process.start_time);
}

bool Invitation::decode(std::string_view text, Invitation& invitation) {
  invitation.name = take_field(text);
  if (invitation.name.empty() || invitation.name.size() > 64) return false;
  ProcessName& process = invitation.process;
  return parse_hex(take_field(text), invitation.token) && parse_number(take_field(text), 10, process.pid) &&
         process.pid > 0 && parse_number(take_field(text), 16, invitation.probe_address) &&
         parse_number(take_field(text), 16, invitation.probe_value) &&
         parse_number(take_field(text), 10, process.pid_namespace) &&
         parse_number(take_field(text), 10, process.start_time) && text.empty();
}

}  // namespace lapwing::net::shm
