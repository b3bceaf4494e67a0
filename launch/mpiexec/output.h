// The ranks' standard output and error on their way to mpiexec's own.
//
// Whole lines are written at once, so that the lines of several ranks never mix. A line without an end (a prompt) is
// passed on after a short while. Runs on the event loop's thread; writing blocks when our reader is slow, which is the
// back pressure a pipeline expects.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "mpiexec/event_loop.h"

namespace lapwing::launch {

class OutputForwarder {
 public:
  OutputForwarder(EventLoop& loop, bool label);
  ~OutputForwarder();
  OutputForwarder(const OutputForwarder&) = delete;
  OutputForwarder& operator=(const OutputForwarder&) = delete;

  // Makes the pipe for what `rank` writes to `stream` (1 or 2) and stores the end for the child, which the caller
  // closes after the fork.
  Status open(int rank, int stream, int& child_fd);

  // True while an unfinished line waits; then call flush_unfinished() after kPatience.
  bool has_unfinished() const noexcept;
  void flush_unfinished();
  // Reads everything that is there now. What is written later by somebody who still holds a pipe is lost.
  void drain();

  static constexpr int kPatienceMilliseconds = 200;

 private:
  struct Channel {
    int fd = -1;
    int rank = 0;
    int stream = 1;
    bool in_line = false;  // the last thing written was part of a line, so no label before the rest
    std::string pending;
  };

  bool read_channel(std::size_t index);
  void write_lines(Channel& channel);
  void write_text(Channel& channel, std::string_view text);
  void close_channel(Channel& channel);

  EventLoop& loop_;
  bool label_;
  std::vector<Channel> channels_;
};

}  // namespace lapwing::launch
