#include "net/tcp/outbox.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace lapwing::net::tcp {
namespace {

constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
constexpr std::byte kTrailer[wire::kTrailerBytes] = {};

}  // namespace

// What one sendmsg takes.
struct Outbox::Batch {
  static constexpr std::size_t kMaxSegments = 64;
  static constexpr std::size_t kMaxFrames = 16;  // or runs of copies

  iovec segments[kMaxSegments];
  std::size_t segment_count = 0;
  std::uint64_t bytes = 0;
  bool closed = false;  // nothing may follow: the last frame is not complete in this batch, or is in a packet of its own
  int flags = kFlags;
  const ByteWalk* walk = nullptr;  // of the last frame that has one

  // What follows is in another packet.
  void end_packet() noexcept {
    closed = true;
    flags |= MSG_EOR;
  }
  void add(const void* base, std::size_t length) {
    segments[segment_count++] = {const_cast<void*>(base), length};
    bytes += length;
  }
  // A single segment has the cheaper system call.
  ssize_t send(int fd) noexcept {
    if (segment_count == 1) return ::send(fd, segments[0].iov_base, segments[0].iov_len, flags);
    msghdr message{};
    message.msg_iov = segments;
    message.msg_iovlen = segment_count;
    return ::sendmsg(fd, &message, flags);
  }
};

Outbox::Result Outbox::flush(int fd, engine::SystemCalls& calls) noexcept {
  if (error_ != 0) return Result::kBroken;
  if (records_ != nullptr) return flush_records(fd, calls);
  while (!queue_.all_sent()) {
    Batch batch;
    gather(batch);
    const ssize_t sent = batch.send(fd);
    ++calls.sends;
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return not_taken();
    consume(static_cast<std::uint64_t>(sent));
    if (static_cast<std::uint64_t>(sent) < batch.bytes) return Result::kBlocked;
  }
  return Result::kDrained;
}

// What is in a record counts as unsent until the record has left whole.
Outbox::Result Outbox::flush_records(int fd, engine::SystemCalls& calls) noexcept {
  while (!queue_.all_sent()) {
    if (records_->waiting().empty()) {
      Batch batch;
      gather(batch);
      records_->write({batch.segments, batch.segment_count});
    }
    const std::span<const std::byte> waiting = records_->waiting();
    const ssize_t sent = ::send(fd, waiting.data(), waiting.size(), kFlags);
    ++calls.sends;
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return not_taken();
    consume(records_->left(static_cast<std::size_t>(sent)));
    if (static_cast<std::size_t>(sent) < waiting.size()) return Result::kBlocked;
  }
  return Result::kDrained;
}

// The system call has failed.
Outbox::Result Outbox::not_taken() noexcept {
  if (errno == EAGAIN || errno == EWOULDBLOCK) return Result::kBlocked;
  error_ = errno;
  return Result::kBroken;
}

void Outbox::gather(Batch& batch) noexcept {
  const std::size_t count = std::min(queue_.unsent(), Batch::kMaxFrames);
  for (std::size_t i = 0; i < count; ++i) {
    SendQueue::Entry& entry = queue_.unsent(i);
    if (batch.closed || batch.segment_count + 2 > Batch::kMaxSegments) return;
    if (entry.copied) {
      batch.add(queue_.copies_of(entry) + entry.sent, entry.bytes - entry.sent);
      continue;
    }
    if (entry.trailer_is_next()) {
      batch.add(kTrailer, entry.bytes - entry.sent);
      return batch.end_packet();
    }
    if (entry.walk != nullptr) {
      // A second frame of the same walk begins where the first has ended; and there is one staging buffer.
      if (std::exchange(batch.walk, entry.walk) == entry.walk || (i > 0 && entry.walk->prefers_copy())) return;
    }
    if (entry.sent < wire::kHeaderBytes) {
      const auto* header = reinterpret_cast<const std::byte*>(entry.header.words);
      batch.add(header + entry.sent, wire::kHeaderBytes - entry.sent);
    }
    add_payload(entry, batch);
    if (entry.trailer_bytes() != 0) batch.end_packet();
  }
}

void Outbox::add_payload(SendQueue::Entry& entry, Batch& batch) noexcept {
  const std::uint64_t done = entry.sent - std::min<std::uint64_t>(entry.sent, wire::kHeaderBytes);
  const std::uint64_t rest = entry.payload_bytes() - done;
  if (rest == 0) return;
  if (entry.walk == nullptr) return batch.add(entry.data + done, rest);
  if (done == 0 && !staged_ && entry.walk->position() != entry.walk_begin) entry.walk->seek(entry.walk_begin);
  if (entry.walk->prefers_copy()) return add_staged(entry, rest, batch);
  add_walk(entry, rest, batch);
}

void Outbox::add_walk(SendQueue::Entry& entry, std::uint64_t rest, Batch& batch) noexcept {
  const std::size_t first = batch.segment_count;
  batch.segment_count += entry.walk->peek(&batch.segments[first], Batch::kMaxSegments - first);
  for (std::size_t i = first; i < batch.segment_count; ++i) {
    iovec& segment = batch.segments[i];
    if (segment.iov_len >= rest) {
      segment.iov_len = rest;
      batch.segment_count = i + 1;
    }
    batch.bytes += segment.iov_len;
    rest -= segment.iov_len;
  }
  batch.closed = rest > 0;
}

void Outbox::add_staged(SendQueue::Entry& entry, std::uint64_t rest, Batch& batch) noexcept {
  if (!staged_) {
    if (!staging_) staging_ = std::make_unique_for_overwrite<std::byte[]>(kStagingBytes);
    staged_ = true;
    staged_begin_ = 0;
    staged_end_ = static_cast<std::size_t>(std::min<std::uint64_t>(rest, kStagingBytes));
    entry.walk->gather(staging_.get(), staged_end_);
  }
  batch.add(&staging_[staged_begin_], staged_end_ - staged_begin_);
  batch.closed = true;
}

// Accounts for `bytes` that left.
void Outbox::consume(std::uint64_t bytes) noexcept {
  while (bytes > 0) {
    SendQueue::Entry& entry = queue_.unsent(0);
    const std::uint64_t taken = std::min(bytes, entry.bytes - entry.sent);
    if (!entry.copied && !entry.trailer_is_next()) {
      const std::uint64_t header = wire::kHeaderBytes - std::min<std::uint64_t>(entry.sent, wire::kHeaderBytes);
      if (taken > header) consume_payload(entry, taken - header);
    }
    bytes -= taken;
    queue_.sent(taken);
  }
}

void Outbox::consume_payload(SendQueue::Entry& entry, std::uint64_t bytes) noexcept {
  if (staged_) {
    staged_begin_ += static_cast<std::size_t>(bytes);
    staged_ = staged_begin_ != staged_end_;
  } else if (entry.walk != nullptr) {
    entry.walk->advance(bytes);
  }
}

}  // namespace lapwing::net::tcp
