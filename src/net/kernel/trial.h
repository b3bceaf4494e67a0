// Whether this kernel does what receive in the kernel counts on. Some of it no document promises (where a packet's sequence number is, what comes of
// packets that were here when a connection joined), so it is tried out, with a connection of this process to itself, before it is used.
#pragma once

#include "base/status.h"
#include "net/kernel/program.h"

namespace lapwing::net::kernel {

// Uses area 0, and leaves it unused. The text of an error says what this kernel does otherwise. Takes about a millisecond.
Status try_out(Program& program);

}  // namespace lapwing::net::kernel
