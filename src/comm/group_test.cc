#include "comm/group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <random>

namespace lapwing::comm {
namespace {

using Members = std::vector<ProcessId>;

Members processes(std::initializer_list<std::uint32_t> indices) {
  Members members;
  for (const std::uint32_t index : indices) members.push_back({index});
  return members;
}

struct Held {
  explicit Held(const Members& members, ProcessId self = {}) : group(Group::make(members, self)) {}
  ~Held() { Group::drop(group); }
  Group& operator*() const { return *group; }
  Group* group;
};

int naive_rank(const Members& members, ProcessId process) {
  const auto found = std::find(members.begin(), members.end(), process);
  return found == members.end() ? MPI_UNDEFINED : static_cast<int>(found - members.begin());
}

void expect_ranks(const Members& members) {
  const Held group(members);
  for (ProcessId process; process.index < 40; ++process.index) {
    EXPECT_EQ((*group).rank_of(process), naive_rank(members, process)) << "process " << process.index;
  }
}

TEST(Group, FindsRanksInEvenlySpacedGroups) {
  expect_ranks(processes({}));
  expect_ranks(processes({7}));
  expect_ranks(processes({0, 1, 2, 3}));
  expect_ranks(processes({5, 8, 11, 14}));
  expect_ranks(processes({14, 11, 8, 5}));
  expect_ranks(processes({3, 0}));
}

TEST(Group, FindsRanksInAnyGroup) {
  expect_ranks(processes({0, 1, 3}));
  expect_ranks(processes({9, 2, 30, 4, 11}));
}

TEST(Group, GivesItsMembersAsTheyWereListed) {
  for (const Members& members :
       {processes({}), processes({7}), processes({0, 1, 2}), processes({9, 6, 3}), processes({4, 2, 9})}) {
    const Held group(members);
    EXPECT_EQ((*group).members(), members);
    for (int rank = 0; rank < (*group).size(); ++rank)
      EXPECT_EQ((*group).member(rank), members[static_cast<std::size_t>(rank)]);
  }
}

TEST(Group, ARangeOfMillionsTakesNoMemoryForThem) {
  Group* group = Group::make_range({5}, 1 << 22, 3);
  EXPECT_EQ(group->rank(), 3);
  EXPECT_EQ(group->member((1 << 22) - 1), ProcessId{5 + (1 << 22) - 1});
  EXPECT_EQ(group->rank_of({5}), 0);
  EXPECT_EQ(group->rank_of({4}), MPI_UNDEFINED);
  EXPECT_EQ(group->rank_of({5 + (1 << 22)}), MPI_UNDEFINED);
  Group::drop(group);
}

TEST(Group, KnowsItsOwnRank) {
  EXPECT_EQ((*Held(processes({4, 2, 9}), {9})).rank(), 2);
  EXPECT_EQ((*Held(processes({4, 2, 9}), {3})).rank(), MPI_UNDEFINED);
  EXPECT_EQ((*Held(processes({}), {0})).rank(), MPI_UNDEFINED);
}

TEST(Group, SetOperationsAgreeWithTheirDefinitions) {
  std::mt19937 random(12345);
  for (int round = 0; round < 200; ++round) {
    Members all(20);
    for (std::uint32_t i = 0; i < 20; ++i) all[i] = {i};
    const auto draw = [&] {
      std::shuffle(all.begin(), all.end(), random);
      return Members(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(random() % 12));
    };
    const Members a = draw(), b = draw();
    const auto in = [](const Members& set, ProcessId process) { return naive_rank(set, process) != MPI_UNDEFINED; };
    Members joined = a, common, rest;
    for (ProcessId process : b) {
      if (!in(a, process)) joined.push_back(process);
    }
    for (ProcessId process : a) (in(b, process) ? common : rest).push_back(process);
    const Held first(a), second(b);
    EXPECT_EQ(group_union(*first, *second), joined);
    EXPECT_EQ(group_intersection(*first, *second), common);
    EXPECT_EQ(group_difference(*first, *second), rest);
  }
}

TEST(Group, Compares) {
  EXPECT_EQ(compare(*Held(processes({1, 2, 3})), *Held(processes({1, 2, 3}))), MPI_IDENT);
  EXPECT_EQ(compare(*Held(processes({1, 2, 3})), *Held(processes({3, 1, 2}))), MPI_SIMILAR);
  EXPECT_EQ(compare(*Held(processes({1, 2, 3})), *Held(processes({1, 2, 4}))), MPI_UNEQUAL);
  EXPECT_EQ(compare(*Held(processes({1, 2, 3})), *Held(processes({1, 2}))), MPI_UNEQUAL);
  EXPECT_EQ(compare(*Held(processes({})), *Held(processes({}))), MPI_IDENT);
}

TEST(Group, ExpandsRanges) {
  const int ranges[][3] = {{1, 7, 2}, {9, 8, -1}, {0, 0, 5}, {2, 5, 2}};
  std::vector<int> ranks;
  ASSERT_TRUE(expand_ranges(ranges, 4, 10, ranks).ok());
  EXPECT_EQ(ranks, (std::vector<int>{1, 3, 5, 7, 9, 8, 0, 2, 4}));
}

TEST(Group, RefusesWrongRanges) {
  std::vector<int> ranks;
  const int no_stride[][3] = {{0, 3, 0}};
  const int away[][3] = {{0, 3, -1}};
  const int outside[][3] = {{0, 12, 3}};
  const int before[][3] = {{-1, 3, 1}};
  EXPECT_EQ(expand_ranges(no_stride, 1, 10, ranks).error_class(), MPI_ERR_ARG);
  EXPECT_EQ(expand_ranges(away, 1, 10, ranks).error_class(), MPI_ERR_ARG);
  EXPECT_EQ(expand_ranges(outside, 1, 10, ranks).error_class(), MPI_ERR_RANK);
  EXPECT_EQ(expand_ranges(before, 1, 10, ranks).error_class(), MPI_ERR_RANK);
}

TEST(Group, SelectsEachRankOnce) {
  const Held group(processes({4, 5, 6}));
  std::vector<bool> selected;
  ASSERT_TRUE(select_ranks(*group, std::vector<int>{2, 0}, selected).ok());
  EXPECT_EQ(selected, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(select_ranks(*group, std::vector<int>{3}, selected).error_class(), MPI_ERR_RANK);
  EXPECT_EQ(select_ranks(*group, std::vector<int>{-1}, selected).error_class(), MPI_ERR_RANK);
  EXPECT_EQ(select_ranks(*group, std::vector<int>{1, 1}, selected).error_class(), MPI_ERR_RANK);
}

}  // namespace
}  // namespace lapwing::comm
