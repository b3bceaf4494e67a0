// Losses that this rank has not found itself: the launcher, or another rank, says that a process is lost. What has come from it already is
// taken first, and then its transport and the messenger give it up as if they had found it.
//
// A word comes in the middle of receiving, so it is acted on at the next safe point. Said again it changes nothing.
#pragma once

#include <utility>
#include <vector>

#include "p2p/peer_loss.h"

namespace lapwing::p2p {

class HeardLosses : private engine::Tasklet {
 public:
  HeardLosses(Common& common, PeerLoss& loss) noexcept
      : Tasklet([](Tasklet& tasklet) noexcept { static_cast<HeardLosses&>(tasklet).act(); }), common_(common), loss_(loss) {}
  ~HeardLosses() {
    if (linked()) unlink();
  }

  // `why`: an error that names the process and whose word it is.
  void hear(net::PeerId lost, Status why) noexcept;
  // A kLost frame of this peer's.
  void hear_of(wire::JobRank name, net::PeerId from) noexcept;
  // This process is the lost one.
  void be_given_up(net::PeerId by) noexcept;
  // The process whose word made this one count as lost; itself, where it was no other process's.
  net::PeerId source_of(net::PeerId lost) const noexcept;

 private:
  void act() noexcept;

  Common& common_;
  PeerLoss& loss_;
  std::vector<std::pair<net::PeerId, Status>> heard_;
  std::vector<std::pair<net::PeerId, net::PeerId>> sources_;  // lost -> whose word
};

}  // namespace lapwing::p2p
