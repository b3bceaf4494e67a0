#include "net/shm/single_copy.h"

#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace lapwing::net::shm {
namespace {

// One call of at most `count` local segments; how many bytes came, or -1.
ssize_t read_memory(pid_t pid, std::uint64_t address, std::uint64_t bytes, const iovec* local,
                    std::size_t count) noexcept {
  const iovec remote{reinterpret_cast<void*>(address), static_cast<std::size_t>(bytes)};
  return process_vm_readv(pid, local, count, &remote, 1, 0);
}

}  // namespace

void SingleCopy::allow_readers() noexcept {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

bool SingleCopy::probe(const Invitation& peer) noexcept {
  std::uint64_t value = 0;
  const iovec local{&value, sizeof value};
  return read_memory(peer.process.pid, peer.probe_address, sizeof value, &local, 1) ==
             static_cast<ssize_t>(sizeof value) &&
         value == peer.probe_value;
}

bool SingleCopy::pays(Clock& clock) {
  constexpr std::size_t kSample = 64 * 1024;
  constexpr int kRounds = 3;
  std::vector<std::byte> source(kSample, std::byte{1}), middle(kSample), destination(kSample);
  const iovec local{destination.data(), kSample};
  std::int64_t by_kernel = INT64_MAX, by_ring = INT64_MAX;
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t began = clock.now();
    if (read_memory(getpid(), reinterpret_cast<std::uint64_t>(source.data()), kSample, &local, 1) < 0) return false;
    const std::int64_t between = clock.now();
    std::memcpy(middle.data(), source.data(), kSample);
    asm volatile("" ::: "memory");  // the compiler may not join the two copies
    std::memcpy(destination.data(), middle.data(), kSample);
    asm volatile("" ::: "memory");
    by_kernel = std::min(by_kernel, between - began);
    by_ring = std::min(by_ring, clock.now() - between);
  }
  return by_kernel <= by_ring;
}

bool SingleCopy::pull(pid_t pid, std::uint64_t address, std::uint64_t bytes, ByteWalk& into) noexcept {
  if (into.remaining() < bytes) return false;
  if (into.prefers_copy()) return pull_through_buffer(pid, address, bytes, into);
  constexpr std::size_t kSegments = 64;
  iovec local[kSegments];
  while (bytes > 0) {
    const std::size_t count = into.peek(local, kSegments);
    std::uint64_t described = 0;
    for (std::size_t i = 0; i < count; ++i) {
      local[i].iov_len = static_cast<std::size_t>(std::min<std::uint64_t>(local[i].iov_len, bytes - described));
      described += local[i].iov_len;
    }
    const ssize_t got = described == 0 ? -1 : read_memory(pid, address, described, local, count);
    ++calls_;
    if (got <= 0) return false;
    into.advance(static_cast<std::uint64_t>(got));
    address += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::uint64_t>(got);
  }
  return true;
}

bool SingleCopy::pull_through_buffer(pid_t pid, std::uint64_t address, std::uint64_t bytes, ByteWalk& into) noexcept {
  if (!buffer_) buffer_ = std::make_unique<std::byte[]>(kBufferBytes);
  while (bytes > 0) {
    const iovec local{buffer_.get(), static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kBufferBytes))};
    const ssize_t got = read_memory(pid, address, local.iov_len, &local, 1);
    ++calls_;
    if (got <= 0) return false;
    into.scatter(buffer_.get(), static_cast<std::size_t>(got));
    address += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::uint64_t>(got);
  }
  return true;
}

}  // namespace lapwing::net::shm
