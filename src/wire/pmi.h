// The PMI-1 wire protocol's lines, as spoken between a rank and its launcher: "cmd=put kvsname=k key=a value=b\n".
//
// Both sides use it: the rank's client (runtime/pmi_client) and mpiexec's server. Everything read here came from
// another process, so every length is bounded and every byte checked; nothing here blocks or owns a descriptor.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace lapwing::wire {

// Longest line, without its newline, that either side accepts; enough for the longest value of any known launcher.
inline constexpr std::size_t kPmiMaxLine = 32768;
inline constexpr std::size_t kPmiMaxAttributes = 64;
// A value too long for one key is stored as this mark + count + ":" + first piece, the others under key + "." + number.
// Stored values are escaped, where '%' is followed by a hexadecimal digit, so none begins with the mark by chance.
inline constexpr std::string_view kPmiPiecesMark = "%pieces:";

// One line: the command and its attributes in the order of the line.
class PmiMessage {
 public:
  PmiMessage() = default;
  explicit PmiMessage(std::string_view command) : command_(command) {}

  // Reads one line without its newline. An error names what was wrong; the message is then empty.
  Status parse(std::string_view line);
  // The line with its newline. Names and values must be is_pmi_text().
  std::string encode() const;

  PmiMessage& add(std::string_view name, std::string_view value);
  PmiMessage& add(std::string_view name, int value);

  const std::string& command() const noexcept { return command_; }
  // Null when the line has no such attribute; the first one when it has several.
  const std::string* find(std::string_view name) const noexcept;
  // False when the attribute is missing or is not a decimal int.
  bool find(std::string_view name, int& value) const noexcept;

 private:
  std::string command_;
  std::vector<std::pair<std::string, std::string>> attributes_;
};

// True when `text` may stand as a value: no space, no control character. (Names must not contain '=' either.)
bool is_pmi_text(std::string_view text) noexcept;

// Any text as one value and back: bytes that some launcher would not carry unchanged become %XX.
std::string pmi_escape(std::string_view text);
std::string pmi_unescape(std::string_view value);

// Cuts a byte stream into lines.
class PmiLineBuffer {
 public:
  // Adds bytes as they were read. An error when a line grows past kPmiMaxLine; the connection is then beyond use.
  Status append(std::string_view bytes);
  // Takes the next complete line, without its newline; false when there is none yet.
  bool next(std::string& line);
  // Bytes of an unfinished line and lines not yet taken.
  std::size_t pending() const noexcept { return bytes_.size() - taken_; }

 private:
  std::string bytes_;
  std::size_t taken_ = 0;    // bytes_ before this were handed out
  std::size_t scanned_ = 0;  // no newline between taken_ and this, at the time of the last unsuccessful next()
};

}  // namespace lapwing::wire
