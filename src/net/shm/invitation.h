// What a rank's card says under "shm": how to fetch the segment from it, and how to find out whether its memory can be
// read directly. Text, seven fields separated by commas: socket name, token (hex), pid, probe address (hex), probe value (hex), and
// by which to know the process again, its pid namespace and its start time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/shm/process_name.h"

namespace lapwing::net::shm {

struct Invitation {
  std::string name;
  std::string token;                // bytes
  std::uint64_t probe_address = 0;  // of a word in that rank's memory ...
  std::uint64_t probe_value = 0;    // ... that holds this random value
  ProcessName process;

  std::string encode() const;
  // False when `text` is malformed.
  [[nodiscard]] static bool decode(std::string_view text, Invitation& invitation);
};

}  // namespace lapwing::net::shm
