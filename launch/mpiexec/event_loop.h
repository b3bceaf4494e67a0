// mpiexec's one thread waits here for everything: signals, the ranks' PMI connections, their output, the terminal.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>

#include "base/status.h"

namespace lapwing::launch {

class EventLoop {
 public:
  // Called with the EPOLL* bits that are true. May add and remove descriptors, its own too.
  using Handler = std::function<void(std::uint32_t)>;

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // The loop does not own the descriptor; remove it before closing it.
  void add(int fd, std::uint32_t events, Handler handler);
  void change(int fd, std::uint32_t events);
  void remove(int fd);

  // Waits at most `milliseconds` (-1: for ever) and calls the handlers of what happened.
  void run_once(int milliseconds);

 private:
  int epoll_ = -1;
  std::unordered_map<int, Handler> handlers_;
};

}  // namespace lapwing::launch
