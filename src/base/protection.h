// How frames are protected on their way between hosts (LAPWING_WIRE); docs/security.md says against what.
#pragma once

namespace lapwing {

enum class Protection {
  kPlain,    // as they are: the network's own checksums find most accidents
  kChecked,  // accidents are found
  kSealed,   // nobody on the way can read, change or repeat them
};

// As the setting says it.
constexpr const char* name_of(Protection protection) noexcept {
  switch (protection) {
    case Protection::kPlain:
      return "plain";
    case Protection::kChecked:
      return "checked";
    case Protection::kSealed:
      break;
  }
  return "sealed";
}

}  // namespace lapwing
