// How many transfers of one collective a rank has under way at once, so that what comes to one host, or leaves it, does not overflow the
// port of a switch (incast: Phanishayee et al., "Measurement and analysis of TCP throughput collapse in cluster-based storage systems",
// FAST 2008; paper 2, sections 4.4 and 5.3). A lost packet is often the last one of its message, which TCP sends again after 200 ms only.
//
// Between hosts the ranks of a host may have so many bytes under way as the port takes (coll.port_bytes), and no less than what the way holds
// while a receiver asks for the next message and gets it, 2 (L + 2o) / G by the model; two transfers at least, or the port would be
// idle between them. Inside a host only their number is bounded (coll.alltoall_under_way).
//
// A window bounds receives, so it bounds what comes only if messages wait for their receives. Long ones do. Short ones that all other ranks send to
// one do so where they are more together than the port takes (Window::asks(), p2p's rendezvous): an answer's way is hidden by the transfers beside
// it. An all-to-all, in which each rank sends to another one at any time, is better off without that (64 KiB of 8 hosts took 1.4 of the time), and
// its messages of up to 256 KiB leave unasked (SendStep::unasked): then only the window of the sender bounds them.
//
// Receives and sends that go in the same order on both sides, the first with the first, cannot lock up: the earliest transfer that is not over
// waits for earlier ones only.
#pragma once

#include <cstdint>
#include <deque>

#include "coll/schedule.h"

namespace lapwing::coll {

class Window {
 public:
  // Of the team that the schedule is set to.
  explicit Window(const Schedule& schedule) noexcept;

  // Adds begin(gate): the step that begins a transfer of so many bytes, after `gate`, when there is room for it. One that is longer than the window
  // goes beside one other.
  template <typename Begin>
  void admit(Schedule& schedule, std::uint64_t bytes, Begin begin) {
    make_room(schedule, bytes);
    under_way_.push_back({begin(gate_), bytes});
    bytes_under_way_ += bytes;
  }
  // Whether a message to a rank to which all others send as much at the same time waits until its receive is there.
  bool asks(std::uint64_t bytes) const noexcept;

 private:
  struct Transfer {
    StepId step;
    std::uint64_t bytes;
  };
  void make_room(Schedule& schedule, std::uint64_t bytes);
  bool has_room_for(std::uint64_t bytes) const noexcept;

  static constexpr std::uint64_t kAnyBytes = ~std::uint64_t{0};

  std::uint64_t most_bytes_ = kAnyBytes;
  std::size_t most_transfers_;
  std::uint64_t others_;  // that send to one rank at most
  std::deque<Transfer> under_way_;
  std::uint64_t bytes_under_way_ = 0;
  StepId gate_ = kNoStep;  // done when all transfers but those under way are over
};

}  // namespace lapwing::coll
