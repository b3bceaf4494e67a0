#include "net/self/self_transport.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bulk_copy.h"
#include "base/tuning.h"

namespace lapwing::net {
namespace {

// The next `bytes` of one walk to the next positions of another.
void copy(ByteWalk& from, ByteWalk& to, std::uint64_t bytes) noexcept {
  if (from.prefers_copy()) {
    std::byte buffer[4096];
    while (bytes != 0) {
      const std::size_t piece = std::min<std::uint64_t>(bytes, sizeof buffer);
      from.gather(buffer, piece);
      to.scatter(buffer, piece);
      bytes -= piece;
    }
    return;
  }
  while (bytes != 0) {
    iovec segment;
    if (from.peek(&segment, 1) == 0) return;
    const std::size_t piece = std::min<std::uint64_t>(bytes, segment.iov_len);
    to.scatter(segment.iov_base, piece);
    from.advance(piece);
    bytes -= piece;
  }
}

// Also where a program receives into the memory that it sends from, though it must not.
void move_payload(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept {
  const auto ahead = reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from);
  if (ahead < bytes || -ahead < bytes)
    std::memmove(to, from, bytes);
  else
    plain_copy(to, from, bytes);
}

// What the landing accepts; a walk in `op` is taken to the end of the payload whatever is accepted.
void copy_payload(SendOp& op, const Landing& landing) noexcept {
  const std::uint64_t payload = op.header.payload_bytes();
  std::uint64_t kept = std::min(landing.accepted, payload);
  if (landing.base == nullptr && landing.walk == nullptr) kept = 0;
  if (kept != 0) {
    if (op.walk != nullptr && landing.walk != nullptr) {
      copy(*op.walk, *landing.walk, kept);
    } else if (op.walk != nullptr) {
      op.walk->gather(landing.base, kept);
    } else if (landing.walk != nullptr) {
      landing.walk->scatter(op.data, kept);
    } else {
      move_payload(landing.base, op.data, kept);
    }
  }
  if (op.walk != nullptr) op.walk->advance(payload - kept);
}

}  // namespace

SelfTransport::SelfTransport(engine::Engine& engine, const Sinks& sinks, const NetworkConfig& config)
    : engine_(engine), sinks_(sinks), self_(config.self), rank_(config.processes->name(config.self).rank) {}

SelfTransport::~SelfTransport() {
  close();
}

Status SelfTransport::publish(wire::Card&) {
  return {};
}

Status SelfTransport::attach(const wire::CardBook&) {
  open_ = true;
  return {};
}

Capabilities SelfTransport::capabilities(PeerId peer) const noexcept {
  if (peer != self_) return {};
  return {.eager_limit = tuning().self_eager_limit, .data_chunk = tuning().self_data_chunk, .at_once = Copy::kMost};
}

bool SelfTransport::post(PeerId, SendOp& op) noexcept {
  if (!open_ || lost_) {
    refusals_.add(
        op, Status::error(MPI_ERR_OTHER, "rank %u cannot send to itself any more: its transports are closed", rank_));
    return false;
  }
  queue(op);
  return false;
}

// When the first one is sent: most ranks never send to themselves.
void SelfTransport::make_copies() {
  copies_ = std::make_unique<Copy[]>(kCopies);
  for (std::size_t i = 0; i < kCopies; ++i) {
    Copy& copy = copies_[i];
    copy.owner = this;
    copy.data = copy.bytes;
    copy.on_taken = [](SendOp& op, const Status&) noexcept { static_cast<Copy&>(op).owner->free_copies_.push_front(op); };
    free_copies_.push_back(copy);
  }
}

bool SelfTransport::send_now(PeerId, wire::FrameHeader& header, const std::byte* payload, Delivery) noexcept {
  if (!open_ || lost_) return false;
  if (copies_ == nullptr) make_copies();
  if (free_copies_.empty()) return false;
  auto& copy = static_cast<Copy&>(free_copies_.pop_front());
  copy.header = header;
  plain_copy(copy.bytes, payload, header.payload_bytes());
  queue(copy);
  return true;
}

void SelfTransport::queue(SendOp& op) noexcept {
  op.transport_progress = next_++;
  queue_.push_back(op);
  if (std::exchange(scheduled_, true)) return;  // until the queue is empty; holds the engine awake meanwhile
  engine_.hold();
  engine_.defer(delivery_);
}

void SelfTransport::DeliveryRun::run(engine::Tasklet& tasklet) noexcept {
  static_cast<DeliveryRun&>(tasklet).transport.deliver_queued();
}

// What was queued when it began; frames posted meanwhile get a run of their own, so that a run ends.
void SelfTransport::deliver_queued() noexcept {
  const std::uint64_t end = next_;
  bool more = true;
  while (more && !queue_.empty()) {
    SendOp& op = queue_.front();
    more = op.transport_progress + 1 != end;
    deliver(op);
  }
  if (!queue_.empty()) {
    engine_.defer(delivery_);
    return;
  }
  scheduled_ = false;
  engine_.unhold();
}

void SelfTransport::deliver(SendOp& op) noexcept {
  const wire::FrameHeader header = op.header;  // `op` may be gone after on_taken
  FrameSink& sink = sinks_.of(header);
  const Landing landing = sink.on_header(self_, header);
  if (landing.violation) {
    lost_ = true;
    const Status why =
        Status::error(MPI_ERR_INTERN, "rank %u broke the message protocol with itself: %s", rank_, landing.reason);
    while (!queue_.empty()) {
      SendOp& failed = queue_.pop_front();
      failed.on_taken(failed, why);
    }
    sinks_.peer_lost(self_, why, header, &landing);
    return;
  }
  copy_payload(op, landing);
  op.unlink();
  op.on_taken(op, Status());
  sink.on_frame(self_, header);
}

// Reading one's own memory: the rendezvous by one copy.
bool SelfTransport::offers_pull(PeerId, std::uint64_t) noexcept {
  return true;
}

PullOp::End SelfTransport::pull(PeerId, PullOp& op) noexcept {
  const auto* from = reinterpret_cast<const std::byte*>(op.address);
  if (op.walk != nullptr)
    op.walk->scatter(from, op.bytes);
  else
    move_payload(op.data, from, op.bytes);
  return PullOp::End::kWhole;
}

void SelfTransport::close() noexcept {
  if (!open_) return;
  open_ = false;
  const Status why = Status::error(MPI_ERR_OTHER, "rank %u has closed its connections", rank_);
  while (!queue_.empty()) {
    SendOp& op = queue_.pop_front();
    op.on_taken(op, why);
  }
}

}  // namespace lapwing::net
