// Groups: ordered sets of processes (MPI 5.0, chapter 7.3). Immutable once made, shared by reference counting.
#pragma once

#include <cstdint>
#include <vector>

#include "base/object.h"
#include "base/status.h"
#include "mpi.h"

namespace lapwing::comm {

// A process of the job: its rank in MPI_COMM_WORLD. Equals net::PeerId.
using ProcessId = std::uint32_t;

class Group : public Object {
 public:
  // `own_rank` is found by looking for `self` in `members`.
  static Group* make(std::vector<ProcessId> members, ProcessId self);
  static void drop(Group* group) noexcept;  // releases one reference

  int size() const noexcept { return static_cast<int>(members_.size()); }
  // This process's rank in the group, or MPI_UNDEFINED.
  int rank() const noexcept { return rank_; }
  ProcessId member(int rank) const noexcept { return members_[static_cast<std::size_t>(rank)]; }
  const std::vector<ProcessId>& members() const noexcept { return members_; }
  // The rank of a process in this group, or MPI_UNDEFINED. O(1) after the first question, which builds an index.
  int rank_of(ProcessId process) const;

 private:
  Group(std::vector<ProcessId> members, int rank) noexcept;
  ~Group() = default;
  std::vector<ProcessId> members_;
  int rank_;
};

// Set operations of MPI_Group_*: results in the order the standard says.
std::vector<ProcessId> group_union(const Group& a, const Group& b);
std::vector<ProcessId> group_intersection(const Group& a, const Group& b);
std::vector<ProcessId> group_difference(const Group& a, const Group& b);

}  // namespace lapwing::comm
