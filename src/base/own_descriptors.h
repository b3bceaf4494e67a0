// The descriptors that other processes watch for this one's end: connections to peers and to the launcher. A forked child has
// copies of all, and while it holds them, no peer would notice that the parent has died: so the child closes them
// (process/models.cc). A program that is executed gets none (close-on-exec).
//
// A bitmap, because a fork may come at any moment, in any thread, and the child may not even allocate.
#pragma once

namespace lapwing {

// Notes an open descriptor. -1 is passed over.
void own_descriptor(int fd) noexcept;
// Closes a descriptor that was noted. -1 is passed over.
void close_own_descriptor(int fd) noexcept;
// Closes all that are noted. In a forked child, where only one thread runs.
void close_own_descriptors() noexcept;

}  // namespace lapwing
