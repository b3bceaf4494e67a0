// The ranks as operating-system processes: starting them, signalling them, noticing their ends, leaving none behind.
//
// Every rank leads a process group of its own, so that what it starts is reached too, and is told by the kernel to end
// when mpiexec does. mpiexec is the sub-reaper of all descendants: those that escape their group fall to it.
//
// A rank that has ended stays a zombie until sweep(), which keeps its number, and so its group's, from being given to a
// process that is none of ours. Children that mpiexec has from before (`exec > >(tee log); exec mpiexec ...`) are left
// alone and not waited for.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/processor_list.h"
#include "base/status.h"
#include "mpiexec/guardian.h"

namespace lapwing::launch {

// What one rank is started with. Descriptors are mpiexec's; the caller closes them after the start.
struct StartOrder {
  int rank = 0;
  std::string path;  // of the program, found already
  const std::vector<std::string>* arguments = nullptr;
  std::vector<std::string> environment;   // NAME=VALUE
  std::string directory;                  // empty: mpiexec's own
  const ProcessorSet* processors = nullptr;  // null: not bound
  int pmi = -1;
  int questions = -1;                                // the end of the socket on which mpiexec asks what the rank waits for
  std::string questions_variable;
  int streams[3] = {-1, -1, -1};                     // -1: mpiexec's own
  rlimit descriptors{RLIM_INFINITY, RLIM_INFINITY};  // the limits that mpiexec had before it raised its own
};

// One end of a rank.
struct RankEnd {
  int rank = 0;
  pid_t process = 0;
  int wait_status = 0;
  std::string start_failure;  // not empty when the program was never reached
};

// A rank that the terminal has stopped.
struct RankStop {
  int rank = 0;
  int signal = 0;  // SIGTTIN or SIGTTOU
};

class ProcessTable {
 public:
  explicit ProcessTable(int ranks);
  ~ProcessTable();
  ProcessTable(const ProcessTable&) = delete;
  ProcessTable& operator=(const ProcessTable&) = delete;

  Status start(const StartOrder& order);

  // The ranks that ended since the last call; those ended by a signal first, because their ends cause the others'. Costs
  // one system call per running rank.
  std::vector<RankEnd> collect_ends();

  // A rank that has read from the terminal, or set it, since the last call: mpiexec is in the foreground there, and the ranks are not, so that the
  // kernel stops them.
  std::optional<RankStop> collect_terminal_stop();

  void signal_all(int signal);
  bool all_ended() const noexcept { return running_.empty(); }
  int running() const noexcept { return static_cast<int>(running_.size()); }
  bool ended(int rank) const noexcept { return entries_[static_cast<std::size_t>(rank)].ended; }
  pid_t process(int rank) const noexcept { return entries_[static_cast<std::size_t>(rank)].process; }

  // Ends whatever the ranks have left behind. Only when all ranks have ended, or will not be waited for.
  void sweep();

 private:
  struct Entry {
    pid_t process = -1;  // and number of its group
    bool ended = false;
    std::string start_failure;
  };

  void read_start_failures();
  // Descendants that mpiexec has adopted because their own parents have ended.
  struct Orphans {
    std::vector<pid_t> of_ranks;
    bool some_unclear = false;  // of which it cannot be told just now
  };
  Orphans orphans() const;

  const std::unordered_set<pid_t> inherited_;  // children from before, so it is filled before the guardian starts
  Guardian guardian_;
  std::vector<Entry> entries_;
  std::vector<int> running_;                  // ranks
  std::unordered_set<pid_t> rank_processes_;  // until sweep()
  int failure_pipe_[2] = {-1, -1};
};

}  // namespace lapwing::launch
