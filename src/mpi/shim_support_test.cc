#include "mpi/shim_support.h"

#include <gtest/gtest.h>

#include <string>

namespace lapwing::mpi {
namespace {

// Four ranks, of which this process is rank 1.
class ShimChecks : public ::testing::Test {
 protected:
  ShimChecks() {
    ranks_ = new comm::Communicator(64, comm::Group::make_range({}, 4, 1), nullptr);
    ranks_->name = "ring";
  }
  ~ShimChecks() override { comm::Communicator::drop(ranks_); }

  comm::Communicator* ranks_;
};

void expect_error(int error_class, const std::string& text, const Status& status) {
  EXPECT_EQ(error_class, status.error_class());
  EXPECT_EQ(text, status.text());
}

TEST_F(ShimChecks, RanksOfTheCommunicatorAndProcNullMayBeNamed) {
  for (int rank : {0, 3, MPI_PROC_NULL}) EXPECT_TRUE(check_dest("dest", rank, *ranks_).ok());
  EXPECT_TRUE(check_source("source", MPI_ANY_SOURCE, *ranks_).ok());
  EXPECT_TRUE(check_root("root", 3, *ranks_).ok());
}

TEST_F(ShimChecks, ARankOutOfRangeIsToldWithTheRange) {
  expect_error(MPI_ERR_RANK, "dest is 7, but the communicator ring has 4 ranks (0 to 3)",
               check_dest("dest", 7, *ranks_));
  expect_error(MPI_ERR_RANK, "source is -9, but the communicator ring has 4 ranks (0 to 3)",
               check_source("source", -9, *ranks_));
  expect_error(MPI_ERR_ROOT, "root is 4, but the communicator ring has 4 ranks (0 to 3)",
               check_root("root", 4, *ranks_));
}

TEST_F(ShimChecks, WildcardsAreForReceivesOnly) {
  expect_error(MPI_ERR_RANK, "dest is MPI_ANY_SOURCE, which only a receive may name",
               check_dest("dest", MPI_ANY_SOURCE, *ranks_));
  expect_error(MPI_ERR_TAG, "tag is MPI_ANY_TAG, which only a receive may name", check_tag("tag", MPI_ANY_TAG));
  EXPECT_TRUE(check_receive_tag("tag", MPI_ANY_TAG).ok());
  EXPECT_EQ(MPI_ERR_TAG, check_receive_tag("tag", -7).error_class());
  EXPECT_EQ(MPI_ERR_ROOT, check_root("root", MPI_ROOT, *ranks_).error_class());
}

TEST_F(ShimChecks, AHandleHasToBeOfItsKind) {
  const auto as_group = reinterpret_cast<MPI_Group>(ranks_);
  EXPECT_EQ(MPI_ERR_GROUP, check_handle("group", as_group).error_class());
  EXPECT_TRUE(check_handle("comm", ranks_->handle()).ok());
  EXPECT_TRUE(check_handle("group", MPI_GROUP_EMPTY).ok());
}

TEST(ShimHandles, NullAndUnsetHandlesAreTold) {
  expect_error(MPI_ERR_INFO, "info is MPI_INFO_NULL", check_handle("info", MPI_INFO_NULL));
  EXPECT_TRUE(check_handle_or_null("info", MPI_INFO_NULL).ok());
  expect_error(MPI_ERR_REQUEST, "request is a handle of value 0, which no object ever has: was it set?",
               check_handle("request", MPI_Request{}));
  expect_error(MPI_ERR_TYPE, "datatype is MPI_DATATYPE_NULL", check_committed("datatype", MPI_DATATYPE_NULL));
  EXPECT_TRUE(check_committed("datatype", MPI_INT).ok());
}

TEST(ShimNumbers, CountsOfBothWidths) {
  const int narrow_counts[] = {1, 0, -2};
  const MPI_Count wide_counts[] = {1, 0, 5'000'000'000};
  expect_error(MPI_ERR_COUNT, "recvcounts is -2; a count cannot be negative",
               check_counts("recvcounts", narrow_counts, 3));
  EXPECT_TRUE(check_counts("recvcounts", wide_counts, 3).ok());
  EXPECT_TRUE(check_counts("recvcounts", static_cast<const int*>(nullptr), 0).ok());
  EXPECT_EQ(MPI_ERR_ARG, check_counts("recvcounts", static_cast<const int*>(nullptr), 1).error_class());
}

TEST(ShimNumbers, WhatDoesNotFitAnIntIsUndefined) {
  EXPECT_EQ(7, narrow(7));
  EXPECT_EQ(INT_MAX, narrow(INT_MAX));
  EXPECT_EQ(MPI_UNDEFINED, narrow(MPI_Count{INT_MAX} + 1));
}

TEST(ShimPointers, InPlaceAndNull) {
  EXPECT_TRUE(check_buffer("buf", MPI_BOTTOM).ok());
  EXPECT_EQ(MPI_ERR_BUFFER, check_buffer("buf", MPI_IN_PLACE).error_class());
  EXPECT_EQ(MPI_ERR_BUFFER, check_memory("buf", MPI_IN_PLACE, 0, MPI_INT, MPI_PROC_NULL).error_class());
  EXPECT_TRUE(check_memory("buf", MPI_BOTTOM, 0, MPI_INT, 0).ok());
  expect_error(MPI_ERR_ARG, "flag is a null pointer", check_output("flag", static_cast<int*>(nullptr)));
}

TEST(ShimPointers, MemoryThatCannotBeHadIsAnError) {
  EXPECT_EQ(MPI_ERR_NO_MEM, guarded([]() -> Status { throw std::bad_alloc(); }).error_class());
}

}  // namespace
}  // namespace lapwing::mpi
