// Groups: ordered sets of processes (MPI 5.0, chapter 7.3). Immutable once made, shared by reference counting.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/object.h"
#include "base/process_id.h"
#include "base/status.h"
#include "mpi.h"

namespace lapwing::comm {

using lapwing::ProcessId;

class Session;

class Group : public Object {
 public:
  // `own_rank` is found by looking for `self` in `members`.
  static Group* make(const std::vector<ProcessId>& members, ProcessId self);
  // `size` processes, with ids one after the other from `first` on.
  static Group* make_range(ProcessId first, int size, int own_rank);
  static void drop(Group* group) noexcept;  // releases one reference

  int size() const noexcept { return size_; }
  // This process's rank in the group, or MPI_UNDEFINED.
  int rank() const noexcept { return rank_; }
  // The session it was made from, directly or through other groups and communicators; null in the world model. A session
  // ends after its groups. Set once, before the group is shared.
  Session* session = nullptr;
  ProcessId member(int rank) const noexcept {
    if (stride_ == 0) return members_[static_cast<std::size_t>(rank)];
    return {static_cast<std::uint32_t>(first_ + rank * stride_)};
  }
  // A copy, in the order of ranks.
  std::vector<ProcessId> members() const;
  // The rank of a process in this group, or MPI_UNDEFINED. O(1) after the first question, which may build an index. Any
  // thread.
  int rank_of(ProcessId process) const {
    if (stride_ == 0) return rank_by_index(process);
    const std::int64_t distance = std::int64_t{process.index} - first_;
    const std::int64_t rank = stride_ == 1 ? distance : distance / stride_;
    return rank >= 0 && rank < size_ && rank * stride_ == distance ? static_cast<int>(rank) : MPI_UNDEFINED;
  }

 private:
  Group(int size, int rank) noexcept : Object(ObjectKind::kGroup), size_(size), rank_(rank) {}
  ~Group() = default;
  int rank_by_index(ProcessId process) const;

  int size_;
  int rank_;
  // Most groups are evenly spaced (all, every second, a block) and need neither list nor index: member(r) is first_ + r * stride_.
  std::int64_t first_ = 0;
  std::int64_t stride_ = 0;  // 0: not evenly spaced, look into members_ and index_
  std::vector<ProcessId> members_;
  mutable std::once_flag index_made_;
  mutable std::unordered_map<ProcessId, int> index_;
};

// Set operations of MPI_Group_*: results in the order the standard says.
std::vector<ProcessId> group_union(const Group& a, const Group& b);
std::vector<ProcessId> group_intersection(const Group& a, const Group& b);
std::vector<ProcessId> group_difference(const Group& a, const Group& b);

// MPI_IDENT, MPI_SIMILAR (other order) or MPI_UNEQUAL.
int compare(const Group& a, const Group& b);

// Marks the listed ranks, each of which must exist and come once (MPI_ERR_RANK).
Status select_ranks(const Group& group, std::span<const int> ranks, std::vector<bool>& selected);

// Appends the ranks that the (first, last, stride) triplets of MPI_Group_range_incl stand for.
Status expand_ranges(const int ranges[][3], int count, int group_size, std::vector<int>& ranks);

}  // namespace lapwing::comm
