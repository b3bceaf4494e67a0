#include "net/kernel/zone.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "net/bpf/bpf.h"

namespace lapwing::net::kernel {

// ---- free space -----------------------------------------------------------------------------------------------------

FreeSpace::FreeSpace(std::size_t bytes) {
  if (bytes != 0) free_.emplace(0, bytes);
}

std::size_t FreeSpace::take(std::size_t bytes, std::size_t alignment) {
  for (auto place = free_.begin(); place != free_.end(); ++place) {
    const auto [begin, end] = *place;
    const std::size_t at = (begin + alignment - 1) & ~(alignment - 1);
    if (at > end || bytes > end - at) continue;
    taken_.emplace(at, at + bytes);
    if (at + bytes != end) free_.emplace(at + bytes, end);
    if (at == begin)
      free_.erase(place);
    else
      place->second = at;
    return at;
  }
  return kNone;
}

void FreeSpace::give_back(std::size_t offset) {
  const auto found = taken_.find(offset);
  if (found == taken_.end()) return;
  auto [begin, end] = *found;
  taken_.erase(found);
  auto next = free_.lower_bound(begin);
  if (next != free_.end() && next->first == end) {
    end = next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin() && std::prev(next)->second == begin) {
    std::prev(next)->second = end;
    return;
  }
  free_.emplace(begin, end);
}

// ---- the zone -------------------------------------------------------------------------------------------------------

Zone::~Zone() {
  if (mapped_ != nullptr) munmap(mapped_, bytes_);
}

std::uint32_t Zone::blocks(std::uint64_t bytes) noexcept {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes / kZoneBlock + (bytes % kZoneBlock != 0), 1, kMostBlocks));
}

Status Zone::map(int fd, std::uint32_t blocks) {
  bytes_ = std::size_t{blocks} * kZoneBlock;
  void* mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return bpf::refused("does not share the memory to receive into");
  mapped_ = static_cast<std::byte*>(mapped);
  space_ = FreeSpace(bytes_);
  return {};
}

void* Zone::allocate(std::size_t bytes, std::size_t alignment) noexcept {
  const std::size_t whole = (bytes + kUnit - 1) & ~(kUnit - 1);
  if (mapped_ == nullptr || whole < bytes || whole > bytes_ || alignment > kMostAlignment) return nullptr;
  try {
    const std::lock_guard guard(mutex_);
    const std::size_t at = space_.take(std::max(whole, kUnit), std::max(alignment, kUnit));
    return at == FreeSpace::kNone ? nullptr : mapped_ + at;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void Zone::free(void* block) noexcept {
  const std::lock_guard guard(mutex_);
  space_.give_back(static_cast<std::size_t>(static_cast<std::byte*>(block) - mapped_));
}

}  // namespace lapwing::net::kernel
