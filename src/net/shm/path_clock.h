// What the messages of one class of sizes take on a path, as the rank that receives them sees it.
//
// Where messages overlap, as in a burst of MPI_Isend, the first seems to take nearly all of the time and the others nothing, so the time of a
// single message says little. What is timed are windows: some messages in a row, until none is under way. Each counts from the moment when both
// sides were ready, or from the end of the message before it, until its last byte has landed; so a window's time is the time in which messages were
// under way, and not how late the program called. The first windows after another path are cold: their messages may overlap those of that path, and
// find the caches, the ring and the kernel as it has left them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/tuning.h"

namespace lapwing::net::shm {

enum class Path : std::uint8_t {
  kRing = 0,    // through the ring: the sender copies in, the receiver copies out
  kPull = 1,    // the receiver reads the sender's memory
  kShared = 2,  // both sides copy pieces from the sender's memory to the receiver's (shared_pull.h)
  kStream = 3,  // through the ring, past the sender's caches (streaming.h)
};
inline constexpr unsigned kPaths = 4;

// A message that is complete. Both sides were ready at `began`; `unseen` of its bytes had come before.
struct TimedMessage {
  Path path;
  std::uint64_t bytes, unseen;
  std::int64_t began, ended;
  // Where one choice is made for both directions: nanoseconds between the message the other way and this one. Both take part in a ping-pong, in
  // an exchange both are under way at once. No more than this one has taken: what else there was is the program's.
  std::int64_t before_it = 0;
  // Where ranks share cores: what copying it has taken from the processors, in ns (copy_cost.h). This counts then, and not when it began and ended.
  std::int64_t copying = 0;
};

class PathClock {
 public:
  struct Window {
    Path path = Path::kRing;
    bool cold = false;
    unsigned messages = 0;  // 0: no window is complete
    double ns_per_byte = 0;
  };

  // A message has ended, and the last one before it, of whatever size, at `last_end`. The window that is complete now, if any: of earlier messages.
  Window ended(const TimedMessage& message, std::int64_t last_end) noexcept {
    const bool alone = message.began >= last_end;  // nothing was under way when it began
    const bool complete = messages_ >= tuning().shm_window && (alone || messages_ >= kMostMessages);
    const Window window = complete ? close() : Window();
    if (message.path != path_) begin(message.path);
    ++messages_;
    ns_ += static_cast<double>(message.copying != 0 ? message.copying : message.ended - std::max(message.began, last_end) + message.before_it);
    bytes_ += static_cast<double>(message.bytes - (alone ? message.unseen : 0));
    return window;
  }

 private:
  static constexpr unsigned kMostMessages = 16;  // where messages never stop

  Window close() noexcept {
    const Window window{path_, windows_ < tuning().shm_cold_windows, messages_,
                        std::max(ns_, 1.0) / std::max(bytes_, 1.0)};
    ++windows_;
    messages_ = 0;
    ns_ = bytes_ = 0;
    return window;
  }
  void begin(Path path) noexcept {
    path_ = path;
    windows_ = messages_ = 0;
    ns_ = bytes_ = 0;
  }

  Path path_ = Path::kRing;
  unsigned windows_ = 0;   // complete ones on this path
  unsigned messages_ = 0;  // of this window
  double ns_ = 0, bytes_ = 0;
};

}  // namespace lapwing::net::shm
