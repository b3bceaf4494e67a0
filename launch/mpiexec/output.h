// The ranks' standard output and error on their way to mpiexec's own.
//
// Whole lines are written at once, so that the lines of several ranks never mix. A line without an end (a prompt) is
// passed on when its pipe has ended no line for a short while, however the others go on. Runs on the event loop's thread
// and never blocks (output_stream.h): while too much waits to be written, the ranks' pipes are not read.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "mpiexec/event_loop.h"
#include "mpiexec/output_stream.h"

namespace lapwing::launch {

class OutputForwarder {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `on_failure` gets a sentence, once, when output cannot be written although it has a reader: a full disk, say.
  OutputForwarder(EventLoop& loop, bool label, std::function<void(const std::string&)> on_failure);
  ~OutputForwarder();
  OutputForwarder(const OutputForwarder&) = delete;
  OutputForwarder& operator=(const OutputForwarder&) = delete;

  // Makes the pipe for what `rank` writes to `stream` (1 or 2) and stores the end for the child, which the caller
  // closes after the fork.
  Status open(int rank, int stream, int& child_fd);
  // mpiexec's own words, on standard error, at the beginning of a line.
  void say(const std::string& text);

  // When on_time() wants to be called. Each time that the event loop has run it wants to be called too, so that it sees when lines begin.
  std::optional<Time> deadline() const noexcept;
  // Passes on the unfinished lines whose time is over.
  void on_time(Time now);
  void flush_unfinished(int rank);  // of this rank only, at once
  // Takes the lines that every rank has written by now, as far as there is room.
  void take_present();
  // True when all that the ranks have written is written out. What is written later by a process that still holds a pipe
  // is lost. Only when all ranks have ended; call it again when the loop has run.
  bool deliver();
  std::size_t backlog() const;  // bytes taken and not yet written
  // The last word: says that the rest is lost, if standard error still takes it.
  void give_up_delivery();

  static constexpr std::chrono::milliseconds kPatience{200};  // with an unfinished line

 private:
  // Where mpiexec's own output goes: two, or one when standard output and error lead to the same file, so that lines
  // do not mix.
  struct Target {
    std::unique_ptr<OutputStream> stream;
    const char* name = "";
    bool paused = false;  // its channels are not in the event loop
    bool failed = false;
    int rank_in_line = -1;  // with labels: that wrote last, and the line that it has not ended is its own
  };
  struct Channel {
    int fd = -1;
    int rank = 0;
    std::size_t target = 0;
    std::string pending;
    std::optional<Time> unfinished_since;  // `pending` waits: since its first byte, or since the line before it ended
  };

  std::size_t target_of(int stream) const noexcept { return stream == 2 ? targets_.size() - 1 : 0; }
  bool read_channel(std::size_t index);
  void read_all(std::size_t index);
  void write_lines(Channel& channel);
  void write_text(Channel& channel, std::string_view text);
  std::string labelled(Target& target, int rank, std::string_view text) const;
  bool is_unfinished(const Channel& channel) const noexcept;
  void flush(Channel& channel);
  void flush_unfinished();
  void listen(std::size_t index, bool wanted);
  void close_channel(std::size_t index);
  void on_wake();
  void notice_failures();
  void fail(std::size_t target);
  void pause(std::size_t target);
  void resume(std::size_t target);

  EventLoop& loop_;
  bool label_;
  std::function<void(const std::string&)> on_failure_;
  int wake_fd_ = -1;
  std::vector<Target> targets_;
  std::vector<Channel> channels_;
};

}  // namespace lapwing::launch
