#include "comm/group.h"

#include <algorithm>

namespace lapwing::comm {

namespace {

// The distance of each member from the one before, or 0 when they are not evenly spaced.
std::int64_t stride_of(const std::vector<ProcessId>& members) noexcept {
  if (members.size() < 2) return 1;
  const auto distance = [&](std::size_t i) { return std::int64_t{members[i].index} - members[i - 1].index; };
  for (std::size_t i = 2; i < members.size(); ++i)
    if (distance(i) != distance(1)) return 0;
  return distance(1);
}

}  // namespace

Group* Group::make(const std::vector<ProcessId>& members, ProcessId self) {
  const auto own = std::find(members.begin(), members.end(), self);
  auto* group = new Group(static_cast<int>(members.size()),
                          own != members.end() ? static_cast<int>(own - members.begin()) : MPI_UNDEFINED);
  group->stride_ = stride_of(members);
  if (group->stride_ == 0) {
    group->members_ = members;
  } else if (!members.empty()) {
    group->first_ = members[0].index;
  }
  return group;
}

Group* Group::make_range(ProcessId first, int size, int own_rank) {
  auto* group = new Group(size, own_rank);
  group->first_ = first.index;
  group->stride_ = 1;
  return group;
}

std::vector<ProcessId> Group::members() const {
  if (stride_ == 0) return members_;
  std::vector<ProcessId> all(static_cast<std::size_t>(size_));
  for (int rank = 0; rank < size_; ++rank) all[static_cast<std::size_t>(rank)] = member(rank);
  return all;
}

void Group::drop(Group* group) noexcept {
  if (group != nullptr && group->release()) delete group;
}

int Group::rank_by_index(ProcessId process) const {
  std::call_once(index_made_, [this] {
    index_.reserve(members_.size());
    for (std::size_t i = 0; i < members_.size(); ++i) index_.emplace(members_[i], static_cast<int>(i));
  });
  const auto found = index_.find(process);
  return found == index_.end() ? MPI_UNDEFINED : found->second;
}

std::vector<ProcessId> group_union(const Group& a, const Group& b) {
  std::vector<ProcessId> result = a.members();
  for (const ProcessId process : b.members()) {
    if (a.rank_of(process) == MPI_UNDEFINED) result.push_back(process);
  }
  return result;
}

std::vector<ProcessId> group_intersection(const Group& a, const Group& b) {
  std::vector<ProcessId> result;
  for (const ProcessId process : a.members()) {
    if (b.rank_of(process) != MPI_UNDEFINED) result.push_back(process);
  }
  return result;
}

std::vector<ProcessId> group_difference(const Group& a, const Group& b) {
  std::vector<ProcessId> result;
  for (const ProcessId process : a.members()) {
    if (b.rank_of(process) == MPI_UNDEFINED) result.push_back(process);
  }
  return result;
}

int compare(const Group& a, const Group& b) {
  if (a.size() != b.size()) return MPI_UNEQUAL;
  if (a.members() == b.members()) return MPI_IDENT;
  for (const ProcessId process : a.members()) {
    if (b.rank_of(process) == MPI_UNDEFINED) return MPI_UNEQUAL;
  }
  return MPI_SIMILAR;
}

Status select_ranks(const Group& group, std::span<const int> ranks, std::vector<bool>& selected) {
  selected.assign(static_cast<std::size_t>(group.size()), false);
  for (const int rank : ranks) {
    if (rank < 0 || rank >= group.size()) {
      return Status::error(MPI_ERR_RANK, "rank %d is not in the group, which has %d members", rank, group.size());
    }
    if (selected[static_cast<std::size_t>(rank)]) return Status::error(MPI_ERR_RANK, "rank %d is listed twice", rank);
    selected[static_cast<std::size_t>(rank)] = true;
  }
  return {};
}

Status expand_ranges(const int ranges[][3], int count, int group_size, std::vector<int>& ranks) {
  for (int i = 0; i < count; ++i) {
    const std::int64_t first = ranges[i][0], last = ranges[i][1], stride = ranges[i][2];
    if (stride == 0) return Status::error(MPI_ERR_ARG, "range %d has stride 0", i);
    if (first < 0 || first >= group_size) {
      return Status::error(MPI_ERR_RANK, "range %d begins at rank %d, but the group has %d members", i, ranges[i][0],
                           group_size);
    }
    const std::int64_t steps = (last - first) / stride;
    if ((last - first) * stride < 0) {
      return Status::error(MPI_ERR_ARG, "range %d (%d, %d, %d) leads away from its end", i, ranges[i][0], ranges[i][1],
                           ranges[i][2]);
    }
    const std::int64_t end = first + steps * stride;
    if (end < 0 || end >= group_size) {
      return Status::error(MPI_ERR_RANK, "range %d reaches rank %lld, but the group has %d members", i,
                           static_cast<long long>(end), group_size);
    }
    for (std::int64_t step = 0; step <= steps; ++step) ranks.push_back(static_cast<int>(first + step * stride));
  }
  return {};
}

}  // namespace lapwing::comm
