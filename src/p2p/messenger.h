// The messenger: matching and the protocols eager and rendezvous (design: papers 1 and 3). One per endpoint; all calls with
// the endpoint's lock held, unless said otherwise. Implements net::FrameSink: messages are matched where they arrive.
//
// Protocols. A message of at most the transport's eager limit travels whole (kEager), as long as the receiver's credit for us
// lasts. A longer one asks first (RTS, carrying the first bytes); when a receive matches, the receiver answers CTS and
// the rest flows straight into the user's buffer (kData); or, where the transport can pull, the receiver takes it by one copy
// and answers FIN. A synchronous send completes on match (ACK).
//
// Bounded memory. Each receiver grants each sender a credit of bytes for unexpected messages, so that together they stay under
// LAPWING_UNEXPECTED_LIMIT. A sender short of credit turns eager into rendezvous, then keeps messages back at home, in order.
#pragma once

#include <cstdint>
#include <memory>

#include "comm/communicator.h"
#include "datatype/datatype.h"
#include "net/network.h"
#include "request/request.h"

namespace lapwing::wire {
struct HangItem;
struct HangReport;
}  // namespace lapwing::wire

namespace lapwing::p2p {

using request::Request;
using request::Result;

enum class SendMode { kStandard, kSynchronous, kReady, kBuffered };

struct Message;  // a message taken out by matched probe

// A send, embedded by whoever needs one: a user's request, a step of a schedule.
struct SendArguments {
  const void* buffer = nullptr;
  std::uint64_t count = 0;
  datatype::Datatype* type = nullptr;
  int destination = MPI_PROC_NULL;  // rank in communicator->peers(plane)
  int tag = 0;
  comm::Communicator* communicator = nullptr;
  comm::Plane plane = comm::Plane::kPointToPoint;
  SendMode mode = SendMode::kStandard;
  std::uint64_t note = 0;  // goes along, into the receive's result; a user's messages have none
};

struct ReceiveArguments {
  void* buffer = nullptr;
  std::uint64_t count = 0;
  datatype::Datatype* type = nullptr;
  int source = MPI_PROC_NULL;  // or MPI_ANY_SOURCE
  int tag = 0;                 // or MPI_ANY_TAG
  comm::Communicator* communicator = nullptr;
  comm::Plane plane = comm::Plane::kPointToPoint;
};

class SendRequest;     // : Request. Constructed with SendArguments; embeddable; see p2p/send_request.h
class ReceiveRequest;  // : Request. See p2p/receive_request.h
class RequestPool;
class AttachedBuffer;

struct MessengerCounters {
  std::uint64_t eager_sends = 0, rendezvous_sends = 0, held_back_sends = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t unexpected_messages = 0, unexpected_bytes = 0;  // bytes of them that were stored, in all
  std::uint64_t unexpected_bytes_now = 0, unexpected_bytes_peak = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_moved = 0;       // payload sent and received
  std::uint64_t bytes_overlapped = 0;  // of these: while the event thread drove, so while the application computed
};

class Messenger final : public net::FrameSink {
 public:
  Messenger(engine::Engine& engine, std::uint64_t unexpected_limit);
  ~Messenger();
  void set_network(net::Network& network);  // once, before any message

  // Start an operation. It may be complete when this returns. The datatype is retained until completion; the communicator
  // must be kept alive that long by whoever owns the request. MPI_PROC_NULL completes at once.
  void start(SendRequest& send) noexcept;
  void start(ReceiveRequest& receive) noexcept;
  // The short way for the usual small message: sends it, copied, without a request. False: not this one, or not now; nothing has
  // happened, and start() takes it.
  bool send_now(const SendArguments& arguments) noexcept;
  void cancel(SendRequest& send) noexcept;
  void cancel(ReceiveRequest& receive) noexcept;

  // Looks for an unexpected message. True and `result` filled when one matches.
  bool probe(comm::Communicator& communicator, int source, int tag, Result& result) noexcept;
  // The same, and takes the message out of matching. The message is then received by start_matched, by anyone, with the
  // communicator that it keeps (p2p/message.h).
  Message* matched_probe(comm::Communicator& communicator, int source, int tag, Result& result) noexcept;
  void start_matched(ReceiveRequest& receive, Message* message) noexcept;
  // Arranges one arrival at a waiter when a message that matches comes in; call after probe() said no (messenger_state.h).
  class ProbeWatch;
  void watch(ProbeWatch& watch) noexcept;
  void unwatch(ProbeWatch& watch) noexcept;

  // An error when no message from `source` can come any more; for MPI_ANY_SOURCE, when a member of the communicator has failed.
  Status reachable(comm::Communicator& communicator, int source) const;

  // MPI_Buffer_attach: what buffered sends use whose communicator has no buffer of its own.
  AttachedBuffer& process_buffer() noexcept;

  // `count` tags in a row that no other partitioned operation of this process uses at present.
  int take_partition_tags(int count) noexcept;

  // Where user-visible requests come from.
  RequestPool& requests() noexcept;

  // True when nothing of ours waits to leave and no send waits for its receiver.
  bool quiet() const noexcept;
  // The state of all queues, for a person who debugs a hang.
  std::string describe() const;
  // The same for a report on a hang (hang.cc): the lists, and one request that is under way.
  void describe(wire::HangReport& report);
  static wire::HangItem describe(const SendRequest& send);
  static wire::HangItem describe(const ReceiveRequest& receive);
  static wire::HangItem describe_probe(comm::Communicator& communicator, int source, int tag);
  const MessengerCounters& counters() const noexcept;

  // net::FrameSink
  bool on_whole(net::PeerId peer, const wire::FrameHeader& header, const std::byte* payload) noexcept override;
  net::Landing on_header(net::PeerId peer, const wire::FrameHeader& header) noexcept override;
  void on_frame(net::PeerId peer, const wire::FrameHeader& header, const net::Landing& landing) noexcept override;
  void on_peer_lost(net::PeerId peer, const Status& why, const net::Landing* landing) noexcept override;
  void on_peer_left(net::PeerId peer, const Status& why) noexcept override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lapwing::p2p
