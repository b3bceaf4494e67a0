// lapwing bench: hands over to the measuring tool, a Python program installed beside us.
#pragma once

#include <string>
#include <vector>

namespace lapwing::launch {

// Does not return where all is well.
int run_bench(const std::vector<std::string>& arguments);

}  // namespace lapwing::launch
