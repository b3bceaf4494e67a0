// Blocks of numbers that tell where they come from and where they belong, for tests of algorithms that only move data.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "coll/algorithms.h"
#include "coll/simulation_for_tests.h"
#include "coll/sparse_data_for_tests.h"

namespace lapwing::coll {

inline constexpr int kMaxRanks = 17;

// Every second int of a row.
inline datatype::Datatype* sparse_type() {
  static datatype::Datatype* const kType = [] {
    datatype::Datatype* made = nullptr;
    datatype::Datatype* spaced = nullptr;
    EXPECT_TRUE(datatype::make_vector(3, 1, 2, *datatype::resolve(MPI_INT), &made).ok());
    EXPECT_TRUE(datatype::make_resized(*made, 0, 6 * sizeof(int), &spaced).ok());
    spaced->commit();
    datatype::free(made);
    return spaced;
  }();
  return kType;
}

inline int value(int from, int to, std::uint64_t i) {
  return from * 100000 + to * 1000 + static_cast<int>(i) + 1;
}

// One rank's memory for `blocks` blocks of `count` ints, dense or as every second int.
struct Memory {
  Memory(int blocks, std::uint64_t count, bool sparse) : count(count), sparse(sparse) {
    ints.assign(static_cast<std::size_t>(blocks) * (sparse ? 2 : 1) * count + 1, -7);
  }
  Block at(int index) {
    int* begin = ints.data() + static_cast<std::size_t>(index) * count * (sparse ? 2 : 1);
    return sparse ? block(begin, count / 3, sparse_type()) : block(begin, count, int_type());
  }
  Block together(int blocks) {
    return sparse ? block(ints.data(), static_cast<std::uint64_t>(blocks) * count / 3, sparse_type())
                  : block(ints.data(), static_cast<std::uint64_t>(blocks) * count, int_type());
  }
  int& operator()(int index, std::uint64_t i) {
    return ints[(static_cast<std::size_t>(index) * count + i) * (sparse ? 2 : 1)];
  }
  Blocks all(int blocks) {
    Blocks made;
    for (int i = 0; i < blocks; ++i) made.push_back(at(i));
    return made;
  }
  std::uint64_t count;
  bool sparse;
  std::vector<int> ints;
};

template <typename Check>
void for_all_cases(Check check) {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks) {
    for (const std::uint64_t count : {0, 3, 30}) {
      for (unsigned seed = 1; seed <= kSeeds; ++seed) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(count) + " ints, seed " +
                     std::to_string(seed));
        check(ranks, count, seed);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace lapwing::coll
