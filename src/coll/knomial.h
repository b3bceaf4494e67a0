// The k-nomial tree over places 0 to size - 1, of which 0 is the root: a place's parent has 0 for its lowest digit to the base k that is not 0. So a
// subtree is a run of places, and of a place with j such zeros in front the subtrees of its children have 1, k, ... k^(j-1) places, k - 1 of each
// length. Of radix 2 it is the binomial tree. With a larger one there are fewer messages one after the other, and more beside each other.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lapwing::coll {

inline constexpr int kBinomial = 2;

class KnomialTree {
 public:
  KnomialTree(int place, int size, int radix) noexcept : place_(place), size_(size), radix_(radix) {
    while (reach_ < size && place % (reach_ * radix) == 0) reach_ *= radix;
  }
  bool is_root() const noexcept { return place_ == 0; }
  // Not of the root.
  int parent() const noexcept { return static_cast<int>(place_ - place_ % (reach_ * radix_)); }
  // The subtree, with its root.
  int width() const noexcept { return static_cast<int>(std::min<std::int64_t>(reach_, size_ - place_)); }
  // Calls visit(place, width of its subtree), the leaves first: in the order of places.
  template <typename Visit>
  void for_each_child(Visit visit) const {
    for (std::int64_t step = 1; step < reach_ && place_ + step < size_; step *= radix_) for_each_of(step, visit);
  }
  // The deepest subtree first.
  template <typename Visit>
  void for_each_child_deepest_first(Visit visit) const {
    for (std::int64_t step = reach_ / radix_; step > 0; step /= radix_) for_each_of(step, visit);
  }

 private:
  template <typename Visit>
  void for_each_of(std::int64_t step, Visit& visit) const {
    for (std::int64_t child = place_ + step; child < size_ && child < place_ + radix_ * step; child += step)
      visit(static_cast<int>(child), static_cast<int>(std::min(step, size_ - child)));
  }

  std::int64_t place_, size_, radix_;
  std::int64_t reach_ = 1;  // places of the subtree, if it is full
};

}  // namespace lapwing::coll
