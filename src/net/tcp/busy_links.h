// Which links poll() reads without asking the event port.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/engine.h"

namespace lapwing::net::tcp {

class Receiver;

// The links with traffic a moment ago: poll() reads them directly, without asking the event port. When there is traffic on more
// links than that is worth for (few where it takes a system call, many where a look at memory that a program in the kernel writes), the port is asked at every turn instead, and none is read that it does not announce.
//
// A link that poll() has read again and again leaves the port: to announce its packets there costs 3 to 6 % of a small message's
// way. It comes back (and what is there is announced) before a thread sleeps in the port, and before poll() ceases to read it.
//
// Where a program in the kernel takes frames (Receiver::let_take), only poll() finds them. So it takes none of a link that is not in this list, or
// while a thread of the application may sleep; and where only the event thread does, none but those that no thread waits for. At rest it may take
// all. Where only the event thread may sleep, and the program takes most of what comes by a link, the port announces no input of it: the program
// gives notice of what it passes on (net/kernel/notices.h), and what it takes wakes nothing.
//
// At rest (engine/source.h) the busy links are in the port, but a watermark hides from it what is for the application's next call. An
// application that comes back finds that by reading them as ever, and takes no watermark down; arm() does. So a link with a watermark
// stays in this list. Rest ends where messages follow each other without a pause, or are long, and where a program in the kernel sees the
// link that is polled: then the port must not be watched.
//
// What a peer asks over a protected link (tail_loss_probe.h) is hidden at rest too, and it breaks the connection when the answer is overdue. So
// where a busy link is protected a timer wakes the event thread once a second, whose turn reads what is there.
class BusyLinks {
 public:
  explicit BusyLinks(engine::Engine& engine) noexcept : engine_(engine) {}
  ~BusyLinks() { engine_.cancel_timer(look_); }

  // Something moved on this link: read it directly for a while.
  void touch(Receiver& link) noexcept;
  void forget(Receiver& link) noexcept;
  bool has(const Receiver& link) const noexcept;
  // A program in the kernel may take frames of this link: poll() looks for them, and no thread sleeps.
  bool may_take(const Receiver& link) const noexcept { return !armed_ && has(link); }
  bool poll() noexcept;
  // From now on a thread may sleep: watermarks are set, and all links are in the port again. False when it refuses one, and then
  // none may.
  bool arm() noexcept;
  // False when there is input to be read, or more links have traffic than poll() reads.
  bool rest() noexcept;
  bool at_rest() const noexcept { return at_rest_; }
  void end_rest() noexcept {
    if (at_rest_) engine_.end_rest();  // disarm() follows
  }
  // No thread sleeps: a link that is read all the time may leave the port.
  void disarm() noexcept {
    armed_ = at_rest_ = false;
    let_take();
  }
  // The event port has announced input of a busy link, and will not do so again: no thread sleeps before the next poll.
  void expect_input() noexcept { input_expected_ = true; }
  bool input_expected() const noexcept { return input_expected_; }
  // More links have traffic than poll() reads.
  bool too_many() const noexcept { return too_many_; }

 private:
  struct Entry {
    Receiver* link;
    unsigned polls_in_vain;
    unsigned finds;  // since a thread last could sleep
  };
  // It does not count as work under way.
  struct LookTimer : engine::Timer {
    LookTimer() noexcept : Timer([](Timer&) noexcept {}, kIdle) {}  // the turn that runs it polls
  };
  static constexpr std::int64_t kBetweenLooks = 1'000'000'000;  // ns; shorter than TailLossProbe::kFirstPatience

  static std::uint64_t most_polls_in_vain(const Receiver& link) noexcept;
  bool has_room_for(const Receiver& link) const noexcept;
  void look_before_long() noexcept;
  void let_take() noexcept;
  bool stop_taking(bool (Receiver::*stop)() noexcept) noexcept;
  bool gives_up(Receiver& link) noexcept;
  void note_find(Entry& busy) noexcept;
  bool is_cold(const Entry& busy) const noexcept;
  bool lets_go(Receiver& link) noexcept;
  bool all_announced() noexcept;
  bool announced_unattended() noexcept;

  engine::Engine& engine_;
  std::vector<Entry> links_;
  LookTimer look_;
  bool armed_ = false;
  bool at_rest_ = false;
  bool input_expected_ = false;
  bool too_many_ = false;
  unsigned calm_ = 0;
};

}  // namespace lapwing::net::tcp
