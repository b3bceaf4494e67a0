// `lapwing info`: what this installation is and how it is set.
#pragma once

#include <string>
#include <vector>

namespace lapwing::launch {

// Returns the exit code.
int run_info(const std::vector<std::string>& arguments);

}  // namespace lapwing::launch
