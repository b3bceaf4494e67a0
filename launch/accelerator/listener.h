// The socket that the accelerator is found by.
#pragma once

#include <string>

#include "base/status.h"
#include "net/bpf/bpf.h"

namespace lapwing::launch {

// Open to members of `group`, or, where that is empty, to all. One that a service which has died has left is taken away. The folder is made if it is
// missing.
Status listen_at(const std::string& path, const std::string& group, net::bpf::Descriptor& listener);

}  // namespace lapwing::launch
