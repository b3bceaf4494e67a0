// Memory that the ranks of one host share beside their rings, for a room above that talks through it and not by frames, and how a rank
// that waits for something in it is woken. A transport with shared memory provides both, and knows nothing of what lies there.
//
// Everything here is called with the endpoint's lock held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdint>

#include "base/process_id.h"
#include "base/status.h"

namespace lapwing::net {

// How a copy between the memory of two processes went.
enum class Copied : std::uint8_t {
  kWhole,
  kRefused,    // the kernel does not reach the bytes there or here: memory of a device, say
  kForbidden,  // it does not let this process copy from or to that one's memory, whatever lies there; or that process has ended
};

// What the transport provides, from HostMemoryUser::on_open() to on_close().
class HostMemory {
 public:
  // Page-aligned, and zero when the first rank of the host looks.
  virtual std::byte* shared_bytes() noexcept = 0;
  // The ranks of this host.
  virtual std::uint32_t local_ranks() const noexcept = 0;
  // The number of this one among them.
  virtual std::uint32_t own_number() const noexcept = 0;
  // A process's number among them, or -1: it is on another host.
  virtual std::int32_t local_number(ProcessId process) const noexcept = 0;
  // Wakes the rank with this number should it sleep. After a store to the memory and a full_fence().
  virtual void notify(std::uint32_t local) noexcept = 0;

  // Whether the memory of that rank's process can be read and written directly (single copy). Tried once, when it is asked for first.
  virtual bool reaches(std::uint32_t local) noexcept = 0;
  // From there to here, and from here to there.
  virtual Copied read_from(std::uint32_t local, std::uint64_t address, void* to, std::uint64_t bytes) noexcept = 0;
  virtual Copied write_to(std::uint32_t local, const void* from, std::uint64_t address, std::uint64_t bytes) noexcept = 0;

 protected:
  ~HostMemory() = default;
};

// What uses the memory. The transport calls it where it looks after itself (engine/source.h).
class HostMemoryUser {
 public:
  // How much memory it wants where so many ranks share a host: the same on all of them. Pages that no rank touches cost nothing.
  virtual std::uint64_t bytes_for(std::uint32_t local_ranks) const noexcept = 0;

  // The memory is there.
  virtual void on_open(HostMemory& memory) noexcept = 0;
  // It goes: the last use of it.
  virtual void on_close() noexcept = 0;
  // This rank of the host has gone.
  virtual void on_rank_lost(std::uint32_t local, const Status& why) noexcept = 0;

  // Whether it waits for something that poll() may find.
  bool waits() const noexcept { return waits_; }
  // One look; true when something moved.
  virtual bool poll() noexcept = 0;
  // A thread is about to sleep: other ranks must notify this one from now on. A full_fence() follows, and then work_left().
  virtual void arm() noexcept = 0;
  virtual void disarm() noexcept = 0;
  virtual bool work_left() noexcept = 0;

 protected:
  ~HostMemoryUser() = default;
  bool waits_ = false;
};

}  // namespace lapwing::net
