// Names for our requests in frames: a peer sends a token back, and it is checked before it means anything.
//
// A token is the slot's generation (upper 32 bits) and its index plus one (lower 32), so 0 is never one, and the token of a
// request that is over is noticed even when its slot serves another.
#pragma once

#include <cstdint>
#include <vector>

namespace lapwing::p2p {

template <typename T>
class SlotTable {
 public:
  std::uint64_t take(T& object) {
    std::uint32_t index;
    if (free_.empty()) {
      index = static_cast<std::uint32_t>(slots_.size());
      slots_.push_back({});
    } else {
      index = free_.back();
      free_.pop_back();
    }
    slots_[index].object = &object;
    return static_cast<std::uint64_t>(slots_[index].generation) << 32 | (index + 1u);
  }

  // Null when the token is of no living request.
  T* find(std::uint64_t token) const noexcept {
    const std::uint64_t index = (token & 0xffffffffu) - 1;
    if (index >= slots_.size() || slots_[index].generation != token >> 32) return nullptr;
    return slots_[index].object;
  }

  void release(std::uint64_t token) {
    const auto index = static_cast<std::uint32_t>(token) - 1;
    slots_[index].object = nullptr;
    ++slots_[index].generation;
    free_.push_back(index);
  }

  std::size_t size() const noexcept { return slots_.size() - free_.size(); }

  // Every living request; `visit` may release the one it is given.
  template <typename Visit>
  void for_each(Visit visit) {
    for (std::size_t index = 0; index < slots_.size(); ++index) {
      if (slots_[index].object != nullptr) visit(*slots_[index].object);
    }
  }

 private:
  struct Slot {
    T* object = nullptr;
    std::uint32_t generation = 1;
  };
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace lapwing::p2p
