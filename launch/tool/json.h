// Just enough JSON to write what `lapwing info --json` says.
#pragma once

#include <string>
#include <string_view>

namespace lapwing::launch {

std::string json_string(std::string_view text);

}  // namespace lapwing::launch
