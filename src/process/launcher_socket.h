// This process's end of the socket on which mpiexec asks why the program does not go on (docs/debugging.md), and tells of ranks that have
// ended while the others go on (docs/jobs.md).
//
// It stands in the event port, so the thread that drives reads it: the event thread while the application computes, the application's thread
// while it waits in MPI. Nothing looks at it otherwise, and it costs nothing until a packet comes.
#pragma once

#include <cstdint>

#include "engine/event_port.h"
#include "wire/rank_end.h"

namespace lapwing::process {

struct Process;

class LauncherSocket final : public engine::FdHandler {
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
  void answer(std::uint32_t inquiry) noexcept;
  void take_end(const wire::RankEnd& end) noexcept;

  Process& process_;
  int fd_ = -1;
};

}  // namespace lapwing::process
