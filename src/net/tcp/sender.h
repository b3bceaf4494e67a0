// The frames of one link on their way out: queued, sent together where they follow each other quickly (burst.h), and kept until they are
// acknowledged where the link resumes (send_queue.h).
//
// Frames leave only while a connection stands. Those that are posted before, or when sending has failed, wait for the next one.
#pragma once

#include <vector>

#include "net/tcp/burst.h"
#include "net/tcp/connection.h"
#include "net/tcp/outbox.h"
#include "net/tcp/send_queue.h"
#include "net/tcp/shared_state.h"

namespace lapwing::net::tcp {

class SenderUser {
 public:
  // The connection has broken: a frame could not be sent. Only to be noted, because a frame may be being posted.
  virtual void sending_failed(int error) noexcept = 0;

 protected:
  ~SenderUser() = default;
};

class Sender {
 public:
  Sender(SharedState& shared, Channel& channel, SenderUser& user) noexcept
      : shared_(shared), channel_(channel), user_(user), queue_(channel, shared.spare_memory), outbox_(queue_) {}
  ~Sender() { leave_lists(); }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  // A connection stands, and the peer expects this frame next. `resumes`: both have agreed that the link goes on when it breaks. What waits leaves
  // with flush_and_tell().
  Status begin(Connection& connection, std::uint64_t peer_expects, bool resumes);
  // It stands no more, and another may take its place.
  void interrupt() noexcept;
  // No frame leaves any more; those that wait fail.
  void end(const Status& why) noexcept;

  // True when the frame has been taken. Not from inside its callbacks.
  bool post(SendOp& op) noexcept;
  // Takes a small frame by copying it. False when there is no room, or no connection.
  bool copy(wire::FrameHeader& header, const std::byte* payload, ByteWalk* walk) noexcept;
  // Sends what waits, and tells the owners, who may post again: not from inside post().
  void flush_and_tell() noexcept;
  bool all_sent() const noexcept { return queue_.all_sent(); }
  // The peer is known to have all that it was sent, where frames are kept until then; else all has left.
  bool all_delivered() const noexcept { return queue_.all_delivered(); }
  // What has not left this host, or not been acknowledged by the other one's kernel.
  std::uint64_t backlog() noexcept { return queue_.unsent_bytes() + (connection_ != nullptr ? connection_->socket().unacknowledged() : 0); }
  // The link is about to be closed. `goodbye`: the peer is told that nothing follows.
  void send_last(bool goodbye) noexcept;

  // ---- a link that resumes ----

  // What has come acknowledges frames, and may want to be acknowledged, `at_once` or when nothing else moves. False: it acknowledges a frame that has
  // not left.
  bool take_acknowledgements(bool at_once) noexcept;

  // Asks the peer to acknowledge all that has left, once. Calls no owner.
  void ask() noexcept;
  // So many frames the peer must have (SendQueue::needed).
  std::uint64_t needed() const noexcept { return queue_.needed(); }

  // ---- for the transport's poll ----

  // Sends what a burst kept back (SharedState::deferred).
  void flush_deferred() noexcept;
  // Tells the peer what has come, unless a frame has done so meanwhile (SharedState::owing).
  void acknowledge() noexcept;
  // Gives some memory back that its owner may wait for (SharedState::lending). False when there is nothing to do.
  bool copy_kept(SendQueue::Loans which) noexcept;
  bool lends(SendQueue::Loans which) noexcept { return queue_.lends(which) || queue_.has_news(); }

 private:
  bool sends_at_once() const noexcept { return connection_ != nullptr && (queue_.all_sent() || burst_.keeps_back()); }
  void leave_or_join_burst(bool small) noexcept;
  void flush() noexcept;
  void look_after_loans() noexcept;
  void tell() noexcept;
  // Whether that is new.
  bool list(bool& listed, std::vector<Sender*>& senders) noexcept;
  bool unlist(bool& listed, std::vector<Sender*>& senders) noexcept;
  void owes() noexcept;
  void owes_no_longer() noexcept;
  void leave_lists() noexcept;
  void keep_engine_awake() noexcept;

  SharedState& shared_;
  Channel& channel_;
  SenderUser& user_;
  Connection* connection_ = nullptr;  // by which frames leave; null: none stands, or it has failed
  SendQueue queue_;
  Outbox outbox_;
  Burst burst_;
  bool deferred_ = false;  // in SharedState::deferred
  bool owing_ = false;     // ... owing
  bool lending_ = false;   // ... lending
  bool held_ = false;      // the engine has been told that frames wait to leave
};

}  // namespace lapwing::net::tcp
