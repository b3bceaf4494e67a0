// A peer is gone: every operation that needs it ends, now, with an error that says why.
//
// Eager messages that have arrived whole stay and can still be received. A receive that names the lost rank fails, also one that is
// posted later. So does a receive from any source on a communicator that the lost rank is a member of: its message may be
// just the one that will not come, and then no other rank would end the wait. (The proposals for fault tolerance in MPI raise
// an error there, too.) Not where the peer has finalized: it had nothing more to send.
//
// The other ranks hear of it: those that depend on the lost one may have no connection to it, or wait for one that has given up because of it. So
// each rank that learns of a loss, by whatever way, tells those that it has a connection to (kLost), once; and whoever it connects to later. The
// word of a rank is final: where a peer were judged by each rank for itself, one that reaches it could wait for ever for one that does not.
//
// A process that is given up may live, and its connections end one after the other. It would take that for losses of the others, and those it can
// still reach would believe it. So it is told first, by a kLost with its own name; from then on it tells of its own loss, and of no other. Where its
// connection was broken just then, it hears it when it connects again, from its transport (FrameSink::on_given_up). test/model/loss_test.cc is the
// model.
//
// Cost: at most three frames for each connection of the job and process that is lost.
#pragma once

#include "p2p/parts.h"
#include "p2p/receive_path.h"
#include "p2p/send_path.h"

namespace lapwing::p2p {

class PeerLoss {
 public:
  enum class How { kFailed, kFinalized };

  PeerLoss(Parts& parts, SendPath& sends, ReceivePath& receives) noexcept
      : parts_(parts), sends_(sends), receives_(receives) {}

  void end(net::PeerId id, const Status& why, How how) noexcept;
  // To a peer that a way stands to now: all that have failed so far.
  void tell(net::PeerId met) noexcept;
  // To the lost one itself, before its transport gives it up.
  void tell_lost_one(net::PeerId lost) noexcept;
  // This process is given up by another.
  void be_given_up() noexcept;
  bool is_given_up() const noexcept { return given_up_; }

 private:
  void tell_all(net::PeerId lost) noexcept;
  void tell(net::PeerId peer, net::PeerId lost) noexcept;
  void notify_watchers(net::PeerId id, const Status& why) noexcept;
  void end_landing(Peer& peer) noexcept;
  void end_posted(net::PeerId id, const Status& why, How how) noexcept;

  Parts& parts_;
  SendPath& sends_;
  ReceivePath& receives_;
  bool given_up_ = false;
};

}  // namespace lapwing::p2p
