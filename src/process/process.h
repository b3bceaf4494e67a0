// This process's part in the job: the one object behind all MPI functions.
//
// Lives from the first initialization (MPI_Init, MPI_Init_thread, MPI_Session_init) to the last finalization. Global apart from it is
// only what must work before, after or without it: the state of the two models and the lock over their transitions (models.cc), the log's
// level and rank, the tuning values, the descriptors to close in a forked child, predefined objects (datatypes, operations, the empty group,
// MPI_INFO_ENV, predefined attributes), what the program may register before it (error codes and handlers, attribute keys, Fortran's types
// and numbers of handles), and per thread the call that is under way and its last error.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/settings.h"
#include "coll/area_pool.h"
#include "coll/known_rates.h"
#include "coll/known_ways.h"
#include "coll/scratch_pool.h"
#include "coll/selection.h"
#include "comm/communicator.h"
#include "engine/engine.h"
#include "net/network.h"
#include "p2p/messenger.h"
#include "process/launcher_socket.h"
#include "process/head.h"
#include "runtime/job.h"
#include "runtime/process_table.h"

namespace lapwing::process {

struct Process : ProcessHead {
  Settings settings;
  SteadyClock clock;
  coll::ScratchPool scratch;  // of the schedules of collectives, in whatever lies below
  engine::Engine engine{clock};
  std::unique_ptr<p2p::Messenger> messenger;
  coll::AreaPool areas;         // what the collectives of this host's ranks share
  coll::SelectionRules rules;  // by which their algorithms are chosen
  coll::KnownRates known_rates;  // of the links between hosts
  coll::KnownWays known_ways;    // of blocks between ranks of this host
  std::unique_ptr<net::Network> network;
  runtime::Job job;             // rank, size, launcher, host facts
  runtime::ProcessTable table;  // of this job, and of those that it has met
  ProcessId self_id() const noexcept { return {static_cast<std::uint32_t>(job.rank())}; }
  std::unique_ptr<comm::ContextIds> context_ids;
  comm::Communicator* processes = nullptr;  // all processes, for management (ContextIds::kProcesses); never a user's
  int thread_level = MPI_THREAD_SINGLE;  // of the world model
  bool has_sessions = false;             // there are or were; a session has MPI_THREAD_MULTIPLE
  LauncherSocket launcher_socket{*this};
  std::string statistics;  // LAPWING_STATS=1: what is to be printed at the end
};

// Null outside initialization..finalization. The pointer itself is read without a lock.
inline Process* process_or_null() noexcept {
  return static_cast<Process*>(the_process.load(std::memory_order_acquire));
}
// The same, where the shims have checked.
inline Process& process() noexcept {
  return *static_cast<Process*>(the_process.load(std::memory_order_acquire));
}

}  // namespace lapwing::process
