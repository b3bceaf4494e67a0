// The terminal's keyboard on its way to rank 0.
//
// Only needed for a terminal: the ranks run in process groups of their own, which may not read from it. A file or a
// pipe is handed to rank 0 as it is. While mpiexec is in the background nothing is read; call refresh() after SIGCONT. A shell sends none to a job that
// runs in the background and is brought to the foreground (fg), so on_time() looks once a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "mpiexec/event_loop.h"

namespace lapwing::launch {

class InputForwarder {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit InputForwarder(EventLoop& loop) : loop_(loop) {}
  ~InputForwarder();
  InputForwarder(const InputForwarder&) = delete;
  InputForwarder& operator=(const InputForwarder&) = delete;

  // Makes the pipe and stores the end for the child, which the caller closes after the fork.
  Status open(int& child_fd);
  void refresh();
  // When on_time() wants to be called.
  std::optional<Time> deadline() const noexcept { return next_look_; }
  void on_time(Time now);
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
  std::optional<Time> next_look_;  // whether mpiexec is in the foreground; only while it is not and would read
  std::string pending_;            // read from the terminal, not yet taken by the rank
};

}  // namespace lapwing::launch
