#include "net/tcp/send_queue.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <utility>

#include "base/bulk_copy.h"
#include "base/tuning.h"

namespace lapwing::net::tcp {
namespace {

// An acknowledgement is asked for when so much of what can be kept has been sent. Each costs the receiver a system call.
constexpr std::uint64_t kAskedPerBound = 4;

wire::FrameHeader load_header(const std::byte* from) noexcept {
  wire::FrameHeader header;
  std::memcpy(header.words, from, sizeof header.words);
  return header;
}

}  // namespace

// ---- what waits -----------------------------------------------------------------------------------------------------

void SendQueue::number(wire::FrameHeader& header, bool copied) noexcept {
  if (keeps_) {
    const std::uint64_t bytes = wire::kHeaderBytes + header.payload_bytes();
    unasked_ += bytes;
    if (copied) unasked_copies_ += bytes;
    const bool asks = (header.flags() & wire::kFlagAcknowledge) != 0 || header.payload_bytes() >= tuning().tcp_acknowledged_at_once ||
                      kAskedPerBound * unasked_ >= tuning().tcp_most_kept ||
                      kAskedPerBound * unasked_copies_ >= copies_.capacity();
    header.set_flags(static_cast<std::uint8_t>((header.flags() & wire::kFlagTrailer) | (asks ? wire::kFlagAcknowledge : 0)));
    if (asks) {
      unasked_ = unasked_copies_ = 0;
      asked_ = channel_.next() + 1;
    }
  }
  channel_.stamp(header);
  if (!header.is(wire::Protocol::kChannel)) needed_ = std::max(needed_, channel_.next());
}

void SendQueue::ask() noexcept {
  unasked_ = tuning().tcp_most_kept;
}

void SendQueue::push(SendOp& op) noexcept {
  Entry entry;
  entry.op = &op;
  entry.header = op.header;
  entry.data = op.data;
  entry.walk = op.walk;
  if (op.walk != nullptr) entry.walk_begin = op.walk->position();
  if (op.trailer) entry.header.set_flags(wire::kFlagTrailer);
  entry.bytes = wire::kHeaderBytes + op.header.payload_bytes() + entry.trailer_bytes();
  if (channel_.state() == Channel::State::kUp) number(entry.header, false);
  entries_.push_back(std::move(entry));
}

bool SendQueue::copy(wire::FrameHeader& header, const std::byte* payload, ByteWalk* walk) noexcept {
  const auto payload_bytes = static_cast<std::size_t>(header.payload_bytes());
  const std::size_t frame = wire::kHeaderBytes + payload_bytes;
  const std::size_t place = copies_.take(frame);
  if (place == CopyRing::kNoRoom) return false;
  number(header, true);
  std::byte* to = copies_.at(place);
  wire::copy_words(header, 0, to);
  if (walk != nullptr)
    walk->gather(to + wire::kHeaderBytes, payload_bytes);
  else
    plain_copy(to + wire::kHeaderBytes, payload, payload_bytes);
  const bool follows = !entries_.empty() && entries_.back().copied && entries_.back().place + entries_.back().bytes == place;
  if (!follows) {
    Entry entry;
    entry.copied = true;
    entry.place = place;
    entries_.push_back(std::move(entry));
  } else if (all_sent()) {
    --unsent_;
  }
  entries_.back().bytes += frame;
  return true;
}

void SendQueue::push_channel(wire::ChannelWord word) noexcept {
  Entry entry;
  entry.header = wire::channel_frame(word);
  entry.bytes = wire::kHeaderBytes;
  number(entry.header, false);
  entries_.push_back(std::move(entry));
}

std::uint64_t SendQueue::unsent_bytes() noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t i = unsent_; i < entries_.size(); ++i) bytes += entries_[i].bytes - entries_[i].sent;
  return bytes;
}

void SendQueue::sent(std::uint64_t bytes) noexcept {
  Entry& entry = unsent(0);
  entry.sent += bytes;
  if (entry.sent == entry.bytes) pass();
}

// unsent(0) has left whole.
void SendQueue::pass() noexcept {
  Entry& entry = unsent(0);
  if (!keeps_) {
    if (entry.op != nullptr) taken_.push_back(*entry.op);
    entry.op = nullptr;
    return drop_front();
  }
  ++unsent_;
  if (entry.op == nullptr || entry.op->undelivered == nullptr) return;
  entry.undelivered = entry.op->undelivered;
  entry.undelivered->add();
  taken_.push_back(*std::exchange(entry.op, nullptr));
}

// ---- what is kept ---------------------------------------------------------------------------------------------------

Status SendQueue::begin(std::uint64_t peer_expects, bool keeps) {
  if (keeps_ && !keeps) return Status::error(MPI_ERR_OTHER, "it takes the place of one that resumed, and does not resume itself");
  LAPWING_TRY(channel_.up(peer_expects));
  if (!release())
    return Status::error(MPI_ERR_OTHER, "it expects frame %" PRIu64 " next, and the one before has not left", peer_expects);
  if (keeps != keeps_ || copies_.capacity() == 0) copies_.set_capacity(keeps ? tuning().tcp_kept_copies : tuning().tcp_copies);
  keeps_ = keeps;
  unsent_ = first_borrowed_ = 0;
  unasked_ = unasked_copies_ = asked_ = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) number_again(entries_[i]);
  return {};
}

