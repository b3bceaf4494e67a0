#include "mpi/status_fields.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace lapwing::mpi {
namespace {

static_assert(sizeof(MPI_Status) == 32 && offsetof(MPI_Status, MPI_internal) == 12, "fixed by the standard ABI");

TEST(StatusFields, KeepMoreThanFourGibibytes) {
  MPI_Status status = {};
  status_fill(status, 3, 9, 5'000'000'000u, true);
  EXPECT_EQ(3, status.MPI_SOURCE);
  EXPECT_EQ(9, status.MPI_TAG);
  EXPECT_EQ(5'000'000'000u, status_bytes(status));
  EXPECT_TRUE(status_cancelled(status));
}

TEST(StatusFields, FillingLeavesTheErrorAlone) {
  MPI_Status status = {};
  status.MPI_ERROR = MPI_ERR_TRUNCATE;
  status_fill(status, 0, 0, 1);
  EXPECT_EQ(MPI_ERR_TRUNCATE, status.MPI_ERROR);
}

TEST(StatusFields, EmptyAndProcNull) {
  MPI_Status status = {};
  status_set_empty(status);
  EXPECT_EQ(MPI_ANY_SOURCE, status.MPI_SOURCE);
  EXPECT_EQ(MPI_ANY_TAG, status.MPI_TAG);
  EXPECT_EQ(0u, status_bytes(status));
  EXPECT_FALSE(status_cancelled(status));
  status.MPI_ERROR = MPI_ERR_TRUNCATE;
  status_set_proc_null(status);
  EXPECT_EQ(MPI_PROC_NULL, status.MPI_SOURCE);
  EXPECT_EQ(MPI_ERR_TRUNCATE, status.MPI_ERROR);
}

}  // namespace
}  // namespace lapwing::mpi
