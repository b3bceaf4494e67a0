// The command line of `lapwing accelerator`.
#pragma once

#include <string>
#include <vector>

#include "accelerator/ledger.h"
#include "base/status.h"

namespace lapwing::launch {

struct AcceleratorOptions {
  std::string socket;
  std::string group;  // whose members may use it; empty: all users
  std::vector<std::string> ether;  // interfaces of raw Ethernet; empty: it is not served
  AcceleratorLimits limits;
  bool help = false;
};

extern const char* const kAcceleratorUsage;

// The limits of memory are, unless given, parts of `machine_memory`. `options.socket` is the default.
Status parse_accelerator_options(const std::vector<std::string>& arguments, std::uint64_t machine_memory, AcceleratorOptions& options);

}  // namespace lapwing::launch
