// What a user is told when the kernel gives no descriptor, or no thread: that a limit is reached, and which; or that a filter forbids the call.
#pragma once

#include "base/status.h"

namespace lapwing {

// "cannot open WHAT: ...". `error`: errno.
Status no_descriptor(const char* what, int error);
// "cannot start WHAT: ...". `otherwise`: what else helps ("; ..."), or empty.
Status no_thread(const char* what, int error, const char* otherwise = "");

}  // namespace lapwing
