// Memory of this rank that the program in the kernel can write (area.h): a message whose receive lies in it is put where it belongs, and nothing is
// left to be copied. MPI_Alloc_mem hands it out. Pinned memory of the kernel's, all of it from the start, so of a bounded size.
//
// Blocks are handed out first fit, in whole units of kUnit bytes; the bookkeeping lies outside. A payload that would begin in the last 128 KiB of
// each 4 MiB is not put in place, but copied, as everywhere else: kZoneBlock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "base/status.h"
#include "net/kernel/area.h"
#include "net/message_memory.h"

namespace lapwing::net::kernel {

// Which parts of some memory are free: offsets only. Pure.
class FreeSpace {
 public:
  explicit FreeSpace(std::size_t bytes = 0);
  // The first place for so many bytes, or kNone.
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t take(std::size_t bytes, std::size_t alignment);
  // What take() gave.
  void give_back(std::size_t offset);
  bool all_free() const noexcept { return taken_.empty(); }

 private:
  std::map<std::size_t, std::size_t> free_;   // offset to end; none touches another
  std::map<std::size_t, std::size_t> taken_;  // offset to end
};

class Zone final : public MessageMemory {
 public:
  static constexpr std::size_t kUnit = 64;
  static constexpr std::size_t kMostAlignment = 4096;  // the kernel maps whole pages

  Zone() noexcept = default;
  ~Zone() override;
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;

  // Whole blocks of kZoneBlock for so many bytes, at least one.
  static constexpr std::uint32_t kMostBlocks = 1 << 15;
  static std::uint32_t blocks(std::uint64_t bytes) noexcept;
  // The map of so many blocks that a loader has made. It need not stay open. The text of an error says what is missing.
  Status map(int fd, std::uint32_t blocks);
  Word address() const noexcept { return reinterpret_cast<Word>(mapped_); }

  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override;
  void free(void* block) noexcept override;

 private:
  std::byte* mapped_ = nullptr;
  std::size_t bytes_ = 0;
  std::mutex mutex_;
  FreeSpace space_;
};

}  // namespace lapwing::net::kernel
