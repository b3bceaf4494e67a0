// What a rank's card says under "shm": how to fetch the segment from it, and how to find out whether its memory can be
// read directly. Text, five fields separated by commas: socket name, token (hex), pid, probe address (hex), probe value (hex).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace lapwing::net::shm {

struct Invitation {
  std::string name;
  std::string token;  // bytes
  pid_t pid = 0;
  std::uint64_t probe_address = 0;  // of a word in that rank's memory ...
  std::uint64_t probe_value = 0;    // ... that holds this random value

  std::string encode() const;
  // False when `text` is malformed.
  [[nodiscard]] static bool decode(std::string_view text, Invitation& invitation);
};

}  // namespace lapwing::net::shm
