// mpiexec's standard output or error, written by a thread of its own from a queue.
//
// The event loop's thread must never block on output: a reader that has stopped would make mpiexec deaf to time limits,
// Ctrl-C, dead ranks and PMI. O_NONBLOCK is no way out, because it belongs to the open file, which the shell, the rest of
// a pipeline and the ranks share. Nor is poll() before a small write: another writer may take the room in between, and
// terminals and files promise nothing. A thread that blocks in write() is right for pipe, terminal, file and socket
// alike; when mpiexec exits, the thread ends wherever it stands.
//
// write() takes any amount and never blocks; the caller asks full() and stops reading from the ranks, which is the back
// pressure that a pipeline expects. Everything but the thread's own writing happens on the event loop's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

namespace lapwing::launch {

class OutputStream {
 public:
  // `wake_fd`, an eventfd, is written to when writing failed, and while set_wake(true) when some was written. It is
  // duplicated.
  OutputStream(int fd, int wake_fd);
  // Waits for nothing: what is not yet written is lost. Ask backlog() first.
  ~OutputStream();
  OutputStream(const OutputStream&) = delete;
  OutputStream& operator=(const OutputStream&) = delete;

  void write(std::string_view text);
  void set_wake(bool wanted);
  bool full() const;            // more than kLimit waits
  std::size_t backlog() const;  // bytes not yet written
  // Waits until all is written, at most so long.
  bool settle(std::chrono::milliseconds patience) const;
  int error() const;  // errno of the write that failed; everything after it is dropped. 0: none
  bool in_line() const noexcept { return in_line_; }  // the last byte did not end a line

  static constexpr std::size_t kLimit = 1 << 20;

 private:
  struct Shared;
  bool start();

  std::shared_ptr<Shared> shared_;  // with the thread, which may outlive us while it blocks
  bool in_line_ = false;
};

}  // namespace lapwing::launch
