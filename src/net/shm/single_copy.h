// Reading and writing a peer's memory directly: one copy instead of two. Whether the kernel lets us (same user, same view of process
// numbers, no ptrace restriction, no filter on the call) is found out by trying, per peer.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/bulk_copy.h"
#include "base/byte_walk.h"

namespace lapwing::net::shm {

class SingleCopy {
 public:
  // `stumbles`: the kernel's copies do where the bytes written follow closely (base/bulk_copy.h). Such long ones go through a buffer.
  explicit SingleCopy(bool stumbles = string_copy_stumbles()) noexcept : stumbles_(stumbles) {}

  // Lets every process of this user read this one's memory, where the Yama module would else allow only ancestors
  // (ptrace_scope 1). For LAPWING_SINGLE_COPY=on: a deliberate choice of the user.
  static void allow_readers() noexcept;

  // Whether reading works, and reaches the process meant: in a container, the same number may be another process; and writing, of the value that the
  // word there has.
  static bool probe(pid_t pid, std::uint64_t address, std::uint64_t value) noexcept;

  // Copies `bytes` from `address` in process `pid`. False when the kernel refuses; `into` may have advanced by then.
  bool pull(pid_t pid, std::uint64_t address, std::uint64_t bytes, ByteWalk& into) noexcept;
  // Copies `bytes` from here to `to` in process `pid`.
  bool push(pid_t pid, std::uint64_t from, std::uint64_t to, std::uint64_t bytes) noexcept;
  // Why the last copy failed that did: the bytes cannot be reached, there or here. Else the kernel refuses access to that process, whatever lies there, or
  // the process has ended.
  bool found_bad_memory() const noexcept { return error_ == EFAULT; }
  // System calls of all copies.
  std::uint64_t calls() const noexcept { return calls_; }

 private:
  static constexpr std::size_t kBufferBytes = 64 * 1024;
  bool pull_through_buffer(pid_t pid, std::uint64_t address, std::uint64_t bytes, ByteWalk& into) noexcept;
  bool push_through_buffer(pid_t pid, std::uint64_t from, std::uint64_t to, std::uint64_t bytes) noexcept;
  bool push_some(pid_t pid, std::uint64_t from, std::uint64_t to, std::uint64_t bytes) noexcept;
  // kBufferBytes, which lie in their page as an address does.
  std::byte* buffer_like(std::uint64_t address);
  bool would_stumble(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) const noexcept;
  // The same of copies that can go through the buffer: this side's bytes lie together, and this process may touch them.
  bool pull_would_stumble(std::uint64_t from, std::uint64_t bytes, ByteWalk& into) const noexcept;
  bool push_would_stumble(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) const noexcept;
  // Takes note of a system call that copied so many bytes, or failed (-1).
  bool took(ssize_t bytes) noexcept;

  const bool stumbles_;
  std::uint64_t calls_ = 0;
  int error_ = 0;  // of the last system call that failed
  std::unique_ptr<std::byte[]> buffer_;  // a page longer; null: not needed yet
};

}  // namespace lapwing::net::shm
