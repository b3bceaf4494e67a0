#include "mpiexec/job.h"

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/exit_code.h"
#include "mpi.h"

namespace lapwing::launch {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Between SIGTERM and SIGKILL: enough for a handler that writes a line, little beside the 2 s in which all must be
// over.
constexpr milliseconds kGrace(400);
constexpr int kTimeoutCode = 124;
// After SIGKILL: what has not ended then is held by the kernel, or by a debugger, and is left.
constexpr milliseconds kKillPatience(5000);
// After a bad end: how long a reader of our output may take nothing before the rest is given up.
constexpr milliseconds kReaderPatience(2000);
constexpr milliseconds kLittlePatience(200);  // when the user has asked for the end twice
// A process's connections close before its parent hears of its end; what others say about it may come in between.
constexpr milliseconds kHearsay(250);

constexpr int kHandledSignals[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

bool ends_jobs(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

// nohup, and so the user, has asked that a terminal that is closed does nothing. SIGINT, which shells have scripts' background jobs ignore, is taken
// all the same, as by other launchers: what sends it to mpiexec means it.
bool hangup_is_ignored() {
  struct sigaction action {};
  return ::sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

const char* when_ended(PmiState state) {
  switch (state) {
    case PmiState::kSilent:
      return "without calling MPI_Init";
    case PmiState::kInitialised:
      return "inside MPI_Init";
    case PmiState::kFinalised:
      break;
  }
  return "after MPI_Finalize";
}

}  // namespace

Job::Job(const CommandLine& command_line)
    : command_line_(command_line),
      ranks_(command_line.ranks()),
      processes_(ranks_),
      output_(loop_, command_line.label,
              [this](const std::string& what) { fail(1, "mpiexec: " + what + "; output is lost, so the job ends\n"); }),
      input_(loop_),
      hang_desk_(loop_, ranks_, [this](int rank) { return view_of(rank); },
                 [this](int finder, const wire::LossFound& found) { note_loss(finder, found); }),
      gave_up_(static_cast<std::size_t>(ranks_)) {
  for (std::size_t index = 0; index < command_line_.programs.size(); ++index) {
    rank_programs_.insert(rank_programs_.end(), static_cast<std::size_t>(command_line_.programs[index].ranks), index);
  }
}

Job::~Job() {
  if (signal_fd_ >= 0) ::close(signal_fd_);
  if (null_fd_ >= 0) ::close(null_fd_);
}

RankName Job::name_of(int rank) const {
  return {rank, ranks_, processes_.process(rank), program_of(rank).arguments, command_line_.others_go_on};
}

int Job::run() {
  if (const Status status = check_settings(); !status.ok()) {
    std::fprintf(stderr, "mpiexec: %s\n", status.text());
    return 2;
  }
  if (const Status status = find_programs(); !status.ok()) {
    std::fprintf(stderr, "mpiexec: %s\n", status.text());
    return 127;
  }
  take_signals();
  plan();
  if (command_line_.timeout > 0)
    timeout_ = Clock::now() + milliseconds(static_cast<long>(command_line_.timeout * 1000));
  if (const Status status = start_all(); !status.ok()) fail(1, std::string("mpiexec: ") + status.text() + "\n");

  while (!processes_.all_ended() && !gave_up_killing_) {
    loop_.run_once(wait_milliseconds());
    on_time();
  }
  fail_by_hearsay();
  processes_.sweep();
  tell_late_failures();
  tell_other_errors();
  deliver_output();
  return exit_code_.value_or(0);
}

void Job::take_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kHandledSignals) {
    if (signal != SIGHUP || !hangup_is_ignored()) sigaddset(&set, signal);
  }
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGTTOU, SIG_IGN);
  signal_fd_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  loop_.add(signal_fd_, EPOLLIN, [this](std::uint32_t) { on_signals(); });
}

// ---- while the job runs ---------------------------------------------------------------------------------------------

int Job::wait_milliseconds() const {
  std::optional<Time> next;
  const auto consider = [&next](const std::optional<Time>& time) {
    if (time && (!next || *time < *next)) next = time;
  };
  consider(kill_time_);
  consider(leave_time_);
  consider(reader_deadline_);
  if (state_ == State::kRunning) consider(timeout_);
  consider(hang_desk_.deadline());
  if (state_ == State::kRunning && hearsay_) consider(hearsay_->until);
  consider(output_.deadline());
  consider(input_.deadline());
  if (!next) return -1;
  const auto left = std::chrono::ceil<milliseconds>(*next - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1000000));
}

