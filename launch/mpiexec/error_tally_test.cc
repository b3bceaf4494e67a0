#include "mpiexec/error_tally.h"

#include <gtest/gtest.h>

#include <string>

#include "mpi.h"

namespace lapwing::launch {
namespace {

RankError error(int code, int rank, const std::string& what, int blamed = -1, bool heard = false) {
  return {code, "lapwing: fatal error at rank " + std::to_string(rank) + "\n  " + what + "\n", blamed, heard};
}

TEST(ErrorTally, IsSilentOnTheErrorThatIsShown) {
  ErrorTally errors;
  EXPECT_EQ(errors.others(), "");
  errors.add(1, error(MPI_ERR_RANK, 1, "no such rank"));
  errors.set_shown(1);
  EXPECT_EQ(errors.others(), "");
}

TEST(ErrorTally, CountsRanksWithTheSameError) {
  ErrorTally errors;
  for (int rank = 0; rank < 3; ++rank) errors.add(rank, error(MPI_ERR_RANK, rank, "no such rank"));
  errors.set_shown(2);
  EXPECT_EQ(errors.others(), "2 other ranks ended with the same error");
}

TEST(ErrorTally, TellsLossesFromErrorsOfAnotherKind) {
  ErrorTally errors;
  errors.add(0, error(MPI_ERR_PROC_ABORTED, 0, "rank 3 has gone", 3));
  errors.set_shown(0);
  errors.add(1, error(MPI_ERR_PROC_ABORTED, 1, "rank 3 has gone", 3));
  errors.add(2, error(MPI_ERR_IN_STATUS, 2, "rank 0 has gone", 0));
  errors.add(4, error(MPI_ERR_TRUNCATE, 4, "too long"));
  errors.add(5, error(MPI_ERR_TRUNCATE, 5, "too long"));
  EXPECT_EQ(errors.others(),
            "1 other rank ended with the same error, 1 other rank ended because of a rank that is lost to it, "
            "2 other ranks ended with errors of their own; LAPWING_LOG=info shows each");
}

TEST(ErrorTally, LeavesOutLossesThatAnotherReportExplains) {
  ErrorTally errors;
  errors.add(0, error(MPI_ERR_PROC_ABORTED, 0, "rank 3 has gone", 3));
  EXPECT_EQ(errors.others(), "");
  errors.add(4, error(MPI_ERR_TRUNCATE, 4, "too long"));
  EXPECT_EQ(errors.others(), "1 other rank ended with an error of its own; LAPWING_LOG=info shows each");
}

TEST(ErrorTally, GoesBackToTheCause) {
  ErrorTally errors;
  errors.add(0, error(MPI_ERR_PROC_ABORTED, 0, "rank 1 has gone", 1));
  EXPECT_EQ(errors.cause_of(0), 0);
  errors.add(1, error(MPI_ERR_PROC_ABORTED, 1, "rank 2 has gone", 2));
  errors.add(2, error(MPI_ERR_PROC_ABORTED, 2, "rank 3 does not answer", 3));
  EXPECT_EQ(errors.cause_of(0), 2);
  EXPECT_EQ(errors.cause_of(2), 2);
}

TEST(ErrorTally, PrefersALossThatWasFoundToOneThatWasHeard) {
  ErrorTally errors;
  errors.add(0, error(MPI_ERR_PROC_ABORTED, 0, "rank 3 is lost, as rank 1 says", 3, true));
  errors.add(2, error(MPI_ERR_PROC_ABORTED, 2, "rank 0 has gone", 0));
  EXPECT_EQ(errors.cause_of(0), 0);
  EXPECT_EQ(errors.cause_of(2), 0) << "rank 2 has found that rank 0 has ended, and rank 0 tells why";
  errors.add(1, error(MPI_ERR_PROC_ABORTED, 1, "rank 3 does not answer", 3));
  EXPECT_EQ(errors.cause_of(2), 1);
}

TEST(ErrorTally, TellsWhatTheFinderHasFound) {
  ErrorTally errors;
  errors.add(0, error(MPI_ERR_PROC_ABORTED, 0, "rank 3 is lost, as rank 1 says", 3, true));
  EXPECT_EQ(errors.text_of(0), errors.error_of(0).block) << "the finder has not told";
  errors.add_finding(2, 0, "rank 0 does not answer");
  EXPECT_EQ(errors.text_of(0), errors.error_of(0).block) << "that is another loss";
  errors.add_finding(1, 3, "rank 3 does not answer for 5 s");
  errors.add_finding(2, 3, "rank 3 does not answer either");
  EXPECT_EQ(errors.text_of(0), errors.error_of(0).block + "  rank 1 found it: rank 3 does not answer for 5 s\n");
  errors.add(2, error(MPI_ERR_PROC_ABORTED, 2, "rank 3 does not answer either", 3));
  EXPECT_EQ(errors.text_of(2), errors.error_of(2).block) << "its own error says how";
  errors.add(4, error(MPI_ERR_RANK, 4, "no such rank"));
  EXPECT_EQ(errors.text_of(4), errors.error_of(4).block);
}

TEST(ErrorTally, BearsRanksThatBlameEachOther) {
  ErrorTally errors;
  errors.add(0, error(MPI_ERR_PROC_ABORTED, 0, "rank 1 is lost, as rank 2 says", 1, true));
  errors.add(1, error(MPI_ERR_PROC_ABORTED, 1, "rank 0 does not answer", 0));
  EXPECT_EQ(errors.cause_of(0), 1);
  EXPECT_EQ(errors.cause_of(1), 1);
  errors.add(4, error(MPI_ERR_PROC_ABORTED, 4, "itself", 4));
  EXPECT_EQ(errors.cause_of(4), 4);
}

}  // namespace
}  // namespace lapwing::launch
