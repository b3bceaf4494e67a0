// The sender's half of the protocols, and all frames on their way out.
#include <algorithm>
#include <cinttypes>

#include "base/internal_error.h"
#include "p2p/messenger_state.h"

namespace lapwing::p2p {
namespace {

// What an RTS carries along when the receiver's credit allows it, unless the transport advises more.
constexpr std::uint64_t kFirstBytes = 8192;
// Beyond this, copying the message costs the receiver more than a call of MPI should.
constexpr std::uint64_t kWaitingBytes = 4096;
// Of urgent frames over TCP.
constexpr std::byte kPadding[net::kMostUrgentBytes] = {};

}  // namespace

void Messenger::State::start(SendRequest& send) noexcept {
  engine.begin(send);
  ++sends_active;
  send.messenger_ = &owner;
  send.result().clear();
  send.walk_.reset();
  send.next_byte_ = send.wanted_ = send.receiver_token_ = send.token_ = 0;
  send.held_ = send.rendezvous_ = send.awaits_answer_ = send.awaits_cancel_ack_ = false;
  const SendArguments& arguments = send.arguments_;
  if (arguments.destination == MPI_PROC_NULL) {
    send.result().source = MPI_PROC_NULL;
    return settle(send);
  }
  const comm::Communicator& communicator = *arguments.communicator;
  send.peer_ = communicator.peers(arguments.plane).member(arguments.destination);
  prepare(send);
  Peer& peer = peers[send.peer_];
  if (peer.lost) return fail(send, peer.why.copy());
  auto& held = peer.held[account_of(communicator.wire_context(arguments.plane))];
  if (held.empty() && launch(send)) return;
  send.held_ = true;
  ++counters.held_back_sends;
  held.push_back(send);
}

// The fast branch of start(), for what needs no request: by the same envelope, credit and counters.
bool Messenger::State::send_now(const SendArguments& arguments) noexcept {
  if (arguments.destination == MPI_PROC_NULL || arguments.mode == SendMode::kSynchronous ||
      arguments.mode == SendMode::kBuffered)
    return false;
  const datatype::Datatype& type = *arguments.type;
  const std::uint64_t bytes = static_cast<std::uint64_t>(type.size()) * arguments.count;
  const comm::Communicator& communicator = *arguments.communicator;
  const net::PeerId id = communicator.peers(arguments.plane).member(arguments.destination);
  Peer& peer = peers[id];
  if (peer.transport == nullptr) [[unlikely]]
    find_way(id, peer);
  if (bytes > peer.most_at_once || (bytes != 0 && !type.contiguous())) return false;
  wire::MessageHeader header = envelope(arguments, wire::MessageKind::kEager);
  header.payload_bytes = bytes;
  const int account = account_of(header.context);
  const std::uint64_t price = message_units(bytes);
  if (peer.lost || !peer.held[account].empty() || !peer.outgoing[account].pays_whole(price)) return false;
  header.credit = take_owed(peer);
  const auto* payload = static_cast<const std::byte*>(arguments.buffer) + (bytes != 0 ? type.true_lb() : 0);
  // Only the receiving application waits for it; but more credit, which a receiver grants when it reads the first of our messages,
  // should be here before it is needed. A large message had better be where it belongs when that application asks.
  const bool plenty = peer.outgoing[account].credit - price >= kInitialUnits / 2;
  const auto delivery = !plenty                  ? net::Delivery::kUrgent
                        : bytes <= kWaitingBytes ? net::Delivery::kWhenAsked
                                                 : net::Delivery::kAtOnce;
  wire::FrameHeader frame = wire::pack(header);
  if (!peer.transport->send_now(id, frame, payload, delivery)) {
    const bool internal = (header.credit & kInternalAccountBit) != 0;
    peer.incoming[internal ? kInternalAccount : kUserAccount].keep(header.credit & kMaxUnitsPerFrame);
    return false;
  }
  peer.outgoing[account].spend(price);
  ++counters.eager_sends;
  return true;
}

void Messenger::State::find_way(net::PeerId id, Peer& peer) noexcept {
  peer.transport = &network->route(id);
  const net::Capabilities& way = network->capabilities(id);
  peer.most_at_once = std::min(way.eager_limit, way.at_once);
}

// Finds the bytes of the message.
void Messenger::State::prepare(SendRequest& send) noexcept {
  const SendArguments& arguments = send.arguments_;
  datatype::Datatype& type = *arguments.type;
  send.bytes_ = static_cast<std::uint64_t>(type.size()) * arguments.count;
  send.contiguous_ = nullptr;
  if (send.bytes_ == 0) return;
  if (type.contiguous() || (arguments.count == 1 && type.layout().single_run())) {
    send.contiguous_ = const_cast<std::byte*>(static_cast<const std::byte*>(arguments.buffer)) + type.true_lb();
    return;
  }
  if (!type.is_predefined()) send.type_ = datatype::TypeRef(type);
  send.walk_.emplace(type, arguments.buffer, arguments.count);
}

// False when the receiver's credit does not even pay for an envelope. `send` may be over when this returns true.
bool Messenger::State::launch(SendRequest& send) noexcept {
  OutgoingAccount& account =
      peers[send.peer_].outgoing[account_of(send.arguments_.communicator->wire_context(send.arguments_.plane))];
  const net::Capabilities& way = network->capabilities(send.peer_);
  if (send.bytes_ <= way.eager_limit && send.bytes_ <= wire::kMaxPayloadBytes) {
    const std::uint64_t price = message_units(send.bytes_);
    if (account.pays_whole(price)) {
      account.spend(price);
      post_whole(send);
      return true;
    }
  }
  if (!account.pays_envelope()) return false;
  std::uint64_t first = 0;
  if (!way.pull || send.contiguous_ == nullptr) {
    for (const std::uint64_t most : {std::max(way.first_bytes, kFirstBytes), kFirstBytes}) {
      first = std::min(send.bytes_, most);
      if (account.pays_announced(message_units(first))) break;
      first = 0;
    }
  }
  account.spend(message_units(first));
  post_rts(send, first);
  return true;
}

void Messenger::State::post_whole(SendRequest& send) noexcept {
  ++counters.eager_sends;
  send.next_byte_ = send.bytes_;
  wire::MessageHeader header = envelope(send.arguments_, wire::MessageKind::kEager);
  if (send.arguments_.mode == SendMode::kSynchronous) {
    send.awaits_answer_ = true;
    header.sender_token = send.token_ = sends.take(send);
  }
  header.payload_bytes = send.bytes_;
  send.frames_[0].data = send.contiguous_;
  post_frame(send, send.frames_[0], header);
  settle(send);
}

void Messenger::State::post_rts(SendRequest& send, std::uint64_t first_bytes) noexcept {
  ++counters.rendezvous_sends;
  SendRequest::Frame& frame = send.frames_[0];
  wire::MessageHeader header = envelope(send.arguments_, wire::MessageKind::kRts);
  send.rendezvous_ = send.awaits_answer_ = true;
  header.message_bytes = send.bytes_;
  header.sender_token = send.token_ = sends.take(send);
  header.payload_bytes = first_bytes;
  frame.data = send.contiguous_;
  send.next_byte_ = first_bytes;
  if (send.contiguous_ != nullptr && network->capabilities(send.peer_).pull) {
    header.flags = wire::kFlagPullable;
    const auto address = reinterpret_cast<std::uint64_t>(send.contiguous_);
    for (int i = 0; i < 8; ++i) send.offer_[i] = static_cast<std::byte>(address >> (8 * i));
    frame.data = send.offer_;
    header.payload_bytes = sizeof send.offer_;
    send.next_byte_ = 0;
  }
  post_frame(send, frame, header);
}

void Messenger::State::post_frame(SendRequest& send, SendRequest::Frame& frame,
                                  const wire::MessageHeader& header) noexcept {
  frame.header = wire::pack(header);
  frame.walk = send.walk_ ? &*send.walk_ : nullptr;
  frame.on_taken = &State::on_frame_taken;
  frame.send = &send;
  frame.busy = !post(send.peer_, frame);
}

// After CTS: keeps frames of data with the transport until all wanted bytes have been posted.
void Messenger::State::pump(SendRequest& send) noexcept {
  while (send.next_byte_ < send.wanted_) {
    SendRequest::Frame* frame = !send.frames_[0].busy ? &send.frames_[0] : &send.frames_[1];
    const bool walk_busy = send.walk_ && (send.frames_[0].busy || send.frames_[1].busy);
    if (frame->busy || walk_busy) break;
    post_chunk(send, *frame);
  }
  settle(send);
}

void Messenger::State::post_chunk(SendRequest& send, SendRequest::Frame& frame) noexcept {
  const std::uint64_t chunk =
      std::clamp<std::uint64_t>(network->capabilities(send.peer_).data_chunk, 4096, wire::kMaxPayloadBytes);
  const std::uint64_t bytes = std::min(chunk, send.wanted_ - send.next_byte_);
  wire::MessageHeader header;
  header.kind = wire::MessageKind::kData;
  header.payload_bytes = bytes;
  header.offset = send.next_byte_;
  header.receiver_token = send.receiver_token_;
  frame.data = send.contiguous_ != nullptr ? send.contiguous_ + send.next_byte_ : nullptr;
  send.next_byte_ += bytes;
  count_moved(bytes);
  post_frame(send, frame, header);
}

void Messenger::State::on_frame_taken(net::SendOp& op, const Status& status) noexcept {
  auto& frame = static_cast<SendRequest::Frame&>(op);
  SendRequest& send = *frame.send;
  State& state = *send.messenger_->state_;
  frame.busy = false;
  if (!status.ok()) {
    if (send.result().status.ok()) send.result().status = status.copy();
    send.awaits_answer_ = send.awaits_cancel_ack_ = false;
    send.next_byte_ = send.wanted_;
  }
  state.pump(send);
}

// Completes the send if nothing more can happen to it.
void Messenger::State::settle(SendRequest& send) noexcept {
  if (send.frames_[0].busy || send.frames_[1].busy) return;
  if (send.awaits_answer_ || send.awaits_cancel_ack_ || send.next_byte_ < send.wanted_) return;
  if (send.token_ != 0) sends.release(send.token_);
  send.token_ = 0;
  send.walk_.reset();
  send.type_ = datatype::TypeRef();
  --sends_active;
  engine.finish(send);
}

void Messenger::State::fail(SendRequest& send, Status why) noexcept {
  if (send.result().status.ok()) send.result().status = std::move(why);
  send.awaits_answer_ = send.awaits_cancel_ack_ = false;
  send.next_byte_ = send.wanted_;
  settle(send);
}

// A message that has left whole cannot be called back; one that waits for its receiver can, if no receive has matched it.
void Messenger::State::cancel(SendRequest& send) noexcept {
  if (send.held_) {
    send.held_ = false;
    send.ListNode<HeldTag>::unlink();
    send.result().cancelled = true;
    return settle(send);
  }
  if (!send.awaits_answer_ || send.awaits_cancel_ack_) return;
  send.awaits_cancel_ack_ = true;
  wire::MessageHeader header = envelope(send.arguments_, wire::MessageKind::kCancel);
  header.sender_token = send.token_;
  header.payload_bytes = std::min<std::uint64_t>(network->capabilities(send.peer_).urgent_bytes, sizeof kPadding);
  post_control(send.peer_, header);
}

void Messenger::State::drain_held(net::PeerId id) noexcept {
  for (int account = 0; account < kAccounts; ++account) {
    auto& held = peers[id].held[account];
    while (!held.empty() && peers[id].outgoing[account].pays_envelope()) {
      SendRequest& send = held.front();
      send.ListNode<HeldTag>::unlink();
      send.held_ = false;
      LAPWING_CHECK(launch(send));
    }
  }
}

// What credit we owe a receiver travels with every frame to it.
std::uint32_t Messenger::State::take_owed(Peer& peer) noexcept {
  IncomingAccount* accounts = peer.incoming;
  if ((accounts[kUserAccount].owed | accounts[kInternalAccount].owed) == 0) return 0;
  const int account = accounts[kUserAccount].owed >= accounts[kInternalAccount].owed ? kUserAccount : kInternalAccount;
  const std::uint32_t credit = accounts[account].give_back();
  return account == kInternalAccount && credit != 0 ? credit | kInternalAccountBit : credit;
}

bool Messenger::State::post(net::PeerId id, net::SendOp& op) noexcept {
  if (const std::uint32_t credit = take_owed(peers[id]); credit != 0) wire::set_credit(op.header, credit);
  return network->post(id, op);
}

void Messenger::State::post_control(net::PeerId id, const wire::MessageHeader& header) noexcept {
  if (peers[id].lost) return;
  if (free_controls == nullptr) {
    controls.push_back(std::make_unique<Control>());
    free_controls = controls.back().get();
    free_controls->state = this;
    free_controls->on_taken = &State::on_control_taken;
  }
  Control& control = *free_controls;
  free_controls = control.next_free;
  ++controls_active;
  engine.hold();
  control.header = wire::pack(header);
  // The sender waits for the answer even where the receiver's application never asks for the message.
  control.delivery = header.kind == wire::MessageKind::kCancel ? net::Delivery::kUrgent : net::Delivery::kAtOnce;
  control.data = kPadding;
  control.peer = id;
  ++peers[id].controls;
  if (post(id, control)) on_control_taken(control, Status());
}

// Tells a synchronous send that its message was matched (kAck), or a rendezvous that no more is needed (kFin).
void Messenger::State::answer(net::PeerId id, wire::MessageKind kind, std::uint64_t sender_token) noexcept {
  wire::MessageHeader header;
  header.kind = kind;
  header.sender_token = sender_token;
  post_control(id, header);
}

void Messenger::State::on_control_taken(net::SendOp& op, const Status&) noexcept {
  auto& control = static_cast<Control&>(op);
  State& state = *control.state;
  control.next_free = state.free_controls;
  state.free_controls = &control;
  --state.controls_active;
  --state.peers[control.peer].controls;
  state.engine.unhold();
}

}  // namespace lapwing::p2p
