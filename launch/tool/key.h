// lapwing key: makes the key file (LAPWING_KEY_FILE), which binds the ranks of a user's jobs to something that never crosses the network.
#pragma once

#include <string>
#include <vector>

namespace lapwing::launch {

int run_key(const std::vector<std::string>& arguments);

}  // namespace lapwing::launch
