#include "net/tcp/outbox.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace lapwing::net::tcp {

// What one sendmsg takes.
struct Outbox::Batch {
  static constexpr std::size_t kMaxSegments = 64;
  static constexpr std::size_t kMaxFrames = 16;

  iovec segments[kMaxSegments];
  std::size_t segment_count = 0;
  std::size_t frame_count = 0;
  std::uint64_t bytes = 0;
  bool closed = false;  // nothing may follow: the last frame is not complete in this batch

  void add(const void* base, std::size_t length) {
    segments[segment_count++] = {const_cast<void*>(base), length};
    bytes += length;
  }
  // A single segment has the cheaper system call.
  ssize_t send(int fd) noexcept {
    constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
    if (segment_count == 1) return ::send(fd, segments[0].iov_base, segments[0].iov_len, kFlags);
    msghdr message{};
    message.msg_iov = segments;
    message.msg_iovlen = segment_count;
    return ::sendmsg(fd, &message, kFlags);
  }
};

void Outbox::push(SendOp& op) noexcept {
  if (channel_.state() == Channel::State::kUp) channel_.stamp(op.header);
  op.transport_progress = 0;
  queue_.push_back(op);
}

void Outbox::number_waiting() noexcept {
  for (SendOp& op : queue_) channel_.stamp(op.header);
}

bool Outbox::copy(wire::FrameHeader& header, const std::byte* payload, ByteWalk* walk) noexcept {
  const std::size_t frame = wire::kHeaderBytes + static_cast<std::size_t>(header.payload_bytes());
  if (!queue_.empty() || kCopiesBytes - copies_end_ < frame) return false;
  if (!copies_) copies_ = std::make_unique_for_overwrite<std::byte[]>(kCopiesBytes);
  channel_.stamp(header);
  wire::copy_words(header, 0, &copies_[copies_end_]);
  std::byte* to = &copies_[copies_end_ + wire::kHeaderBytes];
  const auto bytes = static_cast<std::size_t>(header.payload_bytes());
  if (walk != nullptr)
    walk->gather(to, bytes);
  else if (bytes != 0)
    std::memcpy(to, payload, bytes);
  copies_end_ += frame;
  return true;
}

Outbox::Result Outbox::flush(int fd, engine::SystemCalls& calls) noexcept {
  if (error_ != 0) return Result::kBroken;
  while (!empty()) {
    Batch batch;
    gather(batch);
    const ssize_t sent = batch.send(fd);
    ++calls.sends;
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      const bool full = errno == EAGAIN || errno == EWOULDBLOCK;
      if (!full) error_ = errno;
      return full ? Result::kBlocked : Result::kBroken;
    }
    consume(static_cast<std::uint64_t>(sent));
    if (static_cast<std::uint64_t>(sent) < batch.bytes) return Result::kBlocked;
  }
  return Result::kDrained;
}

void Outbox::gather(Batch& batch) noexcept {
  if (copies_begin_ != copies_end_) batch.add(&copies_[copies_begin_], copies_end_ - copies_begin_);
  for (SendOp& op : queue_) {
    if (batch.closed || batch.frame_count == Batch::kMaxFrames || batch.segment_count + 2 > Batch::kMaxSegments) return;
    ++batch.frame_count;
    if (op.transport_progress < wire::kHeaderBytes) {
      const auto* header = reinterpret_cast<const std::byte*>(op.header.words);
      batch.add(header + op.transport_progress, wire::kHeaderBytes - op.transport_progress);
    }
    add_payload(op, batch);
  }
}

void Outbox::add_payload(SendOp& op, Batch& batch) noexcept {
  const std::uint64_t done = op.transport_progress - std::min<std::uint64_t>(op.transport_progress, wire::kHeaderBytes);
  std::uint64_t rest = op.header.payload_bytes() - done;
  if (rest == 0) return;
  if (op.walk == nullptr) {
    batch.add(op.data + done, rest);
    return;
  }
  if (staged_op_ == &op || op.walk->prefers_copy()) {
    add_staged(op, rest, batch);
    return;
  }
  const std::size_t first = batch.segment_count;
  batch.segment_count += op.walk->peek(&batch.segments[first], Batch::kMaxSegments - first);
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

// There is one staging buffer, so a staged frame is the last of its batch.
void Outbox::add_staged(SendOp& op, std::uint64_t rest, Batch& batch) noexcept {
  if (staged_op_ == nullptr) {
    if (!staging_) staging_ = std::make_unique<std::byte[]>(kStagingBytes);
    staged_op_ = &op;
    staged_begin_ = 0;
    staged_end_ = static_cast<std::size_t>(std::min<std::uint64_t>(rest, kStagingBytes));
    op.walk->gather(staging_.get(), staged_end_);
  } else if (staged_op_ != &op) {
    batch.closed = true;  // another frame's staged bytes have to leave first
    return;
  }
  batch.add(&staging_[staged_begin_], staged_end_ - staged_begin_);
  batch.closed = true;
}

// Accounts for `bytes` that left.
void Outbox::consume(std::uint64_t bytes) noexcept {
  const std::uint64_t copied = std::min<std::uint64_t>(bytes, copies_end_ - copies_begin_);
  copies_begin_ += static_cast<std::size_t>(copied);
  if (copies_begin_ == copies_end_) copies_begin_ = copies_end_ = 0;
  bytes -= copied;
  while (bytes > 0 && !queue_.empty()) {
    SendOp& op = queue_.front();
    const std::uint64_t total = wire::kHeaderBytes + op.header.payload_bytes();
    const std::uint64_t taken = std::min(bytes, total - op.transport_progress);
    const std::uint64_t header_left =
        wire::kHeaderBytes - std::min<std::uint64_t>(op.transport_progress, wire::kHeaderBytes);
    if (taken > header_left) consume_payload(op, taken - header_left);
    op.transport_progress += taken;
    bytes -= taken;
    if (op.transport_progress < total) return;
    queue_.pop_front();
    taken_.push_back(op);
  }
}

void Outbox::consume_payload(SendOp& op, std::uint64_t bytes) noexcept {
  if (staged_op_ == &op) {
    staged_begin_ += static_cast<std::size_t>(bytes);
    if (staged_begin_ == staged_end_) staged_op_ = nullptr;
  } else if (op.walk != nullptr) {
    op.walk->advance(bytes);
  }
}

void Outbox::deliver_taken() noexcept {
  while (!taken_.empty()) {
    SendOp& op = taken_.pop_front();
    op.on_taken(op, Status());
  }
}

bool Outbox::has_taken(SendOp& op) noexcept {
  if (op.transport_progress < wire::kHeaderBytes + op.header.payload_bytes()) return false;
  op.unlink();
  return true;
}

void Outbox::fail(const Status& why) noexcept {
  deliver_taken();
  staged_op_ = nullptr;
  copies_begin_ = copies_end_ = 0;
  while (!queue_.empty()) {
    SendOp& op = queue_.pop_front();
    op.on_taken(op, why);
  }
}

}  // namespace lapwing::net::tcp
