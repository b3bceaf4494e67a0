// A peer is gone: every operation that needs it ends, now, with an error that says why.
//
// Eager messages that have arrived whole stay and can still be received. A receive that names the lost rank fails, also one that is
// posted later. So does a receive from any source on a communicator that the lost rank is a member of: its message may be
// just the one that will not come, and then no other rank would end the wait. (The proposals for fault tolerance in MPI raise
// an error there, too.) Not where the peer has finalized: it had nothing more to send.
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

 private:
  void end_landing(Peer& peer) noexcept;
  void end_posted(net::PeerId id, const Status& why, How how) noexcept;

  Parts& parts_;
  SendPath& sends_;
  ReceivePath& receives_;
};

}  // namespace lapwing::p2p
