// The receiver's half: posted receives, what becomes of a matched message, pulling.
#include <algorithm>
#include <cinttypes>
#include <utility>

#include "p2p/messenger_state.h"

namespace lapwing::p2p {

// Finds the room for the message and forgets what the request did before.
inline void Messenger::State::prepare(ReceiveRequest& receive) noexcept {
  const ReceiveArguments& arguments = receive.arguments_;
  receive.messenger_ = &owner;
  receive.result().clear();
  receive.contiguous_ = nullptr;
  receive.capacity_ = receive.message_bytes_ = receive.wanted_ = receive.received_ = 0;
  if (arguments.source == MPI_PROC_NULL) return;
  const datatype::Datatype& type = *arguments.type;
  receive.capacity_ = static_cast<std::uint64_t>(type.size()) * arguments.count;
  if (receive.capacity_ == 0) return;
  if (!type.contiguous()) return prepare_pieces(receive);
  receive.contiguous_ = static_cast<std::byte*>(arguments.buffer) + type.true_lb();
}

void Messenger::State::prepare_pieces(ReceiveRequest& receive) noexcept {
  const ReceiveArguments& arguments = receive.arguments_;
  datatype::Datatype& type = *arguments.type;
  if (arguments.count == 1 && type.layout().single_run()) {
    receive.contiguous_ = static_cast<std::byte*>(arguments.buffer) + type.true_lb();
    return;
  }
  if (!type.is_predefined()) receive.type_ = datatype::TypeRef(type);
  receive.walk_.emplace(type, arguments.buffer, arguments.count);
}

void Messenger::State::start(ReceiveRequest& receive) noexcept {
  engine.begin(receive);
  prepare(receive);
  const ReceiveArguments& arguments = receive.arguments_;
  if (arguments.source == MPI_PROC_NULL) {
    receive.result().source = MPI_PROC_NULL;
    return complete(receive);
  }
  const comm::Communicator& communicator = *arguments.communicator;
  const bool any_source = arguments.source == MPI_ANY_SOURCE;
  const MatchKey key{communicator.wire_context(arguments.plane),
                     any_source ? kAnyPeer : communicator.peers(arguments.plane).member(arguments.source),
                     arguments.tag == MPI_ANY_TAG ? kAnyTag : arguments.tag};
  receive.MatchNode::key = key;
  if (Message* message = matcher.find(key)) {
    matcher.take(*message);
    return deliver(receive, *message);
  }
  const int account = account_of(key.context);
  if (any_source) {
    if (!failed_peers.empty()) [[unlikely]] {
      if (const Status* why = failure_among(communicator.peers(arguments.plane))) return fail(receive, why->copy());
    }
    post_receive(receive, posted_any[account]);
    return relieve_anybody(key);
  }
  Peer& peer = peers[key.peer()];
  if (peer.lost) return fail(receive, peer.why.copy());
  post_receive(receive, peer.posted[account]);
  if (peer.incoming[account].exhausted()) relieve(key.peer(), account, true);
}

void Messenger::State::start_matched(ReceiveRequest& receive, Message& message) noexcept {
  engine.begin(receive);
  prepare(receive);
  deliver(receive, message);
}

// The message's memory is free again, and its sender may use it.
void Messenger::State::discard(Message& message) noexcept {
  const net::PeerId id = message.peer();
  peers[id].incoming[account_of(message.context())].release(message_units(message.stored_bytes));
  pool.free(message);
  return_credit(id, false);
}

// ---- a receive and its message --------------------------------------------------------------------------------------

void Messenger::State::expect(ReceiveRequest& receive, std::uint64_t message_bytes) noexcept {
  receive.message_bytes_ = message_bytes;
  receive.wanted_ = std::min(message_bytes, receive.capacity_);
}

// Where these bytes of the message go.
net::Landing Messenger::State::landing_of(ReceiveRequest& receive, std::uint64_t offset, std::uint64_t bytes) noexcept {
  net::Landing landing;
  if (offset >= receive.wanted_) return landing;
  landing.accepted = std::min(bytes, receive.wanted_ - offset);
  if (receive.walk_) {
    if (receive.walk_->position() != offset) receive.walk_->seek(offset);
    landing.walk = &*receive.walk_;
  } else {
    landing.base = receive.contiguous_ + offset;
  }
  return landing;
}

// Receives a message that had come before. `message` is out of the queues.
void Messenger::State::deliver(ReceiveRequest& receive, Message& message) noexcept {
  const net::PeerId id = message.peer();
  Peer& peer = peers[id];
  if (!names_itself_truly(receive, id, message.source)) {
    fail(receive,
         Status::error(MPI_ERR_OTHER, "%s sent a message as rank %d of a communicator where it has another rank",
                       network->describe(id).c_str(), static_cast<int>(message.source)));
    if (message.arrived) return discard(message);
    message.unwanted = true;
    return;
  }
  bind(receive, id, message.source, message.tag(), message.note);
  expect(receive, message.message_bytes);
  if (!message.arrived) {
    message.receive = &receive;  // goes on when the payload is here
    return;
  }
  if (peer.lost && message.is_rts) {
    fail(receive, peer.why.copy());
    return discard(message);
  }
  const net::Landing landing = landing_of(receive, 0, message.stored_bytes);
  if (landing.walk != nullptr) landing.walk->scatter(message.payload(), landing.accepted);
  if (landing.base != nullptr) std::copy_n(message.payload(), landing.accepted, landing.base);
  receive.received_ += landing.accepted;
  counters.bytes_received += landing.accepted;
  const std::uint64_t sender_token = message.sender_token, address = message.address;
  const bool is_rts = message.is_rts, pullable = message.pullable;
  discard(message);
  if (is_rts) return proceed(receive, sender_token, pullable, address);
  complete(receive);
  if (sender_token != 0) answer(id, wire::MessageKind::kAck, sender_token);
}

// A rendezvous has its receive; received_ counts the first bytes. Gets the rest.
void Messenger::State::proceed(ReceiveRequest& receive, std::uint64_t sender_token, bool pullable,
                               std::uint64_t address) noexcept {
  if (receive.received_ == receive.wanted_) {
    const net::PeerId id = receive.peer_;
    complete(receive);
    return answer(id, wire::MessageKind::kFin, sender_token);
  }
  if (!pullable || !network->capabilities(receive.peer_).pull) return post_cts(receive, sender_token);
  receive.address_ = address;
  receive.sender_token_ = sender_token;
  if (!pulls.empty() || pull_some(receive)) {
    if (pulls.empty()) engine.set_timer(kick, engine.clock().now());
    pulls.push_back(receive);
  }
}

void Messenger::State::post_cts(ReceiveRequest& receive, std::uint64_t sender_token) noexcept {
  wire::MessageHeader cts;
  cts.kind = wire::MessageKind::kCts;
  cts.sender_token = sender_token;
  cts.receiver_token = receive.token_ = receives.take(receive);
  cts.message_bytes = receive.wanted_;
  post_control(receive.peer_, cts);
}

// Pulls one piece. True when more is left; false when the receive goes another way or is complete.
bool Messenger::State::pull_some(ReceiveRequest& receive) noexcept {
  const net::PeerId id = receive.peer_;
  if (peers[id].lost) {
    fail(receive, peers[id].why.copy());
    return false;
  }
  const std::uint64_t chunk = std::max<std::uint64_t>(network->capabilities(id).data_chunk, 64 * 1024);
  const std::uint64_t bytes = std::min(chunk, receive.wanted_ - receive.received_);
  ContiguousWalk piece(receive.contiguous_ + receive.received_, bytes);
  ByteWalk& into = receive.walk_ ? static_cast<ByteWalk&>(*receive.walk_) : piece;
  if (!network->route(id).pull(id, receive.address_ + receive.received_, bytes, into)) {
    receive.received_ = 0;
    if (receive.walk_) receive.walk_->seek(0);
    post_cts(receive, receive.sender_token_);
    return false;
  }
  receive.received_ += bytes;
  count_received(bytes);
  if (receive.received_ < receive.wanted_) return true;
  const std::uint64_t sender_token = receive.sender_token_;
  complete(receive);
  answer(id, wire::MessageKind::kFin, sender_token);
  return false;
}

bool Messenger::State::Puller::poll() noexcept {
  if (state.pulls.empty()) return false;
  ReceiveRequest& receive = state.pulls.pop_front();
  if (state.pull_some(receive)) state.pulls.push_back(receive);
  return true;
}

void Messenger::State::complete(ReceiveRequest& receive) noexcept {
  Result& result = receive.result();
  result.bytes = receive.received_;
  if (receive.message_bytes_ > receive.capacity_ && result.status.ok()) {
    result.status = Status::error(MPI_ERR_TRUNCATE,
                                  "the message from rank %d with tag %d has %" PRIu64
                                  " bytes, but the receive has room for %" PRIu64 "; receive with a larger count",
                                  result.source, result.tag, receive.message_bytes_, receive.capacity_);
  }
  if (receive.token_ != 0) receives.release(std::exchange(receive.token_, 0));
  if (receive.walk_) {
    receive.walk_.reset();
    receive.type_ = datatype::TypeRef();
  }
  engine.finish(receive);
}

void Messenger::State::fail(ReceiveRequest& receive, Status why) noexcept {
  receive.result().status = std::move(why);
  complete(receive);
}

// Only a receive that has no message yet can be cancelled.
void Messenger::State::cancel(ReceiveRequest& receive) noexcept {
  if (!receive.MatchNode::queued()) return;
  unpost(receive);
  receive.result().cancelled = true;
  complete(receive);
}

}  // namespace lapwing::p2p
