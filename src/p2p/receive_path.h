// Receives and probes on the application's side: a receive is posted, or meets a message that came before it. What arrives is in
// frame_receiver.h, what follows the match in incoming_transfers.h.
#pragma once

#include <algorithm>

#include "p2p/common.h"
#include "p2p/credit_flow.h"
#include "p2p/incoming_transfers.h"
#include "p2p/lending.h"
#include "p2p/matcher.h"
#include "p2p/unexpected_message.h"
#include "p2p/probes.h"
#include "p2p/vigil.h"

namespace lapwing::p2p {

struct Parts;

class ReceivePath {
 public:
  ReceivePath(Parts& parts, std::uint64_t pool_limit) noexcept;
  ~ReceivePath();

  // Starts a receive. It may be complete when this returns. The datatype is retained until completion; the owner of the request keeps the
  // communicator alive that long. MPI_PROC_NULL completes at once.
  void start(ReceiveRequest& receive) noexcept;
  // Only a receive that has no message yet can be cancelled.
  void cancel(ReceiveRequest& receive) noexcept;

  // Looks for an unexpected message. True and `result` filled when one matches.
  bool probe(comm::Communicator& communicator, int source, int tag, Result& result) noexcept;
  // The same, and takes the message out of matching. It is then received by start_matched, with the communicator that it
  // keeps (p2p/unexpected_message.h).
  UnexpectedMessage* matched_probe(comm::Communicator& communicator, int source, int tag, Result& result) noexcept;
  void start_matched(ReceiveRequest& receive, UnexpectedMessage* message) noexcept;
  // Arranges one arrival at a waiter when a message that matches comes in; call after probe() said no.
  void watch(ProbeWatch& watch) noexcept;
  void unwatch(ProbeWatch& watch) noexcept { probes_.remove(watch); }
  // An error when no message from `source` can come any more; for MPI_ANY_SOURCE, when a member of the communicator has failed.
  Status reachable(comm::Communicator& communicator, int source) const;

  // ---- for arriving messages ----

  // The posted receive and its message have met.
  void accept(ReceiveRequest& receive, net::PeerId id, std::int32_t source, std::int32_t tag, std::uint64_t note,
              std::uint64_t message_bytes) noexcept {
    ++common_.counters.messages_received;
    receive.peer_ = id;
    receive.message_bytes_ = message_bytes;
    receive.wanted_ = std::min(message_bytes, receive.capacity_);
    Result& result = receive.result();
    result.source = receive.arguments_.source == MPI_ANY_SOURCE ? source : receive.arguments_.source;
    result.tag = tag;
    result.note = note;
  }
  // A receive from any source learns the sender's rank from the frame: it must be the rank of the process that sent it.
  static bool is_truly_from(const ReceiveRequest& receive, net::PeerId id, std::int32_t source) noexcept {
    if (receive.arguments_.source != MPI_ANY_SOURCE) return true;
    const comm::Group& group = receive.arguments_.communicator->peers(receive.arguments_.plane);
    return source >= 0 && source < group.size() && group.member(source) == id;
  }
  // No receive is posted for a message: it is kept, in a block of its own.
  UnexpectedMessage& keep(net::PeerId id, const wire::MessageHeader& header, std::uint64_t stored_bytes, bool pullable) noexcept;
  // Receives a message that had come before. `message` is out of the queues.
  void deliver(ReceiveRequest& receive, UnexpectedMessage& message) noexcept;
  // The message's memory is free again, and its sender may use it.
  void discard(UnexpectedMessage& message) noexcept;

  const MessagePool& pool() const noexcept { return pool_; }

 private:
  void begin(ReceiveRequest& receive) noexcept;
  static void prepare_pieces(ReceiveRequest& receive) noexcept;
  UnexpectedMessage* find(comm::Communicator& communicator, int source, int tag, Result& result) noexcept;
  void unpack(ReceiveRequest& receive, UnexpectedMessage& message) noexcept;
  void unpack_weighed(ReceiveRequest& receive, UnexpectedMessage& message) noexcept;

  Common& common_;
  FrameSender& frames_;
  Matcher& matcher_;
  Lending& lending_;
  CreditFlow& credit_;
  Probes& probes_;
  Vigil& vigil_;
  IncomingTransfers& transfers_;
  MessagePool pool_;
};

}  // namespace lapwing::p2p
