#include "wire/card.h"

#include <utility>

namespace lapwing::wire {
namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

bool is_key_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_key(std::string_view key) {
  for (const char c : key) {
    if (!is_key_byte(c)) return false;
  }
  return !key.empty();
}

// Bytes that stand for themselves in a value.
bool is_plain(char c) {
  return c > ' ' && c <= '~' && c != '%' && c != ';' && c != '=';
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

void append_escaped(std::string_view value, std::string& text) {
  for (const char c : value) {
    if (is_plain(c)) {
      text += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      text += '%';
      text += kHexDigits[byte >> 4];
      text += kHexDigits[byte & 15];
    }
  }
}

bool unescape(std::string_view text, std::string& value) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_plain(text[i])) {
      value += text[i];
      continue;
    }
    if (text[i] != '%' || i + 2 >= text.size()) return false;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return false;
    value += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return true;
}

}  // namespace

void Card::set(std::string_view key, std::string_view value) {
  entries_.insert_or_assign(std::string(key), value);
}

const std::string& Card::get(std::string_view key) const noexcept {
  static const std::string kAbsent;
  const auto entry = entries_.find(key);
  return entry == entries_.end() ? kAbsent : entry->second;
}

bool Card::has(std::string_view key) const noexcept {
  return entries_.find(key) != entries_.end();
}

std::string Card::encode() const {
  std::string text;
  for (const auto& [key, value] : entries_) {
    if (!text.empty()) text += ';';
    text += key;
    text += '=';
    append_escaped(value, text);
  }
  return text;
}

Status Card::decode(std::string_view text, Card& card) {
  card.entries_.clear();
  if (text.size() > kMaxBytes) {
    return Status::error(MPI_ERR_OTHER, "a rank's card has %zu bytes; %zu is the limit", text.size(), kMaxBytes);
  }
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(';'));
    const bool last = entry.size() == text.size();
    text.remove_prefix(entry.size() + (last ? 0 : 1));
    const std::size_t equals = entry.find('=');
    std::string value;
    if (equals == std::string_view::npos || !is_key(entry.substr(0, equals)) ||
        !unescape(entry.substr(equals + 1), value) || (text.empty() && !last)) {
      const std::size_t position = card.entries_.size() + 1;
      card.entries_.clear();
      return Status::error(MPI_ERR_OTHER, "a rank's card is malformed at its entry %zu", position);
    }
    if (!card.entries_.emplace(entry.substr(0, equals), std::move(value)).second) {
      card.entries_.clear();
      return Status::error(MPI_ERR_OTHER, "a rank's card names a key twice");
    }
  }
  return {};
}

}  // namespace lapwing::wire
