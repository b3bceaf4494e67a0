#include "tool/json.h"

#include <cstdio>

namespace lapwing::launch {

std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (const char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    if (byte == '"' || byte == '\\') {
      result.append(1, '\\').append(1, byte);
    } else if (code < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", code);
      result += escape;
    } else {
      result += byte;
    }
  }
  return result + "\"";
}

}  // namespace lapwing::launch
