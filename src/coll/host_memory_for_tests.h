// Memory that ranks of one test share as ranks of a host would.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "coll/area_pool.h"
#include "net/host_memory.h"

namespace lapwing::coll {

class HostMemoryForTests {
 public:
  explicit HostMemoryForTests(std::uint32_t ranks) : bytes_(AreaPool().bytes_for(ranks)) {
    void* mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(mapped, MAP_FAILED);
    base_ = static_cast<std::byte*>(mapped);
  }
  ~HostMemoryForTests() { munmap(base_, bytes_); }
  HostMemoryForTests(const HostMemoryForTests&) = delete;
  HostMemoryForTests& operator=(const HostMemoryForTests&) = delete;

  std::byte* base() const noexcept { return base_; }

 private:
  std::uint64_t bytes_;
  std::byte* base_;
};

// One rank's view of it. `processes`: which ones are on the host, by their numbers there; `own`: that of this rank.
class HostViewForTests final : public net::HostMemory {
 public:
  HostViewForTests(const HostMemoryForTests& memory, std::vector<ProcessId> processes, std::uint32_t own)
      : memory_(memory), processes_(std::move(processes)), own_(own) {}

  std::byte* shared_bytes() noexcept override { return memory_.base(); }
  std::uint32_t local_ranks() const noexcept override { return static_cast<std::uint32_t>(processes_.size()); }
  std::uint32_t own_number() const noexcept override { return own_; }
  std::int32_t local_number(ProcessId process) const noexcept override {
    for (std::size_t local = 0; local < processes_.size(); ++local)
      if (processes_[local] == process) return static_cast<std::int32_t>(local);
    return -1;
  }
  void notify(std::uint32_t local) noexcept override { notified.push_back(local); }
  bool reaches(std::uint32_t) noexcept override { return can_reach; }
  net::Copied read_from(std::uint32_t, std::uint64_t address, void* to, std::uint64_t bytes) noexcept override {
    if (can_reach) std::memcpy(to, reinterpret_cast<const void*>(address), bytes);
    return copied();
  }
  net::Copied write_to(std::uint32_t, const void* from, std::uint64_t address, std::uint64_t bytes) noexcept override {
    if (can_reach) std::memcpy(reinterpret_cast<void*>(address), from, bytes);
    return copied();
  }

  std::vector<std::uint32_t> notified;
  bool can_reach = true;

 private:
  net::Copied copied() const noexcept { return can_reach ? net::Copied::kWhole : net::Copied::kRefused; }

  const HostMemoryForTests& memory_;
  const std::vector<ProcessId> processes_;
  const std::uint32_t own_;
};

}  // namespace lapwing::coll
