// ShmTransport, the receiving half: from rings to the sink.

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <utility>

#include "base/delay_point.h"
#include "base/memory_order.h"
#include "base/tuning.h"
#include "net/shm/shm_transport.h"
#include "wire/inline_frame.h"

namespace lapwing::net {

// Adds to the hot rings those whose pending bit is new.
bool ShmTransport::collect_senders() noexcept {
  bool found = false;
  const std::size_t words = looked_at_.size();
  for (std::size_t word = 0; word < words; ++word) {
    std::uint64_t fresh = load_relaxed(pending_here_[word]) & ~looked_at_[word];
    for (; fresh != 0; fresh &= fresh - 1) {
      const std::size_t local = word * 64 + static_cast<std::size_t>(__builtin_ctzll(fresh));
      if (local >= local_ranks_.size()) break;
      looked_at_[word] |= fresh & -fresh;
      links_[local].idle_looks = 0;
      hot_.push_back(&links_[local]);
      found = true;
    }
  }
  return found;
}

bool ShmTransport::unseen_senders() noexcept {
  for (std::size_t word = 0; word < looked_at_.size(); ++word) {
    std::uint64_t fresh = load_relaxed(pending_here_[word]) & ~looked_at_[word];
    const std::size_t ranks_here = std::min<std::size_t>(64, local_ranks_.size() - word * 64);
    if (ranks_here < 64) fresh &= (std::uint64_t{1} << ranks_here) - 1;
    if (fresh != 0) return true;
  }
  return false;
}

bool ShmTransport::receive_hot() noexcept {
  bool moved = false;
  for (std::size_t i = 0; i < hot_.size();) {
    Link& link = *hot_[i];
    if (!link.gone && (has_input(link) || link.in.broken()) && receive(link)) {
      link.idle_looks = 0;
      moved = true;
    } else if (link.gone || (++link.idle_looks >= tuning().shm_idle_looks && cool_down(link))) {
      hot_[i] = hot_.back();
      hot_.pop_back();
      continue;
    }
    ++i;
  }
  return moved;
}

// True when the ring may leave the hot ones. A peer that is gone keeps its bit in looked_at_ and is never looked at again.
bool ShmTransport::cool_down(Link& link) noexcept {
  std::atomic<std::uint64_t>& pending = segment_.pending(my_local_)[link.local / 64];
  const std::uint64_t bit = std::uint64_t{1} << (link.local % 64);
  pending.fetch_and(~bit, std::memory_order_relaxed);
  full_fence();  // bit before tail; pairs with the fence in announce()
  LAPWING_DELAY_POINT("shm.cool_down");
  link.idle_looks = 0;
  if (has_input(link) || link.in.broken()) {
    pending.fetch_or(bit, std::memory_order_relaxed);
    return false;
  }
  looked_at_[link.local / 64] &= ~bit;
  return true;
}

bool ShmTransport::receive(Link& link) noexcept {
  bool moved = false;
  const std::uint64_t most = tuning().shm_most_per_look;
  std::uint64_t budget = most;
  while (budget != 0 && !link.gone) {
    if (!has_input(link)) break;
    LAPWING_DELAY_POINT("shm.pop");
    moved = true;
    link.out.answer();
    const std::uint64_t taken = !link.assembly.under_way() ? take_header(link)
                                : link.in_cell             ? take_from_cell(link)
                                                           : take_payload(link, std::min(link.in.available(), budget));
    budget -= std::min(budget, taken);
    // What follows would go to a buffer of ours, and be copied again, where the driver may be about to post a receive for it.
    if (!link.assembly.under_way() && engine_.driver_is_served()) break;
  }
  if (most - budget >= tuning().shm_long_move) engine_.took_long();
  if (link.in.broken() && !link.gone) {
    lose(link,
         Status::error(MPI_ERR_OTHER,
                       "rank %u broke the shared-memory queue from it (its write position is impossible); it, or this "
                       "process, has overwritten foreign memory",
                       rank_of(link.peer)));
    moved = true;
  }
  return moved;
}

// A header, or a whole small frame; how many bytes of the ring that was.
std::uint64_t ShmTransport::take_header(Link& link) noexcept {
  const std::byte* line = link.in.next(wire::kHeaderBytes).data;
  if (wire::is_inline(line)) return take_inline(link, line);
  wire::load_around_stamp(line, link.header);  // a copy: the peer could change the original between check and use
  const std::uint64_t flags = link.in.record_flags();
  if ((flags & shm::kInCell) != 0) link.cell = wire::take_place(link.header);
  if (!wire::is_sound(link.header)) [[unlikely]]
    return take_channel_frame(link);
  link.acquainted = true;
  if ((flags & shm::kInCell) != 0) return take_header_of_cell(link);
  const std::uint64_t record = shm::Layout::record_bytes(link.header.payload_bytes());
  if (!std::exchange(link.unanswered, true)) link.in.ask_for(record);
  link.timed = link.streaming.times(link.header.payload_bytes(), (flags & shm::kStreamed) != 0);
  if (link.timed) time_frame(link);
  const std::uint64_t head = head_of(record, (flags & shm::kWideHead) != 0);
  link.claims = (flags & shm::kClaimed) != 0;
  link.on_trial = (flags & shm::kOnTrial) != 0;
  link.in.trust(head);
  if (head == record) {
    const shm::Piece payload = link.in.next(link.header.payload_bytes(), wire::kHeaderBytes);
    if (payload.bytes == link.header.payload_bytes() &&
        sinks_.of(link.header).receive_now(link.peer, link.header, payload.data)) {
      if (link.claims) link.in.claim(record);
      give_back(link, record);
      return record;
    }
  }
  give_back(link, wire::kHeaderBytes);
  begin_frame(link);
  return wire::kHeaderBytes;
}

// What no sink sees: the end of this peer's frames, or bytes that are no frame.
std::uint64_t ShmTransport::take_channel_frame(Link& link) noexcept {
  const Status status = wire::check(link.header);
  give_back(link, wire::kHeaderBytes);
  if (status.ok())
    take_goodbye(link);
  else
    lose_malformed(link, status.text());
  return wire::kHeaderBytes;
}

// A payload inside its header.
std::uint64_t ShmTransport::take_inline(Link& link, const std::byte* line) noexcept {
  if (!wire::decode_inline(line, link.header)) {
    lose_malformed(link, "one with more payload than fits into its header, or of no protocol");
    return wire::kHeaderBytes;
  }
  link.acquainted = true;
  if (!sinks_.of(link.header).receive_now(link.peer, link.header, wire::inline_payload(line))) {
    begin_frame(link);
    if (link.assembly.under_way() && !link.gone) {
      link.assembly.append(wire::inline_payload(line), link.header.payload_bytes());
      finish_frame(link);
    }
  }
  if (std::exchange(link.unanswered, true)) link.in.claim(wire::kHeaderBytes);  // ring.h
  give_back(link, wire::kHeaderBytes);
  return wire::kHeaderBytes;
}

// The payload lies in a cell, at least its head.
std::uint64_t ShmTransport::take_header_of_cell(Link& link) noexcept {
  const std::uint64_t bytes = link.header.payload_bytes(), head = head_in_cell(bytes);
  if (bytes == 0 || bytes > cells_.bytes() || !cells_.exists(link.cell)) {
    lose_malformed(link, "one in a cell, which is none, or with no payload or more than it has");
    return wire::kHeaderBytes;
  }
  if (std::exchange(link.unanswered, true)) link.in.claim(wire::kHeaderBytes);  // ring.h
  give_back(link, wire::kHeaderBytes);
  link.timed = link.on_trial = false;  // what the ring is tried for has nothing to do with this
  if (head == bytes && sinks_.of(link.header).receive_now(link.peer, link.header, cells_.memory(link.cell))) {
    keep_cell(link);
    return shm::Layout::record_bytes(bytes);
  }
  begin_frame(link);
  if (!link.assembly.under_way() || link.gone) return wire::kHeaderBytes;
  link.in_cell = true;
  return wire::kHeaderBytes + append_from_cell(link, head);
}

// What has come behind the head. Like the others, whole lines: what is left of a look may be for the ring, where pieces end with one.
std::uint64_t ShmTransport::take_from_cell(Link& link) noexcept {
  const std::uint64_t bytes = std::min(link.in.available_in_cells(), link.assembly.missing());
  link.in.advance_in_cells(bytes);
  return append_from_cell(link, bytes);
}

std::uint64_t ShmTransport::append_from_cell(Link& link, std::uint64_t bytes) noexcept {
  const bool weighed = weighs(link.header.payload_bytes());
  const std::int64_t began = weighed ? engine_.clock().now() : 0;
  link.assembly.append(cells_.memory(link.cell) + link.assembly.front(), bytes,
                       [&](std::byte* to, const std::byte* from, std::size_t some) { copy_out_(engine_.clock(), to, from, some); });
  if (weighed) link.emptying.copied(bytes, engine_.clock().now() - began);
  if (link.assembly.complete()) {
    link.in_cell = false;
    keep_cell(link);
    finish_frame(link);
  }
  return shm::Layout::round_up(bytes, shm::kRecordAlignment);
}

void ShmTransport::lose_malformed(Link& link, const char* why) noexcept {
  lose(link, Status::error(MPI_ERR_OTHER, "rank %u sent a malformed frame through shared memory: %s",
                           rank_of(link.peer), why));
}

void ShmTransport::begin_frame(Link& link) noexcept {
  const Landing landing = sinks_.of(link.header).on_header(link.peer, link.header);
  link.assembly.begin(landing, link.header.payload_bytes());
  if (landing.violation) {
    lose(link,
         Status::error(MPI_ERR_OTHER, "rank %u broke the message protocol: %s", rank_of(link.peer), landing.reason));
    return;
  }
  if (link.header.payload_bytes() == 0) finish_frame(link);
}

// At most `available` bytes of payload and padding; how many. Pieces end at multiples of a line, so the padding comes with the last.
std::uint64_t ShmTransport::take_payload(Link& link, std::uint64_t available) noexcept {
  const std::uint64_t record = shm::Layout::round_up(link.header.payload_bytes(), shm::kRecordAlignment);
  const shm::Piece piece = link.in.next(std::min(available, record - link.assembly.front()));
  std::uint64_t claimed = 0;
  const bool weighed = weighs(link.header.payload_bytes());
  const std::int64_t began = weighed ? engine_.clock().now() : 0;
  link.assembly.append(piece.data, std::min(piece.bytes, link.assembly.missing()),
                       [&](std::byte* to, const std::byte* from, std::size_t bytes) {
                         if (link.claims)
                           claimed = link.in.copy_and_claim(to, bytes);
                         else
                           copy_out_(engine_.clock(), to, from, bytes);
                       });
  if (link.claims) link.in.claim(piece.bytes, claimed);
  if (weighed) link.emptying.copied(piece.bytes, engine_.clock().now() - began);
  give_back(link, piece.bytes);
  if (link.assembly.complete()) finish_frame(link);
  return piece.bytes;
}

// A long frame begins here.
void ShmTransport::time_frame(Link& link) noexcept {
  const std::uint64_t flags = link.in.record_flags();
  const std::uint64_t head =
      head_of(shm::Layout::record_bytes(link.header.payload_bytes()), (flags & shm::kWideHead) != 0);
  const std::uint64_t present = std::max(link.in.present(), head) - wire::kHeaderBytes;
  link.streaming.begin(engine_.clock().now(), (flags & shm::kStreamed) != 0, link.header.payload_bytes(), present);
}

void ShmTransport::finish_frame(Link& link) noexcept {
  if (std::exchange(link.timed, false) && !link.on_trial)
    link.streaming.end(engine_.clock().now(), link.header.payload_bytes());
  link.assembly.end();
  sinks_.of(link.header).on_frame(link.peer, link.header);
}

void ShmTransport::give_back(Link& link, std::uint64_t bytes) noexcept {
  if (!link.in.advance(bytes)) return;
  full_fence();  // head before wants_space; pairs with the fences in arm() and start_waiting()
  LAPWING_DELAY_POINT("shm.give_back");
  if (link.in.writer_wants_space()) notify_if_sleeping(link, Delivery::kAtOnce);
}

void ShmTransport::take_goodbye(Link& link) noexcept {
  Status why = Status::error(MPI_ERR_OTHER, "rank %u has finalized MPI and takes no more messages", rank_of(link.peer));
  if (goodbye_expected_) {
    end(link, std::move(why));
  } else {
    leave_behind(link, std::move(why));
  }
}

}  // namespace lapwing::net
