// What the messenger says in a report on a hang (docs/debugging.md).
#include <algorithm>
#include <cstdio>

#include "p2p/exchange_request.h"
#include "p2p/messenger.h"
#include "p2p/partitioned.h"
#include "wire/hang_report.h"

namespace lapwing::p2p {
namespace {

using wire::HangItem;

std::string progress(std::uint64_t bytes, std::uint64_t of, const char* what) {
  char text[96];
  std::snprintf(text, sizeof text, "%llu of %llu bytes have %s", static_cast<unsigned long long>(bytes),
                static_cast<unsigned long long>(of), what);
  return text;
}

// All other members, one of which is enough.
void await_any(const comm::Group& group, HangItem& item) {
  item.any = true;
  for (int rank = 0; rank < group.size(); ++rank) item.awaited.push_back(static_cast<int>(group.member(rank).index));
}

HangItem item_for(HangItem::Kind kind, comm::Communicator& communicator, comm::Plane plane, int peer, int tag) {
  HangItem item;
  item.kind = kind;
  item.communicator = communicator.name;
  item.context = communicator.wire_context(plane);
  item.tag = tag == MPI_ANY_TAG ? HangItem::kAny : tag;
  item.peer = peer == MPI_ANY_SOURCE ? HangItem::kAny : peer;
  if (peer == MPI_ANY_SOURCE) {
    await_any(communicator.peers(plane), item);
  } else if (peer != MPI_PROC_NULL) {
    item.awaited.push_back(static_cast<int>(communicator.peers(plane).member(peer).index));
  }
  return item;
}

// Messages of the library's own are told as what they are for.
bool is_users(std::uint64_t context) noexcept {
  constexpr auto kOwn = static_cast<std::uint64_t>(comm::Plane::kPartitionedSetup) |
                        static_cast<std::uint64_t>(comm::Plane::kPartitioned) | 3;
  return (context & kOwn) == 0;
}

// The oldest entries of a table that a user knows of.
std::vector<MatchNode*> oldest_of(MatchTable& table, std::uint64_t& count) {
  std::vector<MatchNode*> nodes;
  table.for_each([&](MatchNode& node) {
    if (is_users(node.key.context)) nodes.push_back(&node);
  });
  count = nodes.size();
  const std::size_t kept = std::min(nodes.size(), wire::HangReport::kMaxItems);
  const auto earlier = [](const MatchNode* a, const MatchNode* b) { return a->stamp < b->stamp; };
  std::partial_sort(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(kept), nodes.end(), earlier);
  nodes.resize(kept);
  return nodes;
}

HangItem describe_message(const UnexpectedMessage& message) {
  HangItem item;
  item.kind = HangItem::Kind::kReceive;
  item.peer = message.source;
  item.tag = message.tag();
  item.context = message.context();
  item.bytes = message.message_bytes;
  item.awaited.push_back(static_cast<int>(message.peer().index));
  return item;
}

}  // namespace

HangItem Messenger::describe(const SendRequest& send) {
  const SendArguments& arguments = send.arguments_;
  HangItem item = item_for(HangItem::Kind::kSend, *arguments.communicator, arguments.plane, arguments.destination, arguments.tag);
  item.bytes = send.bytes_;
  if (arguments.mode == SendMode::kSynchronous) item.what = "synchronous";
  if (send.held_) {
    item.state = "kept back until the receiver has received some of what it has";
  } else if (send.awaits_answer_) {
    item.state = "no receive matches yet";
  } else if (send.receiver_token_ != 0) {
    item.moving = true;
    item.state = progress(send.next_byte_, send.bytes_, "been sent");
  } else {
    item.state = "on its way out";
  }
  return item;
}

HangItem Messenger::describe(const ReceiveRequest& receive) {
  const ReceiveArguments& arguments = receive.arguments_;
  HangItem item = item_for(HangItem::Kind::kReceive, *arguments.communicator, arguments.plane, arguments.source, arguments.tag);
  item.bytes = receive.capacity_;
  item.moving = !receive.queued();
  item.state = receive.queued() ? "no message yet" : progress(receive.received_, receive.wanted_, "come");
  return item;
}

void SendRequest::describe(HangItem& item) const {
  item = Messenger::describe(*this);
}

void ReceiveRequest::describe(HangItem& item) const {
  item = Messenger::describe(*this);
}

void ExchangeRequest::describe(HangItem& item) const {
  Request::describe(item);
  item.state = "a send and a receive in one";
}

void FlushRequest::describe(HangItem& item) const {
  Request::describe(item);
  item.state = "buffered sends that have not left yet";
}

void PartitionedSend::describe(HangItem& item) const {
  Request::describe(item);
  item.state = "partitioned communication";
}

void PartitionedReceive::describe(HangItem& item) const {
  Request::describe(item);
  item.state = "partitioned communication";
}

HangItem Messenger::describe_probe(comm::Communicator& communicator, int source, int tag) {
  HangItem item = item_for(HangItem::Kind::kProbe, communicator, comm::Plane::kPointToPoint, source, tag);
  item.state = "no message yet";
  return item;
}

// Receives first, oldest first; then sends that wait for their receiver, as far as there is room.
void Messenger::describe(wire::HangReport& report) {
  for (const MatchNode* node : oldest_of(matcher.posted_table(), report.pending.count))
    report.pending.items.push_back(describe(static_cast<const ReceiveRequest&>(*node)));
  const auto add_send = [&](const SendRequest& send) {
    if (!is_users(send.arguments_.communicator->wire_context(send.arguments_.plane))) return;
    ++report.pending.count;
    if (report.pending.items.size() < wire::HangReport::kMaxItems) report.pending.items.push_back(describe(send));
  };
  outgoing.awaiting_answer().for_each(add_send);
  common.peers.for_each([&](std::size_t, Peer& peer) {
    for (auto& list : peer.held) {
      for (auto send = list.begin(); send != list.end(); ++send) add_send(*send);
    }
  });
  for (const MatchNode* node : oldest_of(matcher.unexpected_table(), report.unexpected.count))
    report.unexpected.items.push_back(describe_message(static_cast<const UnexpectedMessage&>(static_cast<const ByEnvelope&>(*node))));
}

}  // namespace lapwing::p2p
