#include "net/shm/single_copy.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

namespace lapwing::net::shm {
namespace {

// One call of at most `count` local segments; how many bytes came, or -1.
ssize_t read_memory(pid_t pid, std::uint64_t address, std::uint64_t bytes, const iovec* local,
                    std::size_t count) noexcept {
  const iovec remote{reinterpret_cast<void*>(address), static_cast<std::size_t>(bytes)};
  return process_vm_readv(pid, local, count, &remote, 1, 0);
}

constexpr std::uint64_t kPage = 4096;

// Whether this process may read, or write, what is to be copied through a buffer. Else the kernel copies, and says why it cannot. (Before Linux 5.14
// it does not tell, and copies.)
bool may_touch(std::uint64_t address, std::uint64_t bytes, int advice) noexcept {
  const std::uint64_t begin = address / kPage * kPage;
  return ::madvise(reinterpret_cast<void*>(begin), address + bytes - begin, advice) == 0;
}

}  // namespace

void SingleCopy::allow_readers() noexcept {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

bool SingleCopy::probe(pid_t pid, std::uint64_t address, std::uint64_t value) noexcept {
  std::uint64_t found = 0;
  constexpr auto kAll = static_cast<ssize_t>(sizeof found);
  const iovec local{&found, sizeof found}, remote{reinterpret_cast<void*>(address), sizeof found};
  if (read_memory(pid, address, sizeof found, &local, 1) != kAll || found != value) return false;
  return process_vm_writev(pid, &local, 1, &remote, 1, 0) == kAll;
}

bool SingleCopy::took(ssize_t bytes) noexcept {
  ++calls_;
  if (bytes < 0) error_ = errno;
  return bytes > 0;
}

bool SingleCopy::would_stumble(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) const noexcept {
  return stumbles_ && bytes >= kLeastStumble && follows_closely(reinterpret_cast<const void*>(to), reinterpret_cast<const void*>(from));
}

bool SingleCopy::pull_would_stumble(std::uint64_t from, std::uint64_t bytes, ByteWalk& into) const noexcept {
  iovec whole;
  if (into.peek(&whole, 1) != 1 || whole.iov_len < bytes) return false;
  const auto to = reinterpret_cast<std::uintptr_t>(whole.iov_base);
  return would_stumble(to, from, bytes) && may_touch(to, bytes, MADV_POPULATE_WRITE);
}

bool SingleCopy::push_would_stumble(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) const noexcept {
  return would_stumble(to, from, bytes) && may_touch(from, bytes, MADV_POPULATE_READ);
}

std::byte* SingleCopy::buffer_like(std::uint64_t address) {
  if (!buffer_) buffer_ = std::make_unique<std::byte[]>(kBufferBytes + kPage);
  return &buffer_[(address - reinterpret_cast<std::uintptr_t>(buffer_.get())) % kPage];
}

bool SingleCopy::push(pid_t pid, std::uint64_t from, std::uint64_t to, std::uint64_t bytes) noexcept {
  return push_would_stumble(from, to, bytes) ? push_through_buffer(pid, from, to, bytes) : push_some(pid, from, to, bytes);
}

bool SingleCopy::push_through_buffer(pid_t pid, std::uint64_t from, std::uint64_t to, std::uint64_t bytes) noexcept {
  std::byte* const buffer = buffer_like(to);
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t some = std::min<std::uint64_t>(bytes - done, kBufferBytes);
    plain_copy(buffer, reinterpret_cast<const void*>(from + done), some);
    if (!push_some(pid, reinterpret_cast<std::uintptr_t>(buffer), to + done, some)) return false;
    done += some;
  }
  return true;
}

bool SingleCopy::push_some(pid_t pid, std::uint64_t from, std::uint64_t to, std::uint64_t bytes) noexcept {
  while (bytes > 0) {
    const iovec local{reinterpret_cast<void*>(from), static_cast<std::size_t>(bytes)};
    const iovec remote{reinterpret_cast<void*>(to), static_cast<std::size_t>(bytes)};
    const ssize_t got = process_vm_writev(pid, &local, 1, &remote, 1, 0);
    if (!took(got)) return false;
    from += static_cast<std::uint64_t>(got);
    to += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::uint64_t>(got);
  }
  return true;
}

bool SingleCopy::pull(pid_t pid, std::uint64_t address, std::uint64_t bytes, ByteWalk& into) noexcept {
  if (into.remaining() < bytes) return false;
  if (into.prefers_copy() || pull_would_stumble(address, bytes, into)) return pull_through_buffer(pid, address, bytes, into);
  constexpr std::size_t kSegments = 64;
  iovec local[kSegments];
  while (bytes > 0) {
    const std::size_t count = into.peek(local, kSegments);
    std::uint64_t described = 0;
    for (std::size_t i = 0; i < count; ++i) {
      local[i].iov_len = static_cast<std::size_t>(std::min<std::uint64_t>(local[i].iov_len, bytes - described));
      described += local[i].iov_len;
    }
    if (described == 0) return false;
    const ssize_t got = read_memory(pid, address, described, local, count);
    if (!took(got)) return false;
    into.advance(static_cast<std::uint64_t>(got));
    address += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::uint64_t>(got);
  }
  return true;
}

bool SingleCopy::pull_through_buffer(pid_t pid, std::uint64_t address, std::uint64_t bytes, ByteWalk& into) noexcept {
  std::byte* const buffer = buffer_like(address);
  while (bytes > 0) {
    const iovec local{buffer, static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kBufferBytes))};
    const ssize_t got = read_memory(pid, address, local.iov_len, &local, 1);
    if (!took(got)) return false;
    into.scatter(buffer, static_cast<std::size_t>(got));
    address += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::uint64_t>(got);
  }
  return true;
}

}  // namespace lapwing::net::shm