void Job::on_time() {
  const Time now = Clock::now();
  if (kill_time_ && now >= *kill_time_) kill_all();
  if (leave_time_ && now >= *leave_time_) leave_the_unkillable();
  if (hearsay_ && now >= hearsay_->until) fail_by_hearsay();
  if (state_ == State::kRunning && timeout_ && now >= *timeout_) on_timeout();
  hang_desk_.on_time(now);
  output_.on_time(now);
  input_.on_time(now);
}

// The ranks are still as they were when the time was over: hung, perhaps. They are ended when they have said why.
void Job::on_timeout() {
  timeout_.reset();
  hang_desk_.ask([this](const std::string& report) {
    char text[128];
    std::snprintf(text, sizeof text, "mpiexec: the job did not end within %g s and is being ended; its %d rank%s then:\n",
                  command_line_.timeout, ranks_, ranks_ == 1 ? "" : "s");
    fail(kTimeoutCode, text + report);
  });
}

void Job::on_signals() {
  signalfd_siginfo info;
  while (::read(signal_fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) {
      tell_of_terminal_stop();
      collect_ends();
    } else {
      on_user_signal(signal);
    }
  }
}

void Job::on_user_signal(int signal) {
  if (signal == SIGTSTP) {
    suspend();
    return;
  }
  if (signal == SIGCONT) {
    processes_.signal_all(SIGCONT);
    input_.refresh();
    return;
  }
  if (signal == SIGUSR1) {
    on_usr1();
    return;
  }
  if (!ends_jobs(signal)) {
    processes_.signal_all(signal);
    return;
  }
  if (user_signal_ != 0 || delivering_) {
    if (!exit_code_) exit_code_ = 128 + signal;
    insist();
    return;
  }
  user_signal_ = signal;
  output_.say("mpiexec: passing " + signal_name(signal) + " on to all ranks; once more, and they are killed at once\n");
  processes_.signal_all(signal);
  processes_.signal_all(SIGCONT);  // a stopped rank must hear it as well
}

// Programs that handle this signal get it, as they would without mpiexec. It would end the others, which no user wants; for these
// it asks what they wait for.
void Job::on_usr1() {
  bool passed_on = false;
  for (int rank = 0; rank < ranks_; ++rank) {
    const pid_t process = processes_.process(rank);
    if (processes_.ended(rank) || !survives_signal(process, SIGUSR1)) continue;
    ::kill(-process, SIGUSR1);
    passed_on = true;
  }
  if (passed_on) {
    output_.say("mpiexec: SIGUSR1 was passed on to the ranks that handle it; to see what all wait for: lapwing why " +
                std::to_string(::getpid()) + "\n");
    return;
  }
  hang_desk_.ask([this](const std::string& report) {
    output_.say("mpiexec: what the " + std::to_string(ranks_) + " ranks do (asked for by SIGUSR1):\n" + report);
  });
}

RankView Job::view_of(int rank) const {
  using Standing = RankView::Standing;
  RankView view;
  view.process = processes_.process(rank);
  view.in_fence = pmi_->in_fence(rank);
  const PmiState state = pmi_->state(rank);
  view.standing = processes_.ended(rank)             ? Standing::kEnded
                  : state == PmiState::kInitialised ? Standing::kSilent
                  : state == PmiState::kFinalised   ? Standing::kFinalised
                                                    : Standing::kOutside;
  return view;
}

// The ranks stop first; mpiexec stops as its shell expects, and SIGCONT wakes them all.
void Job::suspend() {
  processes_.signal_all(SIGTSTP);
  ::raise(SIGSTOP);
}

void Job::on_abort(int rank, int code, const std::string& text) {
  const std::string report = aborted_report(name_of(rank), code, text);
  if (code == MPI_ERR_PROC_ABORTED) {
    note_hearsay({rank, exit_code_of(code), report, Clock::now() + kHearsay});
  } else {
    fail(exit_code_of(code), report);
  }
}

