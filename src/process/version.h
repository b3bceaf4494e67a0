// What MPI_Get_library_version and the log say.
#pragma once

#include <string>

namespace lapwing::process {

std::string version();

}  // namespace lapwing::process
