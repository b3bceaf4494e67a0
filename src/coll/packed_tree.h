// What a gather and a scatter along a k-nomial tree have in common: each rank holds the blocks of its subtree side by side, all of one length.
#pragma once

#include "coll/block.h"
#include "coll/knomial.h"
#include "coll/schedule.h"

namespace lapwing::coll {

class PackedTree {
 public:
  PackedTree(Schedule& schedule, int root, int radix, std::uint64_t block_bytes) noexcept
      : schedule_(schedule), root_(root), own_(place_of(schedule.rank())), bytes_(block_bytes), tree_(own_, schedule.size(), radix) {}

  const KnomialTree& tree() const noexcept { return tree_; }
  bool is_leaf() const noexcept { return tree_.width() == 1 && !tree_.is_root(); }
  int rank_at(int place) const noexcept { return (place + root_) % schedule_.size(); }
  int parent() const noexcept { return rank_at(tree_.parent()); }

  // Memory for the subtree's blocks. Once, before part().
  void hold() { held_ = schedule_.scratch(bytes_ * static_cast<std::uint64_t>(tree_.width())); }
  // So many blocks of the subtree, from that of `place` on; this rank's own; all.
  Block part(int place, int count) const {
    return bytes_block(held_ + bytes_ * static_cast<std::uint64_t>(place - own_), bytes_ * static_cast<std::uint64_t>(count));
  }
  Block own() const { return part(own_, 1); }
  Block whole() const { return part(own_, tree_.width()); }

 private:
  int place_of(int rank) const noexcept { return (rank - root_ + schedule_.size()) % schedule_.size(); }

  Schedule& schedule_;
  int root_, own_;
  std::uint64_t bytes_;
  KnomialTree tree_;
  std::byte* held_ = nullptr;
};

}  // namespace lapwing::coll
