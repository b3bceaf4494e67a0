// What the program has printed is written out before its process ends at once.
#pragma once

namespace lapwing {

// Of the standard streams those that no other thread uses at the moment, and all others only if none uses any of these: fflush(nullptr) waits for a
// stream's lock, and a thread that reads standard input holds it until something comes.
void flush_streams() noexcept;

}  // namespace lapwing
