// How much processor time the control groups of this process leave it: a container's quota, a batch system's.
#pragma once

#include <string>

namespace lapwing::runtime {

// Processors' worth of time; 0: no limit, or none known. The tightest limit on the way from the process's own group up to the root
// counts, in version 2's hierarchy and in version 1's. `root` goes before the paths of /proc and /sys: for tests.
double processor_quota(const std::string& root = {});

}  // namespace lapwing::runtime
