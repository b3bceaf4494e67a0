// Frames on their way in. on_header judges a frame before a byte of its payload is taken and says where that goes; on_frame acts on
// it. Only the rest of a message is asked for as early as in on_header, so that its sender need not wait for the answer.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/small_copy.h"
#include "p2p/messenger_state.h"

namespace lapwing::p2p {
namespace {

using wire::MessageKind;

net::Landing violation(const char* reason) noexcept {
  net::Landing landing;
  landing.violation = true;
  landing.reason = reason;
  return landing;
}

bool is_pullable(const wire::MessageHeader& header) noexcept {
  return header.kind == MessageKind::kRts && (header.flags & wire::kFlagPullable) != 0;
}

// The payload that a receiver without a posted receive must store.
std::uint64_t stored_bytes(const wire::MessageHeader& header) noexcept {
  return is_pullable(header) ? 0 : header.payload_bytes;
}

std::uint64_t load_address(const std::byte* bytes) noexcept {
  std::uint64_t address = 0;
  for (int i = 7; i >= 0; --i) address = address << 8 | static_cast<std::uint64_t>(bytes[i]);
  return address;
}

// No honest peer ever gives this much credit; keeps the sums far from overflow.
constexpr std::uint64_t kAbsurdCredit = std::uint64_t{1} << 48;

bool gives_absurd_credit(const Peer& peer, const wire::MessageHeader& header) noexcept {
  const int account = (header.credit & kInternalAccountBit) != 0 ? kInternalAccount : kUserAccount;
  return peer.outgoing[account].credit + (header.credit & kMaxUnitsPerFrame) > kAbsurdCredit;
}

}  // namespace

// ---- the fast branch --------------------------------------------------------------------------------------------------

// A small message, and a posted receive with room for it in one piece: the usual case. Does in one step what on_message_header and
// on_message do, by the same means; whatever is unusual is left to them.
bool Messenger::State::on_whole(net::PeerId id, const wire::FrameHeader& frame, const std::byte* payload) noexcept {
  if (!wire::is_plain_eager(frame)) return false;
  const wire::MessageHeader header = wire::unpack(frame);
  if (header.tag < 0) return false;
  Peer& peer = peers[id];
  if (header.credit != 0 && gives_absurd_credit(peer, header)) return false;
  if (header.sender_token != 0 && leaves_answers(peer)) return false;
  ReceiveRequest* receive = matcher.match({header.context, id, header.tag});
  const std::uint64_t bytes = header.payload_bytes;
  if (receive == nullptr || receive->walk_ || bytes > receive->capacity_) return false;
  if (!names_itself_truly(*receive, id, header.source)) return false;
  const int account = account_of(header.context);
  if (!peer.incoming[account].pass(message_units(bytes))) return false;
  unpost(*receive);
  bind(*receive, id, header.source, header.tag, header.receiver_token);
  if (bytes <= kSmallCopy)
    copy_small(receive->contiguous_, payload, bytes);
  else
    std::memcpy(receive->contiguous_, payload, bytes);
  count_received(bytes);
  receive->result().bytes = bytes;
  engine.finish(*receive);
  if (header.sender_token != 0) answer(id, MessageKind::kAck, header.sender_token);
  after_message(id, peer, account);
  if (header.credit != 0) take_credit(id, header.credit);
  return true;
}

// ---- headers --------------------------------------------------------------------------------------------------------

net::Landing Messenger::State::on_header(net::PeerId id, const wire::FrameHeader& frame) noexcept {
  wire::MessageHeader header;
  if (wire::is_plain_eager(frame)) {
    header = wire::unpack(frame);
  } else {
    malformed = wire::decode(frame, header);
    if (!malformed.ok()) return violation(malformed.text());
  }
  if (gives_absurd_credit(peers[id], header)) return violation("it gives back more credit than there is");
  if (leaves_answers(peers[id])) return violation("it asks for answers without end and reads none");
  switch (header.kind) {
    case MessageKind::kEager:
    case MessageKind::kRts:
      return on_message_header(id, header);
    case MessageKind::kData:
      return on_data_header(id, header);
    case MessageKind::kCts:
    case MessageKind::kAck:
    case MessageKind::kFin:
    case MessageKind::kCancelAck:
      return on_answer_header(id, header);
    case MessageKind::kCredit:
    case MessageKind::kCancel:
      break;
  }
  return {};
}

net::Landing Messenger::State::on_message_header(net::PeerId id, const wire::MessageHeader& header) noexcept {
  if (header.tag < 0) return violation("the tag of its message is negative");
  if (header.kind == MessageKind::kRts && header.sender_token == 0) return violation("its RTS names no send");
  if (is_pullable(header) && header.payload_bytes != sizeof(Peer::address))
    return violation("an RTS that may be pulled carries its address and nothing else");
  Peer& peer = peers[id];
  if (!peer.incoming[account_of(header.context)].spend(message_units(stored_bytes(header))))
    return violation("it sends more than its credit allows");
  ReceiveRequest* receive = matcher.match({header.context, id, header.tag});
  if (receive == nullptr) return store(id, header);
  if (!names_itself_truly(*receive, id, header.source))
    return violation("it sends as a rank that it does not have in that communicator");
  unpost(*receive);
  bind(*receive, id, header.source, header.tag, header.receiver_token);
  expect(*receive, header.message_bytes);
  peer.landing_receive = receive;
  if (!is_pullable(header)) {
    if (header.kind == MessageKind::kRts && receive->wanted_ > header.payload_bytes)
      post_cts(*receive, header.sender_token);
    return landing_of(*receive, 0, header.payload_bytes);
  }
  net::Landing landing;
  landing.base = peer.address;
  landing.accepted = sizeof peer.address;
  return landing;
}

// No receive is posted: the message waits in a block of its own.
net::Landing Messenger::State::store(net::PeerId id, const wire::MessageHeader& header) noexcept {
  Peer& peer = peers[id];
  Message& message = pool.make(stored_bytes(header));
  message.ByEnvelope::key = {header.context, id, header.tag};
  message.ByContext::key = {header.context, kAnyPeer, kAnyTag};
  message.message_bytes = header.message_bytes;
  message.sender_token = header.sender_token;
  message.note = header.receiver_token;
  message.source = header.source;
  message.is_rts = header.kind == MessageKind::kRts;
  message.pullable = is_pullable(header);
  matcher.keep(message);
  ++counters.unexpected_messages;
  counters.unexpected_bytes += stored_bytes(header);
  peer.landing_message = &message;
  notify_probes(message);
  net::Landing landing;
  landing.base = message.pullable ? peer.address : message.payload();
  landing.accepted = header.payload_bytes;
  return landing;
}

net::Landing Messenger::State::on_data_header(net::PeerId id, const wire::MessageHeader& header) noexcept {
  ReceiveRequest* receive = receives.find(header.receiver_token);
  if (receive == nullptr || receive->peer_ != id) return violation("its data is for no receive of ours");
  const bool within = header.offset <= receive->wanted_ && header.payload_bytes <= receive->wanted_ - header.offset;
  if (!within || header.payload_bytes > receive->wanted_ - receive->received_)
    return violation("it sends more data than was asked for");
  return landing_of(*receive, header.offset, header.payload_bytes);
}

net::Landing Messenger::State::on_answer_header(net::PeerId id, const wire::MessageHeader& header) noexcept {
  const char* reason = check_answer(id, header);
  return reason != nullptr ? violation(reason) : net::Landing();
}

// What is wrong with a frame that answers one of our sends; null if nothing.
const char* Messenger::State::check_answer(net::PeerId id, const wire::MessageHeader& header) noexcept {
  const SendRequest* send = sends.find(header.sender_token);
  if (send == nullptr || send->peer_ != id) return "it answers a send that is not waiting for it";
  if (header.kind == MessageKind::kCancelAck) {
    if (!send->awaits_cancel_ack_) return "it takes back a send that nobody cancelled";
    if ((header.flags & wire::kFlagCancelled) != 0 && !send->awaits_answer_)
      return "it takes back a send that it has received";
    return nullptr;
  }
  if (!send->awaits_answer_) return "it answers a send twice";
  if ((header.kind == MessageKind::kAck) == send->rendezvous_) return "its answer is not to what it was sent";
  if (header.kind == MessageKind::kCts) {
    if (header.message_bytes > send->bytes_ || header.message_bytes <= send->next_byte_)
      return "it asks for bytes that the message does not have";
    if (header.receiver_token == 0) return "it asks for data and names no receive";
  }
  return nullptr;
}

// ---- whole frames ---------------------------------------------------------------------------------------------------

void Messenger::State::on_frame(net::PeerId id, const wire::FrameHeader& frame) noexcept {
  const wire::MessageHeader header = wire::unpack(frame);
  switch (header.kind) {
    case MessageKind::kEager:
    case MessageKind::kRts:
      on_message(id, header);
      break;
    case MessageKind::kData:
      on_data(id, header);
      break;
    case MessageKind::kCts:
    case MessageKind::kAck:
    case MessageKind::kFin:
    case MessageKind::kCancelAck:
      on_answer(header);
      break;
    case MessageKind::kCancel:
      on_cancel(id, header);
      break;
    case MessageKind::kCredit:
      break;
  }
  if (header.credit != 0) take_credit(id, header.credit);
}

void Messenger::State::on_message(net::PeerId id, const wire::MessageHeader& header) noexcept {
  Peer& peer = peers[id];
  const int account = account_of(header.context);
  const std::uint64_t address = is_pullable(header) ? load_address(peer.address) : 0;
  if (ReceiveRequest* receive = std::exchange(peer.landing_receive, nullptr)) {
    const std::uint64_t landed = std::min(stored_bytes(header), receive->wanted_);
    receive->received_ += landed;
    count_received(landed);
    peer.incoming[account].release(message_units(stored_bytes(header)));
    if (header.kind == MessageKind::kRts) {
      const bool asked = receive->token_ != 0;  // by on_message_header
      if (!asked)
        proceed(*receive, header.sender_token, is_pullable(header), address);
      else if (receive->received_ == receive->wanted_)
        complete(*receive);
    } else {
      complete(*receive);
      if (header.sender_token != 0) answer(id, MessageKind::kAck, header.sender_token);
    }
  } else if (Message* message = std::exchange(peer.landing_message, nullptr)) {
    message->arrived = true;
    message->address = address;
    count_moved(stored_bytes(header));
    if (message->unwanted)
      discard(*message);
    else if (message->receive != nullptr)
      deliver(*message->receive, *message);
  }
  after_message(id, peer, account);
}

// A peer that has used its credit up may hold back just what somebody here waits for.
void Messenger::State::after_spending(net::PeerId id, Peer& peer, int account) noexcept {
  list_exhausted(id, peer);
  const bool probed = account == kUserAccount && !probes.empty();
  relieve(id, account, peer.posted[account] != 0 || posted_any[account] != 0 || probed);
}

void Messenger::State::on_data(net::PeerId id, const wire::MessageHeader& header) noexcept {
  ReceiveRequest* receive = receives.find(header.receiver_token);
  if (receive == nullptr || receive->peer_ != id) return;
  receive->received_ += header.payload_bytes;
  count_received(header.payload_bytes);
  if (receive->received_ == receive->wanted_) complete(*receive);
}

void Messenger::State::on_answer(const wire::MessageHeader& header) noexcept {
  SendRequest* send = sends.find(header.sender_token);
  if (send == nullptr) return;
  if (header.kind == MessageKind::kCancelAck) {
    send->awaits_cancel_ack_ = false;
    if ((header.flags & wire::kFlagCancelled) != 0) {
      send->awaits_answer_ = false;
      send->result().cancelled = true;
    }
    return settle(*send);
  }
  send->awaits_answer_ = false;
  if (header.kind == MessageKind::kCts) {
    send->wanted_ = header.message_bytes;
    send->receiver_token_ = header.receiver_token;
  }
  pump(*send);
}

void Messenger::State::on_cancel(net::PeerId id, const wire::MessageHeader& header) noexcept {
  Message* message =
      header.sender_token != 0 ? matcher.find_sent_as({header.context, id, header.tag}, header.sender_token) : nullptr;
  wire::MessageHeader answer;
  answer.kind = MessageKind::kCancelAck;
  answer.sender_token = header.sender_token;
  if (message != nullptr) {
    matcher.take(*message);
    discard(*message);
    answer.flags = wire::kFlagCancelled;
  }
  post_control(id, answer);
}

// ---- credit ---------------------------------------------------------------------------------------------------------

void Messenger::State::take_credit(net::PeerId id, std::uint32_t credit) noexcept {
  const int account = (credit & kInternalAccountBit) != 0 ? kInternalAccount : kUserAccount;
  peers[id].outgoing[account].gain(credit & kMaxUnitsPerFrame);
  drain_held(id);
}

// Sends back what is owed if it is worth a frame of its own, or if `all` is wanted.
void Messenger::State::return_credit(net::PeerId id, bool all) noexcept {
  Peer& peer = peers[id];
  for (IncomingAccount& account : peer.incoming) {
    while (!peer.lost && (account.worth_a_frame() || (all && account.owed != 0))) {
      wire::MessageHeader credit;
      credit.kind = MessageKind::kCredit;
      post_control(id, credit);
    }
  }
}

// A peer without credit may hold back just the message that is asked for here (credit.h, rule 3).
void Messenger::State::relieve(net::PeerId id, int account, bool asked) noexcept {
  Peer& peer = peers[id];
  IncomingAccount& incoming = peer.incoming[account];
  if (!asked || peer.lost || !incoming.exhausted()) return;
  incoming.relieve();
  return_credit(id, true);
}

// A receive (or a probe) found nothing: makes sure that nobody who could satisfy it is stuck. Posting may complete the receive.
void Messenger::State::relieve_anybody(MatchKey wanted) noexcept {
  const int account = account_of(wanted.context);
  std::vector<net::PeerId> suspects;
  suspects.swap(exhausted);
  for (const net::PeerId id : suspects) peers[id].listed_exhausted = false;
  for (const net::PeerId id : suspects) {
    relieve(id, account, true);
    Peer& peer = peers[id];
    if (peer.incoming[kUserAccount].exhausted() || peer.incoming[kInternalAccount].exhausted())
      list_exhausted(id, peer);
  }
}

void Messenger::State::list_exhausted(net::PeerId id, Peer& peer) noexcept {
  if (std::exchange(peer.listed_exhausted, true)) return;
  exhausted.push_back(id);
}

// ---- probes ---------------------------------------------------------------------------------------------------------

void Messenger::State::notify_probes(const Message& message) noexcept {
  for (auto at = probes.begin(); at != probes.end();) {
    ProbeWatch& watch = *at;
    ++at;
    const MatchKey& key = watch.key_;
    if (key.context != message.context() || (key.peer() != kAnyPeer && key.peer() != message.peer()) ||
        (key.tag() != kAnyTag && key.tag() != message.tag()))
      continue;
    watch.unlink();
    engine.arrive(watch.waiter_);
  }
}

}  // namespace lapwing::p2p
