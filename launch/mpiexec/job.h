// One job from start to end: starts the ranks, serves them, judges their ends, and answers with the exit code.
//
// States: running until the first bad end, then ending (SIGTERM was sent, kGrace runs), then killing (SIGKILL was
// sent). The first bad end alone decides the exit code and is reported; what follows is its consequence. Where the user has asked for it
// (-disable-auto-cleanup), a rank that ends badly by itself leaves the others running, which are told; each such end is reported.
#pragma once

#include <chrono>
#include <csignal>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "machine.h"
#include "mpiexec/command_line.h"
#include "mpiexec/error_tally.h"
#include "mpiexec/event_loop.h"
#include "mpiexec/hang_desk.h"
#include "mpiexec/input.h"
#include "mpiexec/output.h"
#include "mpiexec/pmi_server.h"
#include "mpiexec/processes.h"
#include "mpiexec/report.h"
#include "mpiexec/why_server.h"

namespace lapwing::launch {

class Job final : public PmiServer::Listener {
 public:
  explicit Job(const CommandLine& command_line);
  ~Job() override;

  // Returns mpiexec's exit code. Once.
  int run();

  void on_abort(int rank, int code, const std::string& text) override;
  void on_error(int rank, RankError error) override;
  void on_waiting(int rank) override;
  void on_given_up(int rank, int by) override;
  void on_protocol_error(int rank, const Status& status) override;

 private:
  using Time = std::chrono::steady_clock::time_point;
  enum class State { kRunning, kEnding, kKilling };
  // A rank gave up because another one had ended, before the kernel told of that end.
  struct Hearsay {
    int rank;
    int exit_code;
    std::string report;  // empty: the rank's own is in errors_
    Time until;  // then it is told, if no end that explains it has been seen
  };

  // Preparing.
  Status check_settings() const;
  Status find_programs();
  void plan();
  void plan_for_queues();
  void take_signals();
  Status make_room();
  Status start_all();
  Status start_rank(int rank);
  std::vector<std::string> users_environment(int rank) const;
  std::vector<std::string> environment_of(int rank, const StartOrder& order) const;
  Status open_file(const std::string& pattern, int rank, int& fd);
  Status open_streams(int rank, int streams[3]);

  // While the job runs.
  int wait_milliseconds() const;
  void on_time();
  void on_timeout();
  void on_signals();
  void on_user_signal(int signal);
  void on_usr1();
  void suspend();
  void tell_of_terminal_stop();
  void collect_ends();
  void judge(const RankEnd& end);
  void judge_signal(const RankEnd& end);
  void judge_exit(const RankEnd& end);
  void end_badly(const RankEnd& end, int code, const std::string& report);
  void note_hearsay(Hearsay hearsay);
  void note_loss(int finder, const wire::LossFound& found);
  void note_late_failure(int rank, int code);
  void look_for_deadlock();

  // Ending.
  void fail_by_hearsay();
  void fail_by_error(int rank);
  void fail(int code, const std::string& report);
  void begin_ending();
  void insist();
  void kill_all();
  void leave_the_unkillable();
  void tell_late_failures();
  void tell_other_errors();
  void deliver_output();
  bool is_good_so_far() const noexcept { return state_ == State::kRunning && user_signal_ == 0 && !impatient_; }

  const Program& program_of(int rank) const {
    return command_line_.programs[rank_programs_[static_cast<std::size_t>(rank)]];
  }
  RankName name_of(int rank) const;
  RankView view_of(int rank) const;

  const CommandLine& command_line_;
  const int ranks_;
  std::vector<std::size_t> rank_programs_;  // rank -> index in command_line_.programs
  std::vector<std::string> paths_;          // of the programs
  Machine machine_;
  std::vector<ProcessorSet> binding_;
  bool oversubscribed_ = false;             // ranks take turns on cores
  std::vector<std::string> queue_texts_;    // rank -> what it is bound to, with --bind-to queue
  std::string queues_of_;                  // the interface whose receive queues the binding is by; empty: it is by none

  // The process table forks the guardian, so it comes before whatever makes descriptors.
  ProcessTable processes_;
  EventLoop loop_;
  OutputForwarder output_;
  InputForwarder input_;
  HangDesk hang_desk_;
  std::unique_ptr<WhyServer> why_server_;
  std::unique_ptr<PmiServer> pmi_;
  int signal_fd_ = -1;
  int null_fd_ = -1;
  std::unordered_set<std::string> output_files_;  // that were opened, by name
  const long start_time_ = static_cast<long>(std::time(nullptr));
  rlimit descriptors_before_{RLIM_INFINITY, RLIM_INFINITY};

  State state_ = State::kRunning;
  std::optional<int> exit_code_;
  std::optional<Hearsay> hearsay_;  // the first one
  std::vector<bool> gave_up_;       // rank -> by hearsay
  ErrorTally errors_;               // by which ranks have ended
  int late_failures_ = 0;           // ranks that ended with a code other than 0, but after MPI_Finalize
  bool told_of_stop_ = false;       // that the terminal has stopped a rank
  bool delivering_ = false;         // all ranks have ended; what they wrote has not all been taken by its reader
  bool impatient_ = false;          // the user asked for the end twice, or when only output was left
  int user_signal_ = 0;             // the first of SIGINT, SIGTERM, ... that the user sent
  std::optional<Time> kill_time_;
  std::optional<Time> leave_time_;
  bool gave_up_killing_ = false;
  std::optional<Time> timeout_;
  std::optional<Time> reader_deadline_;
};

}  // namespace lapwing::launch
