// The frames of one link on their way out, in order. Sends as much as the socket takes with as few system calls as
// possible: one sendmsg gathers the headers and payloads of as many queued frames as fit.
//
// Each SendOp is taken exactly once: when its last byte is in the socket (deliver_taken() says so, or has_taken()), or in fail(). Small
// frames may be copied instead and are done with at once; they all leave before the queue, because a frame is only copied while that is
// empty.
#pragma once

#include <cstdint>
#include <memory>

#include "net/channel.h"
#include "net/transport.h"

namespace lapwing::net::tcp {

class Outbox {
 public:
  explicit Outbox(Channel& channel) noexcept : channel_(channel) {}

  enum class Result { kDrained, kBlocked, kBroken };

  // Queues the frame, and numbers it if a connection stands.
  void push(SendOp& op) noexcept;
  // A connection stands: numbers what has waited for it.
  void number_waiting() noexcept;
  // Numbers the frame and takes it by copying it. False when there is no room, or the queue is not empty.
  bool copy(wire::FrameHeader& header, const std::byte* payload, ByteWalk* walk = nullptr) noexcept;
  bool empty() const noexcept { return queue_.empty() && copies_begin_ == copies_end_; }

  // kBlocked: wait for writable readiness. kBroken: error() says why; nothing more can be sent.
  Result flush(int fd, engine::SystemCalls& calls) noexcept;
  int error() const noexcept { return error_; }

  // Tells the owners of the frames that have left, who may push again.
  void deliver_taken() noexcept;
  // Whether this frame has left, when its owner asks: deliver_taken() then leaves it out.
  bool has_taken(SendOp& op) noexcept;
  // Completes all frames with `why`.
  void fail(const Status& why) noexcept;

 private:
  struct Batch;
  static constexpr std::size_t kStagingBytes = 64 << 10;
  static constexpr std::size_t kCopiesBytes = 16 << 10;

  void gather(Batch& batch) noexcept;
  void add_payload(SendOp& op, Batch& batch) noexcept;
  void add_staged(SendOp& op, std::uint64_t rest, Batch& batch) noexcept;
  void consume(std::uint64_t bytes) noexcept;
  void consume_payload(SendOp& op, std::uint64_t bytes) noexcept;

  Channel& channel_;
  IntrusiveList<SendOp> queue_;
  IntrusiveList<SendOp> taken_;  // have left whole, and their owners do not know yet
  // Whole frames, of which those before copies_begin_ have left. Of its pages only those exist that were written to.
  std::unique_ptr<std::byte[]> copies_;
  std::size_t copies_begin_ = 0;
  std::size_t copies_end_ = 0;
  int error_ = 0;
  // Payload bytes of `staged_op_` that were gathered from a walk of short segments and have not left yet.
  std::unique_ptr<std::byte[]> staging_;
  SendOp* staged_op_ = nullptr;
  std::size_t staged_begin_ = 0;
  std::size_t staged_end_ = 0;
};

}  // namespace lapwing::net::tcp
