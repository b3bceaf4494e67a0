// The vigil: whether the peers that are waited for still have a host. A host that vanishes says nothing. Where a connection stands, the
// transport notices; but a rank that only waits may have none. So while receives (or blocked probes) wait, rounds are made, a few per
// LAPWING_PEER_TIMEOUT, and what has waited for a whole round has its peers watched over (net::Transport::watch_over): a named one itself, of
// any source one rank of each host, in the order that begins behind this rank, so that the ranks of a job look at different hosts.
//
// Cost: a look at a flag for each receive that is posted; a timer for each round, and none when nothing waits. The connections that are begun
// in one round are few, whatever is waited for.
#pragma once

#include <cstdint>

#include "p2p/common.h"
#include "p2p/matcher.h"
#include "p2p/probes.h"

namespace lapwing::p2p {

class Vigil : private engine::Timer {
 public:
  Vigil(Common& common, Matcher& matcher, Probes& probes) noexcept;
  ~Vigil() { common_.engine.cancel_timer(*this); }
  // After the network is there.
  void prepare() noexcept;
  // A receive or a probe begins to wait.
  void waiting_begins() noexcept {
    if (due_) [[unlikely]]
      begin_round();
  }

 private:
  void begin_round() noexcept;
  void end_round() noexcept;
  void watch_over(net::PeerId id, int& left) noexcept;
  void watch_over_members(const comm::Group& group, int& left) noexcept;

  Common& common_;
  Matcher& matcher_;
  Probes& probes_;
  bool due_ = false;          // the next that waits begins a round
  std::int64_t period_ = 0;   // ns; 0: none is needed
  std::uint64_t stamp_ = 0;   // receives with a lower one waited in the last round already
};

}  // namespace lapwing::p2p