void Job::on_error(int rank, RankError error) {
  const int code = error.code;
  const bool by_loss = code == MPI_ERR_PROC_ABORTED || error.blamed_rank >= 0;
  errors_.add(rank, std::move(error));
  if (by_loss) {
    note_hearsay({rank, exit_code_of(code), "", Clock::now() + kHearsay});
  } else {
    fail_by_error(rank);
  }
}

void Job::note_hearsay(Hearsay hearsay) {
  if (state_ != State::kRunning) return;
  gave_up_[static_cast<std::size_t>(hearsay.rank)] = true;
  if (!hearsay_) hearsay_ = std::move(hearsay);
}

// Once the job is being ended, ranks find those that are ended before them.
void Job::note_loss(int finder, const wire::LossFound& found) {
  if (state_ == State::kRunning) errors_.add_finding(finder, found.rank, found.why);
}

void Job::on_protocol_error(int rank, const Status& status) {
  fail(1, "mpiexec: " + describe(name_of(rank)) + " sent something wrong to its launcher: " + status.text() + "\n");
}

// Its process may run on, on a host that the others cannot reach. What becomes of it is left to it: it hears nothing from the others either.
void Job::on_given_up(int rank, int by) {
  if (state_ != State::kRunning) return;
  pmi_->excuse(rank);
  output_.say("mpiexec: rank " + std::to_string(by) + " goes on without " + describe(name_of(rank)) + ", which it has lost\n");
}

void Job::on_waiting(int) {
  look_for_deadlock();
}

// It would stand there without a word.
void Job::tell_of_terminal_stop() {
  const std::optional<RankStop> stop = processes_.collect_terminal_stop();
  if (!stop || std::exchange(told_of_stop_, true)) return;
  output_.say("mpiexec: " + describe(name_of(stop->rank)) + " is stopped by " + signal_name(stop->signal) +
              ": it reads or sets the terminal itself (/dev/tty), which is mpiexec's. Have it read its standard input, which mpiexec passes on, or start it "
              "without mpiexec\n");
}

void Job::collect_ends() {
  const std::vector<RankEnd> ends = processes_.collect_ends();
  for (const RankEnd& end : ends) judge(end);
  look_for_deadlock();
}

void Job::judge(const RankEnd& end) {
  pmi_->drain(end.rank);
  hang_desk_.drain(end.rank);
  if (state_ != State::kRunning || gave_up_[static_cast<std::size_t>(end.rank)]) return;
  if (!end.start_failure.empty()) {
    fail(127, "mpiexec: cannot start " + describe(name_of(end.rank)) + ": " + end.start_failure + "\n");
  } else if (WIFSIGNALED(end.wait_status)) {
    judge_signal(end);
  } else {
    judge_exit(end);
  }
}

void Job::judge_signal(const RankEnd& end) {
  const int signal = WTERMSIG(end.wait_status);
  if (signal == user_signal_) {
    fail(128 + signal, "mpiexec: the job was ended by " + signal_name(signal) + "\n");
  } else {
    end_badly(end, 128 + signal, killed_report(name_of(end.rank), signal, WCOREDUMP(end.wait_status)));
  }
}

void Job::judge_exit(const RankEnd& end) {
  const int code = WEXITSTATUS(end.wait_status);
  const PmiState state = pmi_->state(end.rank);
  if (state == PmiState::kFinalised || (code == 0 && state == PmiState::kSilent)) {
    // The others may have work left: their results are wanted whatever this rank thinks of its own.
    if (code != 0) note_late_failure(end.rank, code);
    return;
  }
  end_badly(end, code == 0 ? 1 : code, exited_report(name_of(end.rank), code, state == PmiState::kInitialised));
}

// Before all ranks have met, the others cannot go on if they are MPI programs; look_for_deadlock() will find out.
void Job::end_badly(const RankEnd& end, int code, const std::string& report) {
  if (!command_line_.others_go_on) return fail(code, report);
  exit_code_ = exit_code_.value_or(code);
  output_.take_present();
  output_.say(report);
  if (!pmi_->all_have_met()) return;
  pmi_->excuse(end.rank);
  hang_desk_.tell_end(end.rank, end.wait_status);
}

