// The errors by which ranks have ended a job, so that the user reads one of them, and how many others there were.
//
// Where a rank or a host is lost, all that wait for it find an error; where the program is wrong, all ranks may make the same wrong call. One block
// is shown whole, and the others are counted. The rank that has found a loss may not be held up by it, and go on: then all errors are of ranks that
// have heard of it, and what the finder has told stands below the one that is shown.
#pragma once

#include <map>
#include <set>
#include <string>

#include "mpiexec/pmi_server.h"

namespace lapwing::launch {

class ErrorTally {
 public:
  // A rank has ended by this error. The first line of the block says where, the others what.
  void add(int rank, RankError error);
  // `finder` has found by itself that `lost` is lost, and says how. The first word about each lost rank counts.
  void add_finding(int finder, int lost, std::string why);
  // The rank whose error explains this rank's: where the rank that it has lost has ended by an error as well, that one's, and so on. Of the ranks
  // that have lost the same one, and of ranks that have lost each other, one that has found the loss itself: its text says how.
  int cause_of(int rank) const;
  const RankError& error_of(int rank) const { return errors_.at(rank); }
  // What the user is to read of this rank's error, in whole lines.
  std::string text_of(int rank) const;
  // This rank's error is shown. Once at most; never where the job's end has another reason.
  void set_shown(int rank) { shown_ = rank; }
  // A sentence on the ranks whose errors are not shown; empty: there is none. Where none is shown, those that go back to a lost rank are left out:
  // what is told instead explains them.
  std::string others() const;

 private:
  struct Finding {
    int finder;
    std::string why;
  };

  int finder(int rank, const std::set<int>& circle) const;

  std::map<int, RankError> errors_;  // by rank
  std::map<int, Finding> findings_;  // by the rank that is lost
  int shown_ = -1;
};

}  // namespace lapwing::launch
