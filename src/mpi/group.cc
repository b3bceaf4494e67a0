// MPI 5.0, section 7.3: groups. All local; the pure part is in comm/group.h.
#include "comm/group.h"

#include <span>
#include <utility>
#include <vector>

#include "mpi/handle_numbers.h"
#include "mpi/handles.h"
#include "mpi/implementation.h"

namespace lapwing::mpi {

namespace {

MPI_Group make_handle(const std::vector<ProcessId>& members, comm::Session* session) {
  if (members.empty()) return MPI_GROUP_EMPTY;
  comm::Group* made = comm::Group::make(members, process().self_id());
  made->session = session;
  return give_handle(made);
}

// A group of the session that `parent` is of.
MPI_Group make_handle(const std::vector<ProcessId>& members, const comm::Group& parent) {
  return make_handle(members, parent.session);
}

// The listed ranks of `group`, in the order of the list.
Status include(const comm::Group& group, std::span<const int> ranks, MPI_Group* newgroup) {
  std::vector<bool> selected;
  LAPWING_TRY(comm::select_ranks(group, ranks, selected));
  std::vector<ProcessId> members;
  members.reserve(ranks.size());
  for (const int rank : ranks) members.push_back(group.member(rank));
  *newgroup = make_handle(members, group);
  return {};
}

// All others, in the order of `group`.
Status exclude(const comm::Group& group, std::span<const int> ranks, MPI_Group* newgroup) {
  std::vector<bool> selected;
  LAPWING_TRY(comm::select_ranks(group, ranks, selected));
  std::vector<ProcessId> members;
  for (int rank = 0; rank < group.size(); ++rank) {
    if (!selected[static_cast<std::size_t>(rank)]) members.push_back(group.member(rank));
  }
  *newgroup = make_handle(members, group);
  return {};
}

std::span<const int> as_span(const int* ranks, int n) {
  return {ranks, static_cast<std::size_t>(n)};
}

}  // namespace

Status group_size(MPI_Group group, int* size) {
  *size = resolve(group)->size();
  return {};
}

Status group_rank(MPI_Group group, int* rank) {
  *rank = resolve(group)->rank();
  return {};
}

Status group_translate_ranks(MPI_Group group1, int n, const int ranks1[], MPI_Group group2, int ranks2[]) {
  const comm::Group& from = *resolve(group1);
  const comm::Group& to = *resolve(group2);
  for (int i = 0; i < n; ++i) {
    if (ranks1[i] == MPI_PROC_NULL) {
      ranks2[i] = MPI_PROC_NULL;
    } else if (ranks1[i] < 0 || ranks1[i] >= from.size()) {
      return Status::error(MPI_ERR_RANK, "ranks1[%d] is %d, but group1 has %d member%s", i, ranks1[i], from.size(), from.size() == 1 ? "" : "s");
    } else {
      ranks2[i] = to.rank_of(from.member(ranks1[i]));
    }
  }
  return {};
}

Status group_compare(MPI_Group group1, MPI_Group group2, int* result) {
  *result = comm::compare(*resolve(group1), *resolve(group2));
  return {};
}

Status group_union(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
  const comm::Group &first = *resolve(group1), &second = *resolve(group2);
  comm::Session* const session = first.session != nullptr ? first.session : second.session;  // MPI_GROUP_EMPTY is of none
  *newgroup = make_handle(comm::group_union(first, second), session);
  return {};
}

Status group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
  *newgroup = make_handle(comm::group_intersection(*resolve(group1), *resolve(group2)), *resolve(group1));
  return {};
}

Status group_difference(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
  *newgroup = make_handle(comm::group_difference(*resolve(group1), *resolve(group2)), *resolve(group1));
  return {};
}

Status group_incl(MPI_Group group, int n, const int ranks[], MPI_Group* newgroup) {
  return include(*resolve(group), as_span(ranks, n), newgroup);
}

Status group_excl(MPI_Group group, int n, const int ranks[], MPI_Group* newgroup) {
  return exclude(*resolve(group), as_span(ranks, n), newgroup);
}

Status group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup) {
  const comm::Group& old = *resolve(group);
  std::vector<int> ranks;
  LAPWING_TRY(comm::expand_ranges(ranges, n, old.size(), ranks));
  return include(old, ranks, newgroup);
}

Status group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup) {
  const comm::Group& old = *resolve(group);
  std::vector<int> ranks;
  LAPWING_TRY(comm::expand_ranges(ranges, n, old.size(), ranks));
  return exclude(old, ranks, newgroup);
}

Status group_free(MPI_Group* group) {
  if (!is_predefined(*group)) {
    uncount_handle(*resolve(*group));
    comm::Group::drop(resolve(*group));
  }
  *group = MPI_GROUP_NULL;
  return {};
}

}  // namespace lapwing::mpi
