// Sends the frames of one link: as much as the socket takes with as few system calls as possible, one sendmsg gathering the headers and payloads of
// as many frames as fit; a trailer leaves by itself, and the kernel joins it with nothing (MSG_EOR). Or, where the connection is checked or sealed, by
// records that are made of them. What is to be sent, and sent again, is the send queue's.
#pragma once

#include <cstdint>
#include <memory>

#include "net/tcp/record_writer.h"
#include "net/tcp/send_queue.h"

namespace lapwing::net::tcp {

class Outbox {
 public:
  explicit Outbox(SendQueue& queue) noexcept : queue_(queue) {}

  enum class Result { kDrained, kBlocked, kBroken };
  // kBlocked: wait for writable readiness. kBroken: error() says why; nothing more can be sent over this connection.
  Result flush(int fd, engine::SystemCalls& calls) noexcept;
  int error() const noexcept { return error_; }
  // A connection stands. `records`: by which frames leave; null: as they are.
  void begin(RecordWriter* records) noexcept { records_ = records; }
  // Another connection will take the place of this one.
  void reset() noexcept {
    records_ = nullptr;
    error_ = 0;
    staged_ = false;
  }

 private:
  struct Batch;
  static constexpr std::size_t kStagingBytes = 64 << 10;

  Result flush_records(int fd, engine::SystemCalls& calls) noexcept;
  Result not_taken() noexcept;
  void gather(Batch& batch) noexcept;
  void add_payload(SendQueue::Entry& entry, Batch& batch) noexcept;
  void add_walk(SendQueue::Entry& entry, std::uint64_t rest, Batch& batch) noexcept;
  void add_staged(SendQueue::Entry& entry, std::uint64_t rest, Batch& batch) noexcept;
  void consume(std::uint64_t bytes) noexcept;
  void consume_payload(SendQueue::Entry& entry, std::uint64_t bytes) noexcept;

  SendQueue& queue_;
  RecordWriter* records_ = nullptr;
  int error_ = 0;
  // Payload bytes of the first frame that were gathered from a walk of short segments and have not left yet.
  std::unique_ptr<std::byte[]> staging_;
  bool staged_ = false;
  std::size_t staged_begin_ = 0;
  std::size_t staged_end_ = 0;
};

}  // namespace lapwing::net::tcp