// The first is told at once, the number of all at the end: they may be thousands.
void Job::note_late_failure(int rank, int code) {
  if (!exit_code_) exit_code_ = code;
  if (++late_failures_ == 1) output_.say(late_failure_report(name_of(rank), code));
}

void Job::tell_late_failures() {
  if (late_failures_ < 2) return;
  output_.say("mpiexec: " + std::to_string(late_failures_) + " of " + std::to_string(ranks_) +
              " ranks exited with codes other than 0 after MPI_Finalize\n");
}

void Job::tell_other_errors() {
  const std::string others = errors_.others();
  if (!others.empty()) output_.say("mpiexec: " + others + "\n");
}

// A rank that has ended will never come to a fence in which another one waits.
void Job::look_for_deadlock() {
  if (state_ != State::kRunning || processes_.running() == ranks_) return;
  const int waiting = pmi_->waiting_rank();
  if (waiting < 0) return;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (!processes_.ended(rank) || pmi_->excused(rank)) continue;
    return fail(1, "mpiexec: " + describe(name_of(rank)) + " ended " + when_ended(pmi_->state(rank)) + ", but rank " +
                       std::to_string(waiting) + " waits for it; the other ranks are being ended\n");
  }
}

// ---- ending ---------------------------------------------------------------------------------------------------------

void Job::fail_by_hearsay() {
  if (!hearsay_) return;
  if (hearsay_->report.empty()) {
    fail_by_error(errors_.cause_of(hearsay_->rank));
  } else {
    fail(hearsay_->exit_code, hearsay_->report);
  }
}

void Job::fail_by_error(int rank) {
  if (state_ != State::kRunning) return;
  errors_.set_shown(rank);
  output_.take_present();
  output_.flush_unfinished(rank);
  fail(exit_code_of(errors_.error_of(rank).code), errors_.text_of(rank));
}

void Job::fail(int code, const std::string& report) {
  if (state_ != State::kRunning) return;
  exit_code_ = exit_code_.value_or(code);
  begin_ending();
  // What the ranks said before stands before the report; it may explain the end.
  output_.take_present();
  output_.say(report);
}

// The second time that the user wants the end: nothing is waited for any more.
void Job::insist() {
  if (!delivering_) output_.say("mpiexec: killing all ranks\n");
  impatient_ = true;
  reader_deadline_.reset();
  kill_all();
}

// When all ranks have ended. After a good end the reader of our output has all the time it wants, as in any pipeline;
// after a bad one, as long as it goes on reading.
void Job::deliver_output() {
  delivering_ = true;
  std::size_t last_backlog = 0;
  while (!output_.deliver()) {
    const Time now = Clock::now();
    const std::size_t backlog = output_.backlog();
    if (is_good_so_far()) {
      reader_deadline_.reset();
    } else if (!reader_deadline_ || backlog != last_backlog) {
      reader_deadline_ = now + (impatient_ ? kLittlePatience : kReaderPatience);
    } else if (now >= *reader_deadline_) {
      output_.give_up_delivery();
      // Only after a signal can all ranks have ended well; what is lost is a failure all the same.
      if (!exit_code_) exit_code_ = 128 + user_signal_;
      return;
    }
    last_backlog = backlog;
    loop_.run_once(wait_milliseconds());
    on_time();
  }
}

void Job::begin_ending() {
  state_ = State::kEnding;
  processes_.signal_all(SIGTERM);
  processes_.signal_all(SIGCONT);
  kill_time_ = Clock::now() + kGrace;
}

void Job::kill_all() {
  state_ = State::kKilling;
  kill_time_.reset();
  processes_.signal_all(SIGKILL);
  if (!leave_time_) leave_time_ = Clock::now() + kKillPatience;
}

void Job::leave_the_unkillable() {
  leave_time_.reset();
  for (int rank = 0; rank < ranks_ && !gave_up_killing_; ++rank) {
    if (processes_.ended(rank) || processes_.process(rank) <= 0) continue;
    gave_up_killing_ = true;
    output_.say("mpiexec: " + describe(name_of(rank)) +
                " was killed and does not end: a debugger holds it, or the kernel, for a file system that does not "
                "answer; it is left, one of " +
                std::to_string(processes_.running()) + "\n");
  }
}

}  // namespace lapwing::launch
