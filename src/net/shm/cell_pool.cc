#include "net/shm/cell_pool.h"

#include <bit>

#include "base/memory_order.h"

namespace lapwing::net::shm {

// Of a word in which no bit is set nothing but that is found out; the next one is looked at the next time.
bool CellPool::take_spare() noexcept {
  const std::uint64_t word = next_word_;
  std::uint64_t there = load_relaxed(spare_[word]);
  if (there == 0) {
    next_word_ = (word + 1) % words_;
    return false;
  }
  const std::uint64_t bit = there & -there;
  if ((spare_[word].fetch_and(~bit, std::memory_order_acquire) & bit) == 0) return false;  // another rank has been faster
  return cells_.keep(static_cast<std::uint32_t>(word * 64 + static_cast<unsigned>(std::countr_zero(bit))), 0) && cells_.has_one();
}

}  // namespace lapwing::net::shm
