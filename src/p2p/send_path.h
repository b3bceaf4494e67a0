// The way of a message from MPI_Send to its first frame: which protocol it goes by, and whether the receiver's credit pays for it. What comes
// after the first frame is in outgoing_transfers.h.
//
// send_now() is the fast branch of start(), by the same envelope, credit and counters. A message for which the credit does not last
// is held, and so are all after it to that peer, in order.
#pragma once

#include "p2p/common.h"
#include "p2p/outgoing_transfers.h"

namespace lapwing::p2p {

class SendPath {
 public:
  SendPath(Common& common, OutgoingTransfers& transfers) noexcept : common_(common), transfers_(transfers) {}

  // Starts a send. It may be complete when this returns. The datatype is retained until completion; the owner of the request keeps the
  // communicator alive that long. MPI_PROC_NULL completes at once.
  void start(SendRequest& send) noexcept;
  // The short way for the usual small message: sends it, copied, without a request. False: not this one, or not now; nothing has
  // happened, and start() takes it.
  bool send_now(const SendArguments& arguments) noexcept;
  // A message that has left whole cannot be called back; one that waits for its receiver can, if no receive has matched it.
  void cancel(SendRequest& send) noexcept;

  // Credit has come: messages that were held go, as far as it lasts.
  void drain_held(net::PeerId id) noexcept;
  void fail_held(net::PeerId id, const Status& why) noexcept;

 private:
  static void prepare(SendRequest& send) noexcept;
  bool launch(SendRequest& send) noexcept;
  std::uint64_t first_bytes(const SendRequest& send, const OutgoingAccount& account) noexcept;
  void unhold(SendRequest& send) noexcept;

  Common& common_;
  OutgoingTransfers& transfers_;
};

}  // namespace lapwing::p2p
