// A table by process of which only the touched parts exist: a rank of a job of thousands has to do with few others.
//
// One look costs two loads, against one for a plain array; a hash table, which would save a little more memory, costs more
// on every message. Elements never move.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/process_id.h"

namespace lapwing {

template <typename T>
class SparseTable {
 public:
  // Called once for each element, right after it was made and before its first use.
  using Prepare = std::function<void(std::size_t index, T& element)>;

  SparseTable() = default;
  explicit SparseTable(std::size_t size, Prepare prepare = {}) { reset(size, std::move(prepare)); }
  void reset(std::size_t size, Prepare prepare = {}) {
    chunks_.clear();
    chunks_.resize((size + kChunk - 1) / kChunk);
    size_ = size;
    prepare_ = std::move(prepare);
  }

  // There are more elements now; those that exist stay where they are.
  void grow(std::size_t size) {
    chunks_.resize((size + kChunk - 1) / kChunk);
    const std::size_t before = std::exchange(size_, size);
    if (!prepare_ || before % kChunk == 0 || before == size || !chunks_[before / kChunk]) return;
    for (std::size_t i = before; i < size && i % kChunk != 0; ++i) prepare_(i, chunks_[i / kChunk][i % kChunk]);
  }

  std::size_t size() const noexcept { return size_; }

  T& operator[](ProcessId process) { return (*this)[process.index]; }
  T& operator[](std::size_t index) {
    auto& chunk = chunks_[index / kChunk];
    if (!chunk) [[unlikely]]
      make(index / kChunk);
    return chunk[index % kChunk];
  }
  // Null when that part of the table is untouched.
  const T* find(ProcessId process) const noexcept { return find(process.index); }
  const T* find(std::size_t index) const noexcept {
    const auto& chunk = chunks_[index / kChunk];
    return chunk ? &chunk[index % kChunk] : nullptr;
  }

  // Visits what exists: every touched element, and some neighbours.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::size_t first = 0; first < size_; first += kChunk) {
      const auto& chunk = chunks_[first / kChunk];
      if (!chunk) continue;
      for (std::size_t i = 0; i < kChunk && first + i < size_; ++i) visit(first + i, chunk[i]);
    }
  }

 private:
  static constexpr std::size_t kChunk = 8;

  [[gnu::noinline, gnu::cold]] void make(std::size_t which) {
    chunks_[which] = std::make_unique<T[]>(kChunk);
    if (!prepare_) return;
    const std::size_t first = which * kChunk;
    for (std::size_t i = 0; i < kChunk && first + i < size_; ++i) prepare_(first + i, chunks_[which][i]);
  }

  std::vector<std::unique_ptr<T[]>> chunks_;
  std::size_t size_ = 0;
  Prepare prepare_;
};

}  // namespace lapwing
