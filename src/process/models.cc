#include "process/models.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "base/log.h"
#include "base/own_descriptors.h"
#include "process/process.h"
#include "process/start_and_end.h"

namespace lapwing::process {
namespace {

// Guards the transitions; what is atomic is read without it where a single look is enough.
std::mutex transitions;
std::atomic<WorldState> world{WorldState::kNotInitialized};
int open_sessions = 0;
bool leaves_world = false;  // a thread is in MPI_Finalize, and waits for other ranks without the lock
bool left_the_job = false;
pthread_t main_thread;
std::atomic<bool> forked_child{false};

// Only what is safe in the child of a program with threads, whose locks other threads may have held.
void on_fork_in_child() noexcept {
  close_own_descriptors();
  abandon_failed_start();
  new (&transitions) std::mutex;
  new (&end_mutex()) std::mutex;
  if (process_or_null() == nullptr) return;
  abandon_process();
  if (world.load(std::memory_order_relaxed) == WorldState::kInitialized) world.store(WorldState::kFinalized);
  forked_child.store(true);
}

Status ensure_process() {
  if (process_or_null() != nullptr) return {};
  if (is_forked_child()) return not_running();
  static std::once_flag registered;
  std::call_once(registered, [] { ::pthread_atfork(nullptr, nullptr, on_fork_in_child); });
  if (left_the_job)
    return Status::error(MPI_ERR_OTHER,
                         "this process has left the job with MPI_Finalize and cannot join it again: "
                         "open the session before MPI_Finalize");
  return start_process();
}

// A program that used sessions only, or exits between MPI_Session_finalize and MPI_Init.
void leave_at_exit() {
  const std::lock_guard guard(transitions);
  if (process_or_null() == nullptr || open_sessions > 0 || world.load() == WorldState::kInitialized) return;
  if (Status status = stop_process(); !status.ok()) log_warn("leaving the job: %s", status.text());
}

// Sessions may have come and gone, and sent, while others waited without the lock.
Status release_process() {
  settle_process();
  left_the_job = true;
  return stop_process();
}

Status begin_leaving_world(bool& is_last) {
  const std::lock_guard guard(transitions);
  LAPWING_TRY(check_in_world());
  if (std::exchange(leaves_world, true)) return Status::error(MPI_ERR_OTHER, "another thread is in MPI_Finalize");
  is_last = open_sessions == 0;
  return {};
}

}  // namespace

bool is_forked_child() noexcept {
  return forked_child.load(std::memory_order_relaxed);
}

runtime::Job* job_to_end() noexcept {
  Process* process = process_or_null();
  return process != nullptr ? &process->job : job_of_failed_start();
}

WorldState world_state() noexcept {
  return world.load(std::memory_order_acquire);
}

Status not_running() {
  if (is_forked_child())
    return Status::error(
        MPI_ERR_OTHER,
        "this process was forked from a rank while MPI ran there: it is no rank and cannot use MPI. Let it "
        "execute another program, or fork before MPI_Init");
  return Status::error(MPI_ERR_OTHER,
                       "MPI is not running in this process: call MPI_Init, MPI_Init_thread or MPI_Session_init first, "
                       "and nothing of the kind after the last finalization");
}

Status enter_world(int thread_level) {
  const std::lock_guard guard(transitions);
  if (is_forked_child()) return not_running();
  if (world.load() != WorldState::kNotInitialized)
    return Status::error(MPI_ERR_OTHER, "MPI_Init was called before; it may be called once in a program");
  LAPWING_TRY(ensure_process());
  {
    const engine::Visit visit(process().engine);
    process().thread_level = thread_level;
  }
  main_thread = pthread_self();
  world.store(WorldState::kInitialized, std::memory_order_release);
  return {};
}

Status check_in_world() {
  if (is_forked_child()) return not_running();
  if (world.load() == WorldState::kInitialized) return {};
  return Status::error(MPI_ERR_OTHER, "MPI_Finalize without MPI_Init, or twice");
}

Status leave_world() {
  bool is_last = false;
  LAPWING_TRY(begin_leaving_world(is_last));
  Status met = meet_at_the_end(is_last);
  const std::lock_guard guard(transitions);
  leaves_world = false;
  if (!met.ok()) return met;
  world.store(WorldState::kFinalized, std::memory_order_release);
  return open_sessions == 0 ? release_process() : Status();
}

bool is_main_thread() noexcept {
  return pthread_equal(pthread_self(), main_thread) != 0;
}

Status enter_session() {
  const std::lock_guard guard(transitions);
  LAPWING_TRY(ensure_process());
  static std::once_flag registered;
  std::call_once(registered, [] { std::atexit(leave_at_exit); });
  {
    const engine::Visit visit(process().engine);
    process().has_sessions = true;
  }
  ++open_sessions;
  return {};
}

Status settle_session() {
  bool is_last = false;
  {
    const std::lock_guard guard(transitions);
    is_last = open_sessions == 1 && world.load() != WorldState::kInitialized;
  }
  if (is_last) settle_process();
  return {};
}

// Threads that end the last sessions at the same time have taken each other's for one that goes on.
Status leave_session() {
  const std::lock_guard guard(transitions);
  --open_sessions;
  if (open_sessions != 0 || world.load() == WorldState::kInitialized) return {};
  if (world.load() == WorldState::kFinalized) return release_process();
  settle_process();
  return {};
}

}  // namespace lapwing::process
