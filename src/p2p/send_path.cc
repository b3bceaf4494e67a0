#include "p2p/send_path.h"

#include <algorithm>

#include "base/internal_error.h"
#include "base/tuning.h"
#include "datatype/pack.h"

namespace lapwing::p2p {
namespace {

constexpr std::uint64_t kMostPacked = 2048;  // bytes; to copy 4 KiB a second time takes as long as a request

}  // namespace

// ---- short messages -------------------------------------------------------------------------------------------------

bool SendPath::send_packed_now(SendArguments arguments, std::uint64_t bytes) noexcept {
  std::byte packed[kMostPacked];
  if (bytes > sizeof packed) return false;
  datatype::pack(arguments.buffer, arguments.count, *arguments.type, packed);
  arguments.buffer = packed;
  arguments.count = bytes;
  arguments.type = datatype::resolve(MPI_BYTE);
  return send_now(arguments);
}

// ---- the usual way --------------------------------------------------------------------------------------------------

void SendPath::start(SendRequest& send) noexcept {
  transfers_.begin(send);
  send.path_ = this;
  const SendArguments& arguments = send.arguments_;
  if (arguments.destination == MPI_PROC_NULL) {
    send.result().source = MPI_PROC_NULL;
    return transfers_.settle(send);
  }
  const comm::Communicator& communicator = *arguments.communicator;
  send.peer_ = communicator.peers(arguments.plane).member(arguments.destination);
  prepare(send);
  Peer& peer = common_.peers[send.peer_];
  if (peer.lost) return transfers_.fail(send, peer.why.copy());
  auto& held = peer.held[account_of(communicator.wire_context(arguments.plane))];
  if (held.empty() && launch(send)) return;
  send.held_ = true;
  ++common_.counters.held_back_sends;
  held.push_back(send);
}

// Finds the bytes of the message.
void SendPath::prepare(SendRequest& send) noexcept {
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
bool SendPath::launch(SendRequest& send) noexcept {
  const std::uint64_t context = send.arguments_.communicator->wire_context(send.arguments_.plane);
  OutgoingAccount& account = common_.peers[send.peer_].outgoing[account_of(context)];
  const net::Capabilities& way = common_.way_to(send.peer_);
  const bool offers_pull = send.contiguous_ != nullptr && send.bytes_ > std::min(way.eager_limit, way.pulls_above) &&
                           common_.network->route(send.peer_).offers_pull(send.peer_, send.bytes_);
  if (!offers_pull) transfers_.begin_asking(send, asking(send, way));
  const bool asks = send.asking_ == net::Asking::kKernel;
  if (asks && send.arguments_.waits) common_.engine.expect_wait();
  if (!offers_pull && !send.arguments_.rendezvous && send.bytes_ <= std::min(longest_whole(send, way), common_.frame_limit(send.peer_))) {
    const std::uint64_t price = message_units(send.bytes_);
    if (account.pays_whole(price)) {
      account.spend(price);
      transfers_.post_whole(send, delivery_of(send.arguments_, send.bytes_, account.credit));
      return true;
    }
  }
  if (!account.pays_envelope()) return false;
  const std::uint64_t first = offers_pull || asks || send.arguments_.rendezvous ? 0 : first_bytes(send, account);
  account.spend(message_units(first));
  using Rts = OutgoingTransfers::Rts;
  transfers_.post_rts(send, first, offers_pull ? Rts::kOffersPull : asks ? Rts::kAtOnce : Rts::kUsual);
  return true;
}

// Not the way's own longer ones where it is being found out whether the peer's kernel answers a synchronous message sooner: what is compared are answers.
std::uint64_t SendPath::longest_whole(const SendRequest& send, const net::Capabilities& way) noexcept {
  const std::uint64_t usual = send.asking_ == net::Asking::kNever ? way.longest_unasked() : way.eager_limit;
  return way.answers_wait ? std::max(usual, send.arguments_.unasked) : usual;
}

// What has to wait for an answer may have it from the receiver's kernel.
net::Asking SendPath::asking(const SendRequest& send, const net::Capabilities& way) noexcept {
  const bool waits = send.bytes_ > way.longest_unasked() || send.arguments_.mode == SendMode::kSynchronous;
  const bool may = waits && send.arguments_.plane == comm::Plane::kPointToPoint;
  return may ? common_.network->route(send.peer_).asking(send.peer_, send.bytes_) : net::Asking::kNever;
}

// So many of the message's bytes go along with its RTS: as many as are of use and the credit pays for.
std::uint64_t SendPath::first_bytes(const SendRequest& send, const OutgoingAccount& account) noexcept {
  const net::Capabilities& way = common_.way_to(send.peer_);
  const std::uint64_t usual = tuning().p2p_first_bytes;
  const std::uint64_t advised = way.first_bytes != 0 ? way.first_bytes : usual;
  for (const std::uint64_t most : {advised, std::min(advised, usual)}) {
    const std::uint64_t first = std::min({send.bytes_, most, common_.frame_limit(send.peer_)});
    if (account.pays_announced(message_units(first))) return first;
  }
  return 0;
}

void SendPath::cancel(SendRequest& send) noexcept {
  if (!send.held_) return transfers_.post_cancel(send);
  unhold(send);
  send.result().cancelled = true;
  transfers_.settle(send);
}

void SendPath::unhold(SendRequest& send) noexcept {
  send.held_ = false;
  send.ListNode<HeldTag>::unlink();
}

void SendPath::drain_held(net::PeerId id) noexcept {
  for (int account = 0; account < kAccounts; ++account) {
    auto& held = common_.peers[id].held[account];
    while (!held.empty() && common_.peers[id].outgoing[account].pays_envelope()) {
      SendRequest& send = held.front();
      unhold(send);
      LAPWING_CHECK(launch(send));
    }
  }
}

void SendPath::fail_held(net::PeerId id, const Status& why) noexcept {
  for (auto& held : common_.peers[id].held) {
    while (!held.empty()) {
      SendRequest& send = held.front();
      unhold(send);
      transfers_.fail(send, why.copy());
    }
  }
}

// ---- the request ----------------------------------------------------------------------------------------------------

Status SendRequest::cancel() {
  if (path_ != nullptr && !done()) path_->cancel(*this);
  return {};
}

}  // namespace lapwing::p2p