void SendQueue::number_again(Entry& entry) noexcept {
  entry.sent = 0;
  if (!entry.copied) return number(entry.header, false);
  for (std::uint64_t at = 0; at < entry.bytes;) {
    wire::FrameHeader header = load_header(copies_.at(entry.place + at));
    number(header, true);
    wire::copy_words(header, 0, copies_.at(entry.place + at));
    at += wire::kHeaderBytes + header.payload_bytes();
  }
}

bool SendQueue::release() noexcept {
  for (; released_ != channel_.acknowledged(); ++released_) {
    if (entries_.empty() || !release_first()) return false;
  }
  return true;
}

bool SendQueue::release_first() noexcept {
  Entry& entry = entries_.front();
  if (!entry.copied) {
    if (entry.sent < entry.bytes) return false;
    give_back(entry);
    drop_front();
    return true;
  }
  const std::uint64_t frame = wire::kHeaderBytes + load_header(copies_.at(entry.place)).payload_bytes();
  if (entry.sent < frame) return false;
  copies_.give_back(frame);
  entry.place += frame;
  entry.bytes -= frame;
  entry.sent -= frame;
  if (entry.bytes == 0) drop_front();
  return true;
}

// Its owner's memory is not read any more.
void SendQueue::give_back(Entry& entry) noexcept {
  if (entry.op != nullptr) taken_.push_back(*std::exchange(entry.op, nullptr));
  if (entry.undelivered != nullptr) delivered_.push_back(std::exchange(entry.undelivered, nullptr));
}

void SendQueue::drop_front() noexcept {
  Entry& entry = entries_.front();
  if (entry.copied) copies_.give_back(entry.bytes);
  if (entry.copy) {
    bytes_kept_ -= entry.payload_bytes();
    memory_.give_back(std::move(entry.copy), entry.payload_bytes());
  }
  entries_.pop_front();
  if (unsent_ > 0) --unsent_;
  if (first_borrowed_ > 0) --first_borrowed_;
}

SendQueue::Entry* SendQueue::next_to_copy(Loans which) noexcept {
  while (first_borrowed_ < unsent_ && !entries_[first_borrowed_].borrowed()) ++first_borrowed_;
  std::size_t next = first_borrowed_;
  if (which == Loans::kFollowed)
    while (next < unsent_ && !entries_[next].followed()) ++next;
  return next < unsent_ ? &entries_[next] : nullptr;
}

bool SendQueue::copy_kept(Loans which) noexcept {
  Entry* entry = keeps_ ? next_to_copy(which) : nullptr;
  if (entry == nullptr) return false;
  const std::uint64_t payload = entry->payload_bytes();
  if (!entry->copy) {
    if (bytes_kept_ + payload > tuning().tcp_most_kept) return false;
    entry->copy = memory_.take(payload);
    bytes_kept_ += payload;
  }
  const std::uint64_t piece = std::min(payload - entry->bytes_copied, tuning().tcp_copy_piece);
  std::byte* to = &entry->copy[entry->bytes_copied];
  if (entry->walk != nullptr) {
    const std::uint64_t position = entry->walk->position();  // a later frame may be on its way from there
    entry->walk->seek(entry->walk_begin + entry->bytes_copied);
    entry->walk->gather(to, piece);
    entry->walk->seek(position);
  } else {
    plain_copy(to, entry->data + entry->bytes_copied, piece);  // a frame without payload has no data
  }
  entry->bytes_copied += piece;
  if (entry->bytes_copied < payload) return true;
  entry->data = entry->copy.get();
  entry->walk = nullptr;
  give_back(*entry);
  return true;
}

void SendQueue::copy_short(std::uint64_t payload_bytes) noexcept {
  for (;;) {
    const Entry* entry = keeps_ ? next_to_copy(Loans::kAll) : nullptr;
    if (entry == nullptr || entry->payload_bytes() > payload_bytes || !copy_kept(Loans::kAll)) return;
  }
}

// ---- the owners -----------------------------------------------------------------------------------------------------

void SendQueue::tell() noexcept {
  while (!taken_.empty()) {
    SendOp& op = taken_.pop_front();
    op.on_taken(op, Status());
  }
  if (delivered_.empty()) return;
  for (Undelivered* frames : std::exchange(delivered_, {})) frames->remove(Status());
}

bool SendQueue::has_taken(SendOp& op) noexcept {
  if (!op.linked()) return false;
  op.unlink();
  return true;
}

void SendQueue::fail(const Status& why) noexcept {
  tell();
  Fifo<Entry> entries = std::exchange(entries_, {});
  unsent_ = first_borrowed_ = 0;
  bytes_kept_ = needed_ = 0;
  for (; !entries.empty(); entries.pop_front()) {
    Entry& entry = entries.front();
    if (entry.op != nullptr) entry.op->on_taken(*entry.op, why);
    if (entry.undelivered != nullptr) entry.undelivered->remove(why);
  }
}

}  // namespace lapwing::net::tcp
