// The messenger: matching and the protocols eager and rendezvous (design: papers 1 and 3). One per endpoint; all calls with
// the endpoint's lock held, unless said otherwise. It is the net::FrameSink of point-to-point messages, which are matched where they arrive.
//
// Its parts, each a class of its own:
//
//   send_path.h           MPI_Send to the first frame: protocol, credit      receive_path.h        posted receives, unexpected messages, probes
//   outgoing_transfers.h  sends under way: RTS, Data, answers                incoming_transfers.h  matched receives: CTS, Data, pulls
//   frame_sender.h        frames on their way out                            frame_receiver.h      frames on their way in
//   matcher.h             which receive a message belongs to                 credit_flow.h         credit given back, and lent (credit.h)
//   peer_loss.h           what ends with a peer                              vigil.h, probes.h     what waits
//   owed_answers.h        CTS that leave behind the own RTS                  lending.h             receives that a carrier may match
//   heard_losses.h        losses that others have found                      recent_tokens.h       ACKs that may be lost with a connection
//   request_pool.h        the requests behind users' handles                 attached_buffer.h     memory of buffered sends
//
// Made of its messages: exchange_request.h (MPI_Isendrecv) and partitioned.h.
//
// Send path, receive path and frame receiver are bases, so that their functions are the messenger's own and no call is passed on.
//
// Protocols. A message of at most the transport's eager limit travels whole (kEager), as long as the receiver's credit for us
// lasts. A longer one asks first (RTS, carrying the first bytes); when a receive matches, the receiver answers CTS and
// the rest flows straight into the user's buffer (kData); or, where the transport can pull, the receiver takes it by one copy
// and answers FIN. A synchronous send completes on match (ACK).
//
// Bounded memory. Each receiver grants each sender a credit of bytes for unexpected messages, so that together they stay under
// LAPWING_UNEXPECTED_LIMIT. A sender short of credit turns eager into rendezvous, then keeps messages back at home, in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/tuning.h"
#include "p2p/attached_buffer.h"
#include "p2p/frame_receiver.h"
#include "p2p/parts.h"
#include "p2p/receive_path.h"
#include "p2p/request_pool.h"
#include "p2p/send_path.h"

namespace lapwing::wire {
struct HangItem;
struct HangReport;
}  // namespace lapwing::wire

namespace lapwing::p2p {

class Messenger final : private Parts, private SendPath, private ReceivePath, public FrameReceiver {
 public:
  Messenger(engine::Engine& engine, std::uint64_t unexpected_limit);
  void set_network(net::Network& network);  // once, before any message
  void on_processes_added();                // the table of processes has grown

  using SendPath::send_now;
  using ReceivePath::start;
  using SendPath::start;
  using ReceivePath::cancel;
  using SendPath::cancel;

  // Until unwatch_losses().
  void watch_losses(LossWatcher& watcher) noexcept { common.loss_watchers.push_back(watcher); }
  void unwatch_losses(LossWatcher& watcher) noexcept { watcher.unlink(); }
  // Calls `visit(process, why)` for each process that is lost, but for those that have finalized.
  template <typename Visit>
  void for_each_failed(Visit visit) const {
    for (const ProcessId id : common.failed_peers) visit(id, common.peers.find(id)->why);
  }
  // Whether a message from that rank comes unasked, usually: it is no longer than that, and not so long that a thread is worth waking to take it.
  // `unasked`: as its sender has it (SendArguments).
  bool comes_whole(const comm::Communicator& communicator, comm::Plane plane, int source, std::uint64_t bytes, std::uint64_t unasked) noexcept {
    const ProcessId peer = communicator.peers(plane).member(source);
    const net::Capabilities& way = common.way_to(peer);
    if (bytes > common.frame_limit(peer)) return false;
    return bytes <= std::min(tuning().p2p_much_moved, way.eager_limit) || (bytes <= unasked && way.answers_wait);
  }
  bool some_failed() const noexcept { return !common.failed_peers.empty(); }

  using ReceivePath::matched_probe;
  using ReceivePath::probe;
  using ReceivePath::reachable;
  using ReceivePath::start_matched;
  using ReceivePath::unwatch;
  using ReceivePath::watch;

  // MPI_Buffer_attach: what buffered sends use whose communicator has no buffer of its own.
  AttachedBuffer& process_buffer() noexcept { return process_buffer_; }
  // `count` tags in a row that no other partitioned operation of this process uses at present.
  int take_partition_tags(int count) noexcept;
  // A receive whose owner the program has freed stays posted, because its message is on its way to it; at the end it is cancelled.
  void set_aside(ReceiveRequest& receive) { aside_.push_back(&receive); }
  void no_longer_aside(ReceiveRequest& receive) noexcept { std::erase(aside_, &receive); }
  void cancel_what_is_aside() noexcept;
  // Where user-visible requests come from.
  RequestPool& requests() noexcept { return requests_; }

  // True when nothing of ours waits to leave and no send waits for its receiver.
  bool quiet() const noexcept { return outgoing.active() == 0 && frames.waiting() == 0; }
  // The state of all queues, to debug a hang.
  std::string describe();
  // The same for a report on a hang (hang.cc): the lists, and one request that is under way.
  void describe(wire::HangReport& report);
  static wire::HangItem describe(const SendRequest& send);
  static wire::HangItem describe(const ReceiveRequest& receive);
  static wire::HangItem describe_probe(comm::Communicator& communicator, int source, int tag);
  const MessengerCounters& counters() noexcept;

 private:
  const std::uint64_t unexpected_limit_;
  RequestPool requests_;
  AttachedBuffer process_buffer_;
  int next_partition_tag_ = 0;
  std::vector<ReceiveRequest*> aside_;
};

}  // namespace lapwing::p2p
