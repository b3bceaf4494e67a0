#include "p2p/receive_path.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/bulk_copy.h"
#include "p2p/parts.h"

namespace lapwing::p2p {

ReceivePath::ReceivePath(Parts& parts, std::uint64_t pool_limit) noexcept
    : common_(parts.common),
      frames_(parts.frames),
      matcher_(parts.matcher),
      lending_(parts.lending),
      credit_(parts.credit),
      probes_(parts.probes),
      vigil_(parts.vigil),
      transfers_(parts.incoming),
      pool_(pool_limit) {}

ReceivePath::~ReceivePath() {
  std::vector<UnexpectedMessage*> left;
  matcher_.unexpected_table().for_each([&](MatchNode& node) { left.push_back(&Matcher::message_of(node)); });
  for (UnexpectedMessage* message : left) {
    matcher_.take(*message);
    pool_.free(*message);
  }
}

// ---- receives -------------------------------------------------------------------------------------------------------

// Finds the room for the message and forgets what the request did before.
inline void ReceivePath::begin(ReceiveRequest& receive) noexcept {
  common_.engine.begin(receive);
  const ReceiveArguments& arguments = receive.arguments_;
  receive.path_ = this;
  receive.result().clear();
  receive.contiguous_ = nullptr;
  receive.capacity_ = receive.message_bytes_ = receive.wanted_ = receive.received_ = 0;
  receive.announced_ = 0;
  receive.by_carrier_ = false;
  receive.began_ = 0;
  if (arguments.source == MPI_PROC_NULL) return;
  const datatype::Datatype& type = *arguments.type;
  receive.capacity_ = static_cast<std::uint64_t>(type.size()) * arguments.count;
  if (receive.capacity_ == 0) return;
  if (!type.contiguous()) return prepare_pieces(receive);
  receive.contiguous_ = static_cast<std::byte*>(arguments.buffer) + type.true_lb();
}

void ReceivePath::prepare_pieces(ReceiveRequest& receive) noexcept {
  const ReceiveArguments& arguments = receive.arguments_;
  datatype::Datatype& type = *arguments.type;
  if (arguments.count == 1 && type.layout().single_run()) {
    receive.contiguous_ = static_cast<std::byte*>(arguments.buffer) + type.true_lb();
    return;
  }
  if (!type.is_predefined()) receive.type_ = datatype::TypeRef(type);
  receive.walk_.emplace(type, arguments.buffer, arguments.count);
}

void ReceivePath::start(ReceiveRequest& receive) noexcept {
  begin(receive);
  const ReceiveArguments& arguments = receive.arguments_;
  if (arguments.source == MPI_PROC_NULL) {
    receive.result().source = MPI_PROC_NULL;
    return transfers_.complete(receive);
  }
  const comm::Communicator& communicator = *arguments.communicator;
  const MatchKey key = key_of(communicator, arguments.plane, arguments.source, arguments.tag);
  receive.MatchNode::key = key;
  if (UnexpectedMessage* message = matcher_.find(key)) {
    matcher_.take(*message);
    common_.engine.count_found();
    return deliver(receive, *message);
  }
  vigil_.waiting_begins();
  const Account account = account_of(key.context);
  if (arguments.source == MPI_ANY_SOURCE) {
    if (const Status* why = common_.failure_among(communicator.peers(arguments.plane))) [[unlikely]]
      return transfers_.fail(receive, why->copy());
    matcher_.post(receive, credit_.wanted_from_any(account));
    return credit_.relieve_any(account);
  }
  Peer& peer = common_.peers[key.peer()];
  if (peer.lost) return transfers_.fail(receive, peer.why.copy());
  matcher_.post(receive, peer.wanted[account]);
  if (peer.incoming[account].exhausted()) [[unlikely]]
    credit_.relieve(key.peer(), peer, account);
  lending_.offer(receive, key.peer(), peer);
}

void ReceivePath::cancel(ReceiveRequest& receive) noexcept {
  if (!receive.MatchNode::queued() || !lending_.take_back(receive)) return;
  matcher_.unpost(receive);
  receive.result().cancelled = true;
  transfers_.complete(receive);
}

// ---- messages that come before their receive ------------------------------------------------------------------------

UnexpectedMessage& ReceivePath::keep(net::PeerId id, const wire::MessageHeader& header, std::uint64_t stored_bytes,
                           bool pullable) noexcept {
  UnexpectedMessage& message = pool_.make(stored_bytes);
  message.ByEnvelope::key = {header.context, id, header.tag};
  message.ByContext::key = {header.context, kAnyPeer, kAnyTag};
  message.message_bytes = header.message_bytes;
  message.sender_token = header.sender_token;
  message.note = header.receiver_token;
  message.source = header.source;
  message.is_rts = header.kind == wire::MessageKind::kRts;
  message.pullable = pullable;
  matcher_.keep(message);
  ++common_.counters.unexpected_messages;
  common_.counters.unexpected_bytes += stored_bytes;
  probes_.notify(message);
  return message;
}

void ReceivePath::discard(UnexpectedMessage& message) noexcept {
  const net::PeerId id = message.peer();
  const Account account = account_of(message.context());
  const std::uint64_t units = message_units(message.stored_bytes);
  pool_.free(message);
  credit_.release(id, account, units);
}

void ReceivePath::deliver(ReceiveRequest& receive, UnexpectedMessage& message) noexcept {
  const net::PeerId id = message.peer();
  if (!is_truly_from(receive, id, message.source)) {
    transfers_.fail(receive, Status::error(MPI_ERR_OTHER,
                                           "%s sent a message as rank %d of a communicator where it has another rank",
                                           common_.network->describe(id).c_str(), static_cast<int>(message.source)));
    if (message.arrived) return discard(message);
    message.unwanted = true;
    return;
  }
  accept(receive, id, message.source, message.tag(), message.note, message.message_bytes);
  if (!message.arrived) {
    message.receive = &receive;  // goes on when the payload is here
    return;
  }
  if (const Peer& peer = common_.peers[id]; peer.lost && message.is_rts) {
    transfers_.fail(receive, peer.why.copy());
    return discard(message);
  }
  unpack_weighed(receive, message);
  wire::MessageHeader header;
  header.kind = message.is_rts ? wire::MessageKind::kRts : wire::MessageKind::kEager;
  header.flags = message.pullable ? wire::kFlagPullable : 0;
  header.sender_token = message.sender_token;
  const std::uint64_t address = message.address;
  discard(message);
  transfers_.go_on(receive, header, address, true);
}

// Where ranks share cores, what a long one takes from the processor is told to the transport that chooses how such messages come.
void ReceivePath::unpack_weighed(ReceiveRequest& receive, UnexpectedMessage& message) noexcept {
  const net::PeerId id = message.peer();
  if (message.is_rts || !common_.engine.oversubscribed() || message.stored_bytes <= common_.way_to(id).pulls_above)
    return unpack(receive, message);
  const std::int64_t began = common_.engine.clock().now();
  unpack(receive, message);
  common_.network->route(id).came_unexpected(id, message.stored_bytes, common_.engine.clock().now() - began);
}

// Copies what came with the message into the application's memory.
void ReceivePath::unpack(ReceiveRequest& receive, UnexpectedMessage& message) noexcept {
  const net::Landing landing = IncomingTransfers::landing_of(receive, 0, message.stored_bytes);
  if (landing.walk != nullptr) landing.walk->scatter(message.payload(), landing.accepted);
  if (landing.base != nullptr) plain_copy(landing.base, message.payload(), landing.accepted);
  receive.received_ += landing.accepted;
}

void ReceivePath::start_matched(ReceiveRequest& receive, UnexpectedMessage* message) noexcept {
  comm::Communicator* kept = std::exchange(message->communicator, nullptr);
  begin(receive);
  deliver(receive, *message);
  if (kept != nullptr) comm::Communicator::drop(kept);
}

// ---- probes ---------------------------------------------------------------------------------------------------------

bool ReceivePath::probe(comm::Communicator& communicator, int source, int tag, Result& result) noexcept {
  return find(communicator, source, tag, result) != nullptr;
}

UnexpectedMessage* ReceivePath::find(comm::Communicator& communicator, int source, int tag, Result& result) noexcept {
  const MatchKey key = key_of(communicator, comm::Plane::kPointToPoint, source, tag);
  UnexpectedMessage* message = matcher_.find(key);
  if (message == nullptr) {
    credit_.relieve_for(key);
    return nullptr;
  }
  result = Result::empty();
  result.source = source == MPI_ANY_SOURCE ? communicator.peers().rank_of(message->peer()) : source;
  result.tag = message->tag();
  result.bytes = message->message_bytes;
  return message;
}

UnexpectedMessage* ReceivePath::matched_probe(comm::Communicator& communicator, int source, int tag, Result& result) noexcept {
  UnexpectedMessage* message = find(communicator, source, tag, result);
  if (message == nullptr) return nullptr;
  matcher_.take(*message);
  message->communicator = &communicator;
  communicator.retain();
  return message;
}

void ReceivePath::watch(ProbeWatch& watch) noexcept {
  probes_.add(watch, credit_.wanted(watch.key()));
  vigil_.waiting_begins();
  credit_.relieve_for(watch.key());
}

Status ReceivePath::reachable(comm::Communicator& communicator, int source) const {
  if (source == MPI_PROC_NULL) return {};
  if (source == MPI_ANY_SOURCE) {
    const Status* why = common_.failure_among(communicator.peers());
    return why != nullptr ? why->copy() : Status();
  }
  const Peer& peer = common_.peers[communicator.peers().member(source)];
  return peer.lost ? peer.why.copy() : Status();
}

// ---- the request ----------------------------------------------------------------------------------------------------

Status ReceiveRequest::cancel() {
  if (path_ != nullptr && !done()) path_->cancel(*this);
  return {};
}

}  // namespace lapwing::p2p
