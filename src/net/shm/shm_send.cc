// ShmTransport, the sending half: from SendOps into rings.

#include <algorithm>
#include <utility>

#include "base/bulk_copy.h"
#include "base/delay_point.h"
#include "base/memory_order.h"
#include "base/ring_copy.h"
#include "base/tuning.h"
#include "net/shm/shm_transport.h"
#include "wire/inline_frame.h"

namespace lapwing::net {

static_assert(wire::kHeaderBytes == shm::kRecordAlignment);

// How much of a long frame is published at a time. The reader copies a piece out while the writer copies the next one in; nothing hides its copy
// of the last. Where it has other frames to copy, less than the most gains nothing.
std::uint64_t ShmTransport::piece_of(std::uint64_t payload, bool wide) const noexcept {
  const std::uint64_t of_string = tuning().shm_least_string_piece;
  const std::uint64_t least = copy_in_.by_string(of_string) ? of_string : tuning().shm_least_piece;
  const std::uint64_t share = std::max(payload / tuning().shm_pieces, least);
  return shm::Layout::round_up(wide ? tuning().shm_piece : std::min(share, tuning().shm_piece), shm::kRecordAlignment);
}

// A queue waits for room, and goes first.
bool ShmTransport::post(PeerId peer, SendOp& op) noexcept {
  Link* link = link_to(peer);
  if (link == nullptr || link->gone || !open_) {
    refusals_.add(op, link != nullptr && link->gone
                          ? link->why.copy()
                          : Status::error(MPI_ERR_OTHER, "%s is not on this host, or shared memory is closed",
                                          config_.processes->describe(peer).c_str()));
    return false;
  }
  link->acquainted = true;
  op.transport_progress = 0;
  const bool waits = !link->queue.empty();
  link->queue.push_back(op);
  if (waits) return false;
  link->written = 0;
  IntrusiveList<SendOp> taken;
  write_queue(*link, taken);
  if (taken.empty()) return false;
  op.unlink();
  return true;
}

bool ShmTransport::send_now(PeerId peer, wire::FrameHeader& header, const std::byte* payload,
                            Delivery delivery) noexcept {
  Link* link = link_to(peer);
  if (link == nullptr || link->gone || !open_ || !link->queue.empty()) return false;
  if (!wire::fits_inline(header)) return send_record_now(*link, header, payload, delivery);
  if (link->out.room_to_begin(wire::kHeaderBytes) < wire::kHeaderBytes) return false;
  link->acquainted = true;
  wire::encode_inline(header, payload, link->out.begin(wire::kHeaderBytes));
  link->out.wipe_next();
  LAPWING_DELAY_POINT("shm.publish");
  link->out.publish_head();
  LAPWING_DELAY_POINT("shm.published");
  announce(*link, delivery);
  return true;
}

// What `copying` takes for so many bytes is told to the reader, where it is to be known.
template <typename Copying>
void ShmTransport::weigh(shm::RingWriter& out, std::uint64_t payload, std::uint64_t bytes, Copying copying) noexcept {
  if (!weighs(payload)) return copying();
  const std::int64_t began = engine_.clock().now();
  copying();
  out.copied(payload, bytes, engine_.clock().now() - began);
}

// A frame whose payload goes into a cell; fill(to, from, bytes) puts so many bytes of it there, from the byte `from` on, one run after the other.
// There is a cell, and room for the line.
template <typename Fill>
void ShmTransport::write_in_cell(Link& link, const wire::FrameHeader& header, Fill fill) noexcept {
  const std::uint64_t payload = header.payload_bytes(), head = head_in_cell(payload);
  const unsigned cell = cells_.take(payload);
  std::byte* const to = cells_.memory(cell);
  fill(to, 0, head);
  std::byte* line = link.out.begin(wire::kHeaderBytes, shm::kInCell);
  link.out.wipe_next();
  wire::store_around_stamp(header, line, static_cast<std::uint16_t>(cell));
  LAPWING_DELAY_POINT("shm.publish");
  link.out.publish_head();
  LAPWING_DELAY_POINT("shm.published");
  if (head == payload) return;
  show(link);
  for (std::uint64_t from = head, piece = piece_of(payload, false); from < payload; from += piece) {
    const std::uint64_t bytes = std::min(payload - from, piece);
    fill(to + from, from, bytes);
    LAPWING_DELAY_POINT("shm.publish");
    link.out.publish_in_cell(bytes);
  }
}

void ShmTransport::copy_into_cell(Link& link, const wire::FrameHeader& header, const std::byte* payload) noexcept {
  weigh(link.out, header.payload_bytes(), header.payload_bytes(), [&] {
    write_in_cell(link, header, [&](std::byte* to, std::uint64_t from, std::uint64_t bytes) { copy_in_(engine_.clock(), to, payload + from, bytes); });
  });
}

// A frame of more than one line.
bool ShmTransport::send_record_now(Link& link, const wire::FrameHeader& header, const std::byte* payload,
                                   Delivery delivery) noexcept {
  const std::uint64_t record = shm::Layout::record_bytes(header.payload_bytes());
  if (pulls_.asked_of(link.local, header.payload_bytes())) return false;
  if (goes_in_cell(link, header.payload_bytes()) && link.out.room_to_begin(wire::kHeaderBytes) >= wire::kHeaderBytes) {
    link.acquainted = true;
    copy_into_cell(link, header, payload);
    announce(link, delivery);
    return true;
  }
  if (link.out.room_to_begin(record, header.payload_bytes()) < record) return false;
  link.acquainted = true;
  const std::uint64_t flags = flags_for(link, header.payload_bytes());
  const std::uint64_t head = head_of(record, (flags & shm::kWideHead) != 0);
  std::byte* line = link.out.begin(record, flags);
  const std::uint64_t first = std::min(header.payload_bytes(), head - wire::kHeaderBytes);
  copy_in(link.out, payload, first, header.payload_bytes(), (flags & shm::kStreamed) != 0);
  link.out.wipe_next();
  wire::store_around_stamp(header, line);
  LAPWING_DELAY_POINT("shm.publish");
  link.out.publish_head();
  LAPWING_DELAY_POINT("shm.published");
  if (head != record) send_rest_now(link, header, payload, flags);
  announce(link, delivery);
  return true;
}

void ShmTransport::copy(shm::RingWriter& out, std::uint64_t payload, std::byte* to, const std::byte* from, std::uint64_t bytes, bool streams) noexcept {
  weigh(out, payload, bytes, [&] { copy_by_trials(out.trials(), payload, to, from, bytes, streams); });
}

void ShmTransport::copy_by_trials(RingTrials& trials, std::uint64_t payload, std::byte* to, const std::byte* from, std::uint64_t bytes, bool streams) noexcept {
  if (streams) {
    streaming_copy(to, from, bytes);
    return trials.count_streamed(bytes);
  }
  copy_into_ring(trials, payload, copy_in_, engine_.clock(), to, from, bytes);
}

// Bytes of a payload, and the padding behind them.
void ShmTransport::copy_in(shm::RingWriter& out, const std::byte* from, std::uint64_t bytes, std::uint64_t payload, bool streams) noexcept {
  const std::uint64_t padding = shm::Layout::round_up(bytes, shm::kRecordAlignment) - bytes;
  while (bytes != 0) {
    const shm::Piece piece = out.next(bytes);
    copy(out, payload, piece.data, from, piece.bytes, streams);
    out.advance(piece.bytes);
    from += piece.bytes;
    bytes -= piece.bytes;
  }
  out.advance(padding);
}

// The receiver measures the ring as this rank fills it; so not before it is known how that is done best.
bool ShmTransport::streams(Link& link, std::uint64_t payload) noexcept {
  return link.streaming.chosen_for(payload) && link.out.trials().knows_claims();
}

// How the reader is to take what is copied in, and what it is to think of the time.
std::uint64_t ShmTransport::copy_flags(const Link& link, std::uint64_t payload, bool streams) noexcept {
  const std::uint64_t of_trial = link.out.trial_flags(payload);
  return streams ? shm::kStreamed | (of_trial & shm::kClaimed) : of_trial;
}

// A peer that has sent nothing since the last long frame is likely to have that one still to copy.
std::uint64_t ShmTransport::flags_for(Link& link, std::uint64_t payload) noexcept {
  const std::uint64_t flags = copy_flags(link, payload, streams(link, payload));
  if (is_small(shm::Layout::record_bytes(payload))) return flags;
  return flags | (link.out.answered() ? 0 : shm::kWideHead);
}

// What follows the head of a long record, for which there is room.
void ShmTransport::send_rest_now(Link& link, const wire::FrameHeader& header, const std::byte* payload,
                                 std::uint64_t flags) noexcept {
  show(link);
  const bool wide = (flags & shm::kWideHead) != 0, streams = (flags & shm::kStreamed) != 0;
  const std::uint64_t bytes = header.payload_bytes(), piece = piece_of(bytes, wide);
  for (std::uint64_t from = (wide ? wide_head_ : long_head_) - wire::kHeaderBytes; from < bytes; from += piece) {
    copy_in(link.out, payload + from, std::min(bytes - from, piece), bytes, streams);
    link.out.publish();
  }
}

void ShmTransport::push(Link& link) noexcept {
  IntrusiveList<SendOp> taken;
  write_queue(link, taken);
  while (!taken.empty()) {
    SendOp& op = taken.pop_front();
    op.on_taken(op, Status());  // may post again
  }
}

// Writes queued frames while there is room.
void ShmTransport::write_queue(Link& link, IntrusiveList<SendOp>& taken) noexcept {
  const std::uint64_t most = tuning().shm_most_per_push;
  std::uint64_t budget = most;
  Delivery delivery = Delivery::kWhenAsked;
  while (!link.queue.empty() && budget != 0) {
    SendOp& op = link.queue.front();
    const std::uint64_t written = write_piece(link, op);
    if (written == 0) break;
    delivery = std::max(delivery, op.delivery);
    // A receiver that is awake takes the first piece while we copy the next. Only the end of all is announced with a fence: one after each
    // piece would wait each time until the lines of that piece have come over from the receiver, and notify a sleeping one more than once.
    if (budget == most) show(link);
    budget -= std::min(budget, written);
    if (op.transport_progress == shm::Layout::record_bytes(op.header.payload_bytes())) {
      op.unlink();
      taken.push_back(op);
    }
  }
  // A frame that has no room waits for the receiver, which must not let lie what is there.
  if (!link.queue.empty()) delivery = Delivery::kUrgent;
  if (budget != most || !link.queue.empty()) announce(link, delivery);
  if (most - budget >= tuning().shm_long_move) engine_.took_long();
  if (link.out.broken()) failure_ = true;
  if (link.queue.empty()) {
    stop_waiting(link);
  } else {
    start_waiting(link);
  }
}

// Whether there is room for the next piece of the first frame.
bool ShmTransport::can_push(Link& link) noexcept {
  const SendOp& op = link.queue.front();
  const std::uint64_t record = shm::Layout::record_bytes(op.header.payload_bytes());
  const std::uint64_t needed = op.transport_progress == 0 ? head_of(record, false) : shm::kRecordAlignment;
  return link.out.room(needed) >= needed;
}

bool ShmTransport::push_waiting() noexcept {
  bool moved = false;
  for (std::size_t i = waiting_.size(); i-- > 0;) {  // backwards: push() may take the last element's place
    Link& link = *waiting_[i];
    if (!can_push(link)) {
      failure_ |= link.out.broken();
      continue;
    }
    push(link);
    moved = true;
  }
  return moved;
}

// One piece of the first frame; how many bytes it has, 0 when there is no room.
std::uint64_t ShmTransport::write_piece(Link& link, SendOp& op) noexcept {
  const std::uint64_t record = shm::Layout::record_bytes(op.header.payload_bytes());
  const bool at_head = op.transport_progress == 0;
  if (at_head && goes_in_cell(link, op.header.payload_bytes())) return write_whole_in_cell(link, op);
  const std::uint64_t most = link.written < tuning().shm_long_stream
                                 ? piece_of(op.header.payload_bytes(), false)
                                 : shm::Layout::round_up(tuning().shm_long_stream_piece, shm::kRecordAlignment);
  const std::uint64_t wanted = at_head ? head_of(record, false) : std::min(record - op.transport_progress, most);
  const std::uint64_t room = at_head ? link.out.room_to_begin(wanted, op.header.payload_bytes()) : link.out.room(wanted);
  const std::uint64_t piece = std::min(room, wanted);
  if (piece == 0 || (at_head && piece < wanted) || link.out.broken()) return 0;
  link.written += piece;
  std::uint64_t left = piece;
  const bool streams = op.walk == nullptr && ShmTransport::streams(link, op.header.payload_bytes());
  std::byte* line = nullptr;
  if (at_head) {
    line = link.out.begin(record, copy_flags(link, op.header.payload_bytes(), streams));
    left -= wire::kHeaderBytes;
    op.transport_progress = wire::kHeaderBytes;
  }
  if (left != 0) {
    const std::uint64_t from = op.transport_progress - wire::kHeaderBytes;
    write_payload(link, op, from, std::min(left, op.header.payload_bytes() - from), streams);
    // The padding of the last piece needs no bytes written.
    link.out.advance(left - std::min(left, op.header.payload_bytes() - from));
    op.transport_progress += left;
  }
  if (at_head) {
    link.out.wipe_next();
    wire::store_around_stamp(op.header, line);
  }
  LAPWING_DELAY_POINT("shm.publish");
  if (at_head)
    link.out.publish_head();
  else
    link.out.publish();
  LAPWING_DELAY_POINT("shm.published");
  return piece;
}

// The same, of a frame that goes into a cell.
std::uint64_t ShmTransport::write_whole_in_cell(Link& link, SendOp& op) noexcept {
  if (link.out.room_to_begin(wire::kHeaderBytes) < wire::kHeaderBytes) return 0;
  if (op.walk != nullptr)
    write_in_cell(link, op.header, [&](std::byte* to, std::uint64_t, std::uint64_t bytes) { op.walk->gather(to, bytes); });
  else
    copy_into_cell(link, op.header, op.data);
  op.transport_progress = shm::Layout::record_bytes(op.header.payload_bytes());
  link.written += op.transport_progress;
  return op.transport_progress;
}

void ShmTransport::write_payload(Link& link, SendOp& op, std::uint64_t from, std::uint64_t bytes,
                                 bool streams) noexcept {
  while (bytes != 0) {
    const shm::Piece piece = link.out.next(bytes);
    if (op.walk != nullptr) {
      op.walk->gather(piece.data, piece.bytes);
    } else {
      copy(link.out, op.header.payload_bytes(), piece.data, op.data + from, piece.bytes, streams);
    }
    link.out.advance(piece.bytes);
    from += piece.bytes;
    bytes -= piece.bytes;
  }
}

// Has the receiver, should it be awake, look at this ring; true when it did not do so before.
bool ShmTransport::show(Link& link) noexcept {
  if ((load_relaxed(*link.pending) & link.pending_bit) != 0) return false;
  link.pending->fetch_or(link.pending_bit, std::memory_order_relaxed);
  return true;
}

// After publish(): makes sure that the receiver looks at this ring, and wakes it if it sleeps.
void ShmTransport::announce(Link& link, Delivery delivery) noexcept {
  link.unanswered = false;
  full_fence();  // tail or stamp before pending bit and sleeping; pairs with the fences in cool_down() and arm()
  LAPWING_DELAY_POINT("shm.announce");
  if (show(link)) full_fence();  // pending bit before sleeping; pairs with the fence in arm()
  LAPWING_DELAY_POINT("shm.announced");
  notify_if_sleeping(link, delivery);
}

void ShmTransport::start_waiting(Link& link) noexcept {
  if (!link.waiting) {
    link.waiting = true;
    waiting_.push_back(&link);
    engine_.hold();
  }
  if (!armed_) return;
  // The driver may sleep before anything calls arm() (or it sleeps already): do here what arm() would do.
  link.out.want_space(true);
  full_fence();  // pairs with the fence in give_back()
  LAPWING_DELAY_POINT("shm.wait_for_space");
  if (can_push(link) || link.out.broken()) write_doorbell(my_local_);
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
