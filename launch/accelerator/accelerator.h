// `lapwing accelerator`: has the program of receive in the kernel loaded, and sockets let past it, for ranks of users who may not
// (net/kernel/service_loader.h).
//
// One thread accepts; each rank has one of its own (session.h). What they share is counted (accounts.h). A rank is known by the kernel's word for
// who runs it (SO_PEERCRED), and by its connection: when that ends, or this process, the kernel takes back what the rank does not hold itself.
#pragma once

#include <string>
#include <vector>

namespace lapwing::launch {

// Returns the exit code, when it is told to end or cannot begin.
int run_accelerator(const std::vector<std::string>& arguments);

}  // namespace lapwing::launch
