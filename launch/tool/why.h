// `lapwing why`: asks a running mpiexec what its ranks wait for.
#pragma once

#include <string>
#include <vector>

namespace lapwing::launch {

int run_why(const std::vector<std::string>& arguments);

}  // namespace lapwing::launch
