// This process's end of the socket on which mpiexec asks why the program does not go on (docs/debugging.md).
//
// It stands in the event port, so the thread that drives answers: the event thread while the application computes, the application's thread
// while it waits in MPI. Nothing looks at it otherwise, and it costs nothing until a question comes.
#pragma once

#include "engine/event_port.h"

namespace lapwing::process {

struct Process;

class HangListener final : public engine::FdHandler {
 public:
  explicit HangListener(Process& process) noexcept : process_(process) {}
  ~HangListener();
  HangListener(const HangListener&) = delete;
  HangListener& operator=(const HangListener&) = delete;

  // Takes the socket that mpiexec has left, if it has. With the endpoint's lock held, like close().
  void open();
  void close() noexcept;

  void on_ready(std::uint32_t events) noexcept override;

 private:
  Process& process_;
  int fd_ = -1;
};

}  // namespace lapwing::process
