// What lies before the areas, in the first pages of their memory (area_pool.h). All of it is zero at first.
//
//   0      which areas have a user, one bit each; what each is claimed for (AreaKey), all 0 for none: together, so that a look at
//          all of them touches one page
//   896    how many ranks of the host have ended
//   1024   a lock, and refusals: 32 Ki bits (find_or_claim() in area_pool.h)
//   5248   ended, waiting    one byte per rank of the host each
//
// A rank that ends says so here for all areas: it may never have opened one at which others wait for it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "coll/area_memory.h"

namespace lapwing::coll {

// What an area is for: a communicator, by its context id, or one of its persistent operations.
struct AreaKey {
  std::uint64_t context = 0;
  std::uint32_t operation = 0;  // 0: whatever is not persistent; else in the order in which the persistent ones were made

  bool operator==(const AreaKey&) const noexcept = default;
};

struct PoolMemory {
  static constexpr unsigned kAreas = 64;
  struct Claims {
    std::atomic<std::uint64_t> used;  // bit n: area n has a user
    std::atomic<std::uint64_t> contexts[kAreas];
    std::atomic<std::uint32_t> operations[kAreas];
  };

  // What ranks must decide alike without a word to each other: whether a communicator gets an area.
  struct Decisions {
    static constexpr std::uint64_t kClasses = 32'768;
    alignas(128) std::atomic<std::uint32_t> lock;
    alignas(128) std::uint64_t refused[kClasses / 64];  // a bit for each class of keys
  };

  std::byte* base = nullptr;
  std::uint64_t ranks = 0;  // of the host

  Claims& claims() const noexcept { return *reinterpret_cast<Claims*>(base); }
  std::atomic<std::uint32_t>& ended_count() const noexcept {
    return *reinterpret_cast<std::atomic<std::uint32_t>*>(base + kCountOffset);
  }
  Decisions& decisions() const noexcept { return *reinterpret_cast<Decisions*>(base + kDecisionsOffset); }
  std::atomic<std::uint8_t>& ended(std::uint64_t local) const noexcept { return bytes()[local]; }
  // Whether a rank may sleep until another one posts, in any area.
  std::atomic<std::uint8_t>& waiting(std::uint64_t local) const noexcept { return bytes()[ranks + local]; }

  AreaMemory area(unsigned number) const noexcept {
    return {base + areas_offset(ranks) + number * AreaMemory::stride(ranks), ranks};
  }

  static constexpr std::uint64_t kCountOffset = (sizeof(Claims) + 127) / 128 * 128;
  static constexpr std::uint64_t kDecisionsOffset = kCountOffset + 128;
  static constexpr std::uint64_t kBytesOffset = kDecisionsOffset + sizeof(Decisions);
  static constexpr std::uint64_t areas_offset(std::uint64_t ranks) noexcept {
    return (kBytesOffset + 2 * ranks + AreaMemory::kPage - 1) / AreaMemory::kPage * AreaMemory::kPage;
  }
  static constexpr std::uint64_t size(std::uint64_t ranks) noexcept {
    return areas_offset(ranks) + kAreas * AreaMemory::stride(ranks);
  }

 private:
  std::atomic<std::uint8_t>* bytes() const noexcept {
    return reinterpret_cast<std::atomic<std::uint8_t>*>(base + kBytesOffset);
  }
};
static_assert(PoolMemory::kCountOffset == 896 && PoolMemory::kBytesOffset == 5248);

}  // namespace lapwing::coll
