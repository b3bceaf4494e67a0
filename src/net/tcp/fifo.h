// A queue in one piece of memory, which can be looked at anywhere. Costs nothing while it is empty; elements move when it grows, or has been
// emptied by half.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace lapwing::net::tcp {

template <typename T>
class Fifo {
 public:
  bool empty() const noexcept { return first_ == elements_.size(); }
  std::size_t size() const noexcept { return elements_.size() - first_; }
  T& operator[](std::size_t index) noexcept { return elements_[first_ + index]; }
  T& front() noexcept { return elements_[first_]; }
  T& back() noexcept { return elements_.back(); }
  T& push_back(T element) { return elements_.emplace_back(std::move(element)); }
  void pop_front() {
    elements_[first_++] = T();
    if (first_ == elements_.size()) {
      elements_.clear();
      first_ = 0;
    } else if (first_ >= kMostGone && first_ * 2 >= elements_.size()) {
      elements_.erase(elements_.begin(), elements_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
  }

 private:
  static constexpr std::size_t kMostGone = 16;
  std::vector<T> elements_;
  std::size_t first_ = 0;
};

}  // namespace lapwing::net::tcp
