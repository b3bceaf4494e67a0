// The rights of the accelerator: just those that loading its program takes.
#pragma once

#include "base/status.h"

namespace lapwing::launch {

// Keeps CAP_BPF and CAP_NET_ADMIN, for good, and no other. An error if this process lacks one of them.
Status keep_only_needed_rights(bool for_ether);

}  // namespace lapwing::launch
