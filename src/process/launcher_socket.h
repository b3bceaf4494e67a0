// This process's end of the socket on which mpiexec asks why the program does not go on (docs/debugging.md), and tells of ranks that have
// ended while the others go on (docs/jobs.md). By the same socket mpiexec is told of each rank that this one finds lost by itself: where that does
// not hold this rank up, others tell the user of it, who have only heard of it (launch/mpiexec/error_tally.h).
//
// It stands in the event port, so the thread that drives reads it: the event thread while the application computes, the application's thread
// while it waits in MPI. Nothing looks at it otherwise, and it costs nothing until a packet comes.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "engine/event_port.h"
#include "p2p/loss_watcher.h"
#include "wire/rank_end.h"

namespace lapwing::process {

struct Process;

class LauncherSocket final : public engine::FdHandler, private p2p::LossWatcher {
 public:
  explicit LauncherSocket(Process& process) noexcept : process_(process) {}
  ~LauncherSocket();
  LauncherSocket(const LauncherSocket&) = delete;
  LauncherSocket& operator=(const LauncherSocket&) = delete;

  // Takes the socket that mpiexec has left, if it has. With the endpoint's lock held, like close().
  void open();
  void close() noexcept;

  void on_ready(std::uint32_t events) noexcept override;

 private:
  // mpiexec needs one word about each lost rank. Where a whole job is ended each of its ranks may find very many.
  static constexpr int kMostTold = 64;

  void on_process_lost(ProcessId lost, const Status& why) noexcept override;
  void answer(std::uint32_t inquiry) noexcept;
  void take_end(const wire::RankEnd& end) noexcept;
  void send(const std::string& packet) noexcept;

  Process& process_;
  int fd_ = -1;
  int told_ = 0;
  std::set<std::uint32_t> ended_;  // ranks, as mpiexec says
};

}  // namespace lapwing::process
