// ShmTransport, the sending half: from SendOps into rings.

#include <algorithm>
#include <cstring>

#include "base/delay_point.h"
#include "base/memory_order.h"
#include "net/shm/shm_transport.h"

namespace lapwing::net {
namespace {

// What one push() moves at most, so that the lock is not held for the length of a message.
constexpr std::uint64_t kBytesPerPush = 512 * 1024;
// Published in pieces of this size, so that the reader copies out while we copy in.
constexpr std::uint64_t kPieceBytes = 16 * 1024;

static_assert(wire::kHeaderBytes == shm::kRecordAlignment);

}  // namespace

void ShmTransport::post(PeerId peer, SendOp& op) noexcept {
  Link* link = link_to(peer);
  if (link == nullptr || link->gone || !open_) {
    const Status why =
        link != nullptr && link->gone
            ? link->why.copy()
            : Status::error(MPI_ERR_OTHER, "rank %u is not on this host, or shared memory is closed", peer);
    op.on_sent(op, why);
    return;
  }
  op.header.sequence = link->next_sequence++;
  op.transport_progress = 0;
  link->queue.push_back(op);
  push(*link);
}

bool ShmTransport::send_now(PeerId peer, wire::FrameHeader& header, const std::byte* payload) noexcept {
  Link* link = link_to(peer);
  if (link == nullptr || link->gone || !open_ || link->pushing || !link->queue.empty()) return false;
  const std::uint64_t record = shm::Layout::record_bytes(header.payload_bytes);
  if (link->out.room(record) < record) return false;
  header.sequence = link->next_sequence++;
  wire::encode(header, link->out.next(wire::kHeaderBytes).data);
  link->out.advance(wire::kHeaderBytes);
  for (std::uint64_t from = 0; from < header.payload_bytes;) {
    const shm::Piece piece = link->out.next(header.payload_bytes - from);
    std::memcpy(piece.data, payload + from, piece.bytes);
    link->out.advance(piece.bytes);
    from += piece.bytes;
  }
  link->out.advance(record - wire::kHeaderBytes - header.payload_bytes);
  LAPWING_DELAY_POINT("shm.publish");
  link->out.publish();
  LAPWING_DELAY_POINT("shm.published");
  announce(*link);
  return true;
}

// Writes queued frames while there is room. on_sent may post again, which only queues: this loop takes it up.
void ShmTransport::push(Link& link) noexcept {
  if (link.pushing) return;
  link.pushing = true;
  std::uint64_t budget = kBytesPerPush;
  while (!link.queue.empty() && budget != 0) {
    SendOp& op = link.queue.front();
    const std::uint64_t written = write_piece(link, op);
    if (written == 0) break;
    budget -= std::min(budget, written);
    if (op.transport_progress == shm::Layout::record_bytes(op.header.payload_bytes)) {
      op.unlink();
      op.on_sent(op, Status());
    }
  }
  link.pushing = false;
  if (link.out.broken()) failure_ = true;
  if (link.queue.empty()) {
    stop_waiting(link);
  } else {
    start_waiting(link);
  }
}

bool ShmTransport::push_waiting() noexcept {
  bool moved = false;
  for (std::size_t i = waiting_.size(); i-- > 0;) {  // backwards: push() may take the last element's place
    Link& link = *waiting_[i];
    if (link.out.room(shm::kRecordAlignment) == 0) {
      failure_ |= link.out.broken();
      continue;
    }
    push(link);
    moved = true;
  }
  return moved;
}

// One piece of the first frame; how many bytes of the ring it took, 0 when there is no room.
std::uint64_t ShmTransport::write_piece(Link& link, SendOp& op) noexcept {
  const std::uint64_t missing = std::min(shm::Layout::record_bytes(op.header.payload_bytes) - op.transport_progress, kPieceBytes);
  const std::uint64_t piece = std::min(link.out.room(missing), missing);
  if (piece == 0 || link.out.broken()) return 0;
  std::uint64_t left = piece;
  if (op.transport_progress == 0) {
    wire::encode(op.header, link.out.next(wire::kHeaderBytes).data);  // never wraps: see ring.h
    link.out.advance(wire::kHeaderBytes);
    left -= wire::kHeaderBytes;
    op.transport_progress = wire::kHeaderBytes;
  }
  if (left != 0) {
    const std::uint64_t from = op.transport_progress - wire::kHeaderBytes;
    write_payload(link, op, from, std::min(left, op.header.payload_bytes - from));
    // The padding of the last piece needs no bytes written.
    link.out.advance(left - std::min(left, op.header.payload_bytes - from));
    op.transport_progress += left;
  }
  LAPWING_DELAY_POINT("shm.publish");
  link.out.publish();
  LAPWING_DELAY_POINT("shm.published");
  announce(link);
  return piece;
}

void ShmTransport::write_payload(Link& link, SendOp& op, std::uint64_t from, std::uint64_t bytes) noexcept {
  while (bytes != 0) {
    const shm::Piece piece = link.out.next(bytes);
    if (op.walk != nullptr) {
      op.walk->gather(piece.data, piece.bytes);
    } else {
      std::memcpy(piece.data, op.data + from, piece.bytes);
    }
    link.out.advance(piece.bytes);
    from += piece.bytes;
    bytes -= piece.bytes;
  }
}

// After publish(): makes sure that the receiver looks at this ring, and wakes it if it sleeps.
void ShmTransport::announce(Link& link) noexcept {
  full_fence();  // tail before pending bit and sleeping; pairs with the fences in cool_down() and arm()
  LAPWING_DELAY_POINT("shm.announce");
  if ((load_relaxed(*link.pending) & link.pending_bit) == 0) {
    link.pending->fetch_or(link.pending_bit, std::memory_order_relaxed);
    full_fence();  // pending bit before sleeping; pairs with the fence in arm()
  }
  LAPWING_DELAY_POINT("shm.announced");
  ring_if_sleeping(link);
}

void ShmTransport::start_waiting(Link& link) noexcept {
  if (!link.waiting) {
    link.waiting = true;
    waiting_.push_back(&link);
    engine_.hold();
  }
  if (!armed_) return;
  // Nobody may call arm() before the driver sleeps (or it sleeps already): do here what arm() would do.
  link.out.want_space(true);
  full_fence();  // pairs with the fence in give_back()
  LAPWING_DELAY_POINT("shm.wait_for_space");
  if (link.out.room(shm::kRecordAlignment) != 0 || link.out.broken()) ring_myself();
}

void ShmTransport::stop_waiting(Link& link) noexcept {
  if (!link.waiting) return;
  link.waiting = false;
  link.out.want_space(false);
  *std::find(waiting_.begin(), waiting_.end(), &link) = waiting_.back();
  waiting_.pop_back();
  engine_.unhold();
}

}  // namespace lapwing::net
