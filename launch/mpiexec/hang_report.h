// Why a job does not go on: the ranks' own reports (wire/hang_report.h) made into a text for the user, and what follows from all of
// them together: which rank waits for which, in a circle perhaps, or in collective operations that do not fit each other.
//
// Pure: what is known goes in, text comes out. The reports are of other processes and say what they like; nothing here trusts them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "wire/hang_report.h"

namespace lapwing::launch {

// What mpiexec knows of one rank.
struct RankView {
  enum class Standing {
    kOutside,    // has not called MPI_Init, or is no MPI program
    kAnswered,   // `report` says more
    kSilent,     // is inside MPI and did not answer
    kFinalised,  // has finished with MPI
    kEnded,
  };
  Standing standing = Standing::kOutside;
  pid_t process = 0;
  bool in_fence = false;      // waits for all other ranks, in MPI_Init or MPI_Finalize
  std::string process_state;  // of one that did not answer: "stopped"
  wire::HangReport report;
};

// Younger waits may be over by the time the others answer, so nothing is concluded from them.
inline constexpr std::int64_t kYoungWaitMs = 300;

// By rank: whether it can never go on, because what it waits for depends on ranks that cannot either.
std::vector<bool> find_deadlocked(const std::vector<RankView>& ranks);
// Some ranks that cannot go on, each of which waits for the next and the last for the first. Empty: there are none.
std::vector<int> find_cycle(const std::vector<RankView>& ranks, const std::vector<bool>& deadlocked);

// The text for the user: lines that say what each rank does, then the conclusions.
std::string describe_hang(const std::vector<RankView>& ranks);

}  // namespace lapwing::launch
