#include "wire/pmi.h"

#include <algorithm>
#include <charconv>

namespace lapwing::wire {
namespace {

bool is_text_byte(char byte) noexcept {
  const auto code = static_cast<unsigned char>(byte);
  return code > ' ' && code != 0x7f;
}

// An excerpt of a peer's line that is safe to print.
std::string printable(std::string_view text) {
  std::string result(text.substr(0, 60));
  for (char& byte : result) {
    if (byte != ' ' && !is_text_byte(byte)) byte = '?';
  }
  if (text.size() > 60) result += "...";
  return result;
}

}  // namespace

bool is_pmi_text(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), is_text_byte);
}

std::string pmi_escape(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string value;
  for (const char byte : text) {
    // Hydra takes a backslash for an escape of its own; to some launchers some bytes beyond ASCII are blanks.
    if (is_text_byte(byte) && static_cast<unsigned char>(byte) < 0x7f && byte != '%' && byte != '\\') {
      value += byte;
    } else {
      const auto code = static_cast<unsigned char>(byte);
      value.append(1, '%').append(1, kDigits[code >> 4]).append(1, kDigits[code & 15]);
    }
  }
  return value;
}

std::string pmi_unescape(std::string_view value) {
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) {
    unsigned code = 0;
    if (value[i] == '%' && i + 2 < value.size()) {
      const char* const digits = value.data() + i + 1;
      const auto [stop, error] = std::from_chars(digits, digits + 2, code, 16);
      if (error == std::errc() && stop == digits + 2) {
        text += static_cast<char>(code);
        i += 2;
        continue;
      }
    }
    text += value[i];
  }
  return text;
}

Status PmiMessage::parse(std::string_view line) {
  *this = PmiMessage();
  if (line.size() > kPmiMaxLine) return Status::error(MPI_ERR_OTHER, "PMI line of %zu bytes is too long", line.size());
  PmiMessage message;
  bool has_command = false;
  for (std::size_t position = 0; position < line.size();) {
    if (line[position] == ' ') {
      ++position;
      continue;
    }
    const std::size_t end = std::min(line.find(' ', position), line.size());
    const std::string_view token = line.substr(position, end - position);
    position = end;
    const std::size_t equals = token.find('=');
    if (equals == 0 || equals == std::string_view::npos || !is_pmi_text(token)) {
      return Status::error(MPI_ERR_OTHER, "PMI line is malformed: '%s'", printable(line).c_str());
    }
    const std::string_view name = token.substr(0, equals);
    const std::string_view value = token.substr(equals + 1);
    if (!has_command) {
      if (name != "cmd" || value.empty()) {
        return Status::error(MPI_ERR_OTHER, "PMI line does not begin with a command: '%s'", printable(line).c_str());
      }
      message.command_ = value;
      has_command = true;
      continue;
    }
    if (message.attributes_.size() == kPmiMaxAttributes) {
      return Status::error(MPI_ERR_OTHER, "PMI line has more than %zu attributes", kPmiMaxAttributes);
    }
    message.attributes_.emplace_back(name, value);
  }
  if (!has_command) return Status::error(MPI_ERR_OTHER, "PMI line is empty");
  *this = std::move(message);
  return {};
}

std::string PmiMessage::encode() const {
  std::string line = "cmd=" + command_;
  for (const auto& [name, value] : attributes_) {
    line.append(1, ' ').append(name).append(1, '=').append(value);
  }
  line += '\n';
  return line;
}

PmiMessage& PmiMessage::add(std::string_view name, std::string_view value) {
  attributes_.emplace_back(name, value);
  return *this;
}

PmiMessage& PmiMessage::add(std::string_view name, int value) {
  return add(name, std::to_string(value));
}

const std::string* PmiMessage::find(std::string_view name) const noexcept {
  for (const auto& attribute : attributes_) {
    if (attribute.first == name) return &attribute.second;
  }
  return nullptr;
}

bool PmiMessage::find(std::string_view name, int& value) const noexcept {
  const std::string* text = find(name);
  if (text == nullptr) return false;
  int number = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || stop != end) return false;
  value = number;
  return true;
}

Status PmiLineBuffer::append(std::string_view bytes) {
  if (taken_ > 0) {
    bytes_.erase(0, taken_);
    scanned_ = scanned_ > taken_ ? scanned_ - taken_ : 0;
    taken_ = 0;
  }
  // Only the last, unfinished line can be too long: those before it were checked when their newline came.
  std::size_t line_start = 0;
  if (!bytes_.empty()) {
    const std::size_t last_newline = bytes_.rfind('\n');
    if (last_newline != std::string::npos) line_start = last_newline + 1;
  }
  bytes_.append(bytes);
  while (line_start < bytes_.size()) {
    const std::size_t end = std::min(bytes_.find('\n', line_start), bytes_.size());
    if (end - line_start > kPmiMaxLine) {
      return Status::error(MPI_ERR_OTHER, "PMI line is longer than %zu bytes", kPmiMaxLine);
    }
    line_start = end + 1;
  }
  return {};
}

bool PmiLineBuffer::next(std::string& line) {
  const std::size_t end = bytes_.find('\n', std::max(taken_, scanned_));
  if (end == std::string::npos) {
    scanned_ = bytes_.size();
    return false;
  }
  line.assign(bytes_, taken_, end - taken_);
  taken_ = end + 1;
  return true;
}

}  // namespace lapwing::wire
