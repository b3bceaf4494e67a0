// Small files, those of /proc above all.
#pragma once

#include <string>

namespace lapwing {

// The contents of `path`; empty when it cannot be opened or read to its end. A file of /proc can stop being readable at any time,
// because the process that it describes ends (ESRCH): the streams of the C++ library throw then, this does not.
std::string read_file(const std::string& path);

}  // namespace lapwing
