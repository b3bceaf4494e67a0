// The terminal's keyboard on its way to rank 0.
//
// Only needed for a terminal: the ranks run in process groups of their own, which may not read from it. A file or a
// pipe is handed to rank 0 as it is. While mpiexec is in the background nothing is read; call refresh() after SIGCONT.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "mpiexec/event_loop.h"

namespace lapwing::launch {

class InputForwarder {
 public:
  explicit InputForwarder(EventLoop& loop) : loop_(loop) {}
  ~InputForwarder();
  InputForwarder(const InputForwarder&) = delete;
  InputForwarder& operator=(const InputForwarder&) = delete;

  // Makes the pipe and stores the end for the child, which the caller closes after the fork.
  Status open(int& child_fd);
  void refresh();
  bool is_open() const noexcept { return pipe_ >= 0; }  // neither the keyboard nor the rank has come to an end

 private:
  void on_keyboard();
  void on_pipe(std::uint32_t events);
  void hand_on();
  void listen(bool wanted);
  void close();

  EventLoop& loop_;
  int pipe_ = -1;
  bool listening_ = false;
  std::string pending_;  // read from the terminal, not yet taken by the rank
};

}  // namespace lapwing::launch
