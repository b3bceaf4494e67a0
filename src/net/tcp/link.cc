// A link's frames, out and in. Its connections: link_setup.cc.
#include "net/tcp/link.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/delay_point.h"
#include "base/tuning.h"

namespace lapwing::net::tcp {

// ---- sending --------------------------------------------------------------------------------------------------------

bool Link::post(SendOp& op) noexcept {
  if (state_ == State::kFinished || state_ == State::kLost) {
    shared_.refusals.add(op, failure_.copy());
    return false;
  }
  const std::uint64_t bytes = op.header.payload_bytes();
  if (bytes <= tuning().tcp_burst_largest && copy(op.header, op.data, op.walk)) return true;
  if (bytes > frame_limit_) [[unlikely]] {
    shared_.refusals.add(op, diagnosis_.too_long(bytes, frame_limit_));
    return false;
  }
  const bool free = state_ == State::kOpen && (queue_.all_sent() || burst_.keeps_back());  // not waiting for the socket
  queue_.push(op);
  if (state_ == State::kIdle) {
    connect();
  } else if (free) {
    leave_or_join_burst(false);
  }
  keep_engine_awake();
  return free && SendQueue::has_taken(op);
}

bool Link::send_now(wire::FrameHeader& header, const std::byte* payload) noexcept {
  return copy(header, payload, nullptr);
}

// When frames wait for the socket, the copy leaves with them.
bool Link::copy(wire::FrameHeader& header, const std::byte* payload, ByteWalk* walk) noexcept {
  if (state_ != State::kOpen || !failure_.ok()) return false;
  const bool free = queue_.all_sent() || burst_.keeps_back();
  if (!queue_.copy(header, payload, walk)) return false;
  if (free) leave_or_join_burst(true);
  keep_engine_awake();
  return true;
}

void Link::leave_or_join_burst(bool small) noexcept {
  shared_.busy_links.touch(*this);
  if (!burst_.joins(shared_.engine.clock().now(), small && shared_.engine.has_event_thread())) {
    flush();
    burst_.left(shared_.engine.clock().now());  // the system call may take longer than the gap
    return;
  }
  LAPWING_DELAY_POINT("tcp.defer");
  if (!std::exchange(deferred_, true)) shared_.deferred.push_back(this);
  shared_.engine.want_turn();
}

void Link::flush_deferred() noexcept {
  deferred_ = false;
  if (burst_.keeps_back() && state_ == State::kOpen) flush_and_tell();
}

void Link::flush() noexcept {
  burst_.flushed();
  LAPWING_DELAY_POINT("tcp.flush");
  switch (outbox_.flush(connection_->fd(), shared_.engine.system_calls())) {
    case Outbox::Result::kDrained:
      connection_->want_writable(false);
      break;
    case Outbox::Result::kBlocked:
      LAPWING_DELAY_POINT("tcp.blocked");
      connection_->want_writable(true);
      break;
    case Outbox::Result::kBroken:
      // What the peer sent before it went may still be here, its goodbye above all: read first, then judge.
      silent_ = Diagnosis::means_silence(outbox_.error());
      fail_soon(diagnosis_.broken(connection_->remote(), std::strerror(outbox_.error())));
      break;
  }
  note_loans();
  if (!connection_->remote().is_loopback()) shared_.liveness_monitor.something_sent();
  keep_engine_awake();
}

// Where frames may be posted again: not from inside post().
void Link::flush_and_tell() noexcept {
  flush();
  queue_.tell();
}

// What is on a list of the transport's is work under way.
void Link::list(bool& listed, std::vector<Link*>& links) noexcept {
  if (std::exchange(listed, true)) return;
  links.push_back(this);
  shared_.engine.hold();
}

void Link::unlist(bool& listed, std::vector<Link*>& links) noexcept {
  if (!std::exchange(listed, false)) return;
  std::erase(links, this);
  shared_.engine.unhold();
}

void Link::note_loans() noexcept {
  queue_.copy_short(tuning().tcp_copied_at_once);
  if (queue_.lends()) list(lending_, shared_.lending);
}

void Link::copy_kept() noexcept {
  if (!queue_.copy_kept()) unlist(lending_, shared_.lending);
  queue_.tell();
}

void Link::keep_engine_awake() noexcept {
  const bool waiting = !queue_.all_sent() || broken();
  if (waiting == held_) return;
  held_ = waiting;
  if (waiting)
    shared_.engine.hold();
  else
    shared_.engine.unhold();
}

// ---- receiving ------------------------------------------------------------------------------------------------------

void Link::on_ready(Connection& connection, std::uint32_t events) noexcept {
  if (state_ != State::kOpen || &connection != connection_.get()) return;
  shared_.busy_links.end_rest();
  if ((events & EPOLLOUT) != 0) flush_and_tell();
  if ((events & ~std::uint32_t{EPOLLOUT}) == 0) return;
  // A busy link is read by the next poll, without a second system call for the same bytes.
  if ((events & ~std::uint32_t{EPOLLIN | EPOLLOUT}) == 0 && shared_.busy_links.has(*this)) {
    shared_.busy_links.expect_input();
    return;
  }
  shared_.busy_links.touch(*this);
  receive();
  // An end that was announced together with the last bytes makes no new edge, and a short read has not shown it.
  if ((events & EPOLLRDHUP) != 0 && state_ == State::kOpen) connection_->announce_again();
}

bool Link::poll() noexcept {
  if (state_ != State::kOpen) return false;
  // Outside the port it is not announced that the socket takes more.
  if (connection_->outside_port() && connection_->wants_writable()) flush_and_tell();
  return receive() || state_ != State::kOpen;
}

// True when something came.
bool Link::receive() noexcept {
  LAPWING_DELAY_POINT("tcp.receive");
  engine::SystemCalls& calls = shared_.engine.system_calls();
  const std::uint64_t before = inbox_.bytes_received();
  const Inbox::Result result =
      inbox_.receive(connection_->socket().fd(), shared_.scratch.get(), SharedState::kScratchBytes, calls);
  const bool came = inbox_.bytes_received() != before;
  if (came) burst_.end();
  if (watermark_.received(connection_->socket(), inbox_.missing())) shared_.busy_links.end_rest();
  if (resumes_) take_acknowledgements();
  const bool usual = result == Inbox::Result::kDrained && failure_.ok();
  if (!usual && state_ == State::kOpen) judge_reading(result);
  return came;
}

void Link::judge_reading(Inbox::Result result) noexcept {
  switch (result) {
    case Inbox::Result::kDrained:
      break_off(std::move(failure_));  // sending had failed
      break;
    case Inbox::Result::kMore:
      LAPWING_DELAY_POINT("tcp.more");
      connection_->announce_again();
      break;
    case Inbox::Result::kEnded:
      break_off(diagnosis_.broken(connection_->remote(), "closed by the peer"));
      break;
    case Inbox::Result::kBroken:
      silent_ |= Diagnosis::means_silence(inbox_.error());
      break_off(diagnosis_.broken(connection_->remote(), std::strerror(inbox_.error())));
      break;
    case Inbox::Result::kViolation:
      lose(diagnosis_.violation(connection_->remote(), inbox_.violation()));
      break;
  }
}

// ---- frames that are kept -------------------------------------------------------------------------------------------

// What has come acknowledges frames, and may want to be acknowledged.
void Link::take_acknowledgements() noexcept {
  if (!queue_.release())
    return lose(diagnosis_.violation(connection_->remote(), Status::error(MPI_ERR_OTHER, "it acknowledges a frame that has not left")));
  queue_.tell();
  note_loans();
  if (!channel_.owes_acknowledgement()) return;
  // Without an event thread the next poll may be long in coming, and a thread of the peer may wait for the memory that this gives back.
  if (!shared_.engine.has_event_thread()) return acknowledge();
  list(owing_, shared_.owing);
  shared_.engine.want_turn();
}

void Link::acknowledge() noexcept {
  unlist(owing_, shared_.owing);
  if (state_ != State::kOpen || !channel_.owes_acknowledgement()) return;
  wire::FrameHeader frame = wire::channel_frame(wire::ChannelWord::kAcknowledge);
  if (queue_.copy(frame, nullptr, nullptr)) flush_and_tell();
}

// ---- sleep ----------------------------------------------------------------------------------------------------------

bool Link::leave_port() noexcept {
  if (state_ != State::kOpen) return false;
  LAPWING_DELAY_POINT("tcp.leave_port");
  connection_->leave_port();
  return true;
}

void Link::rest() noexcept {
  if (state_ == State::kOpen && inbox_.bytes_received() > 0) watermark_.rest(connection_->socket(), inbox_.missing());
}

void Link::end_rest() noexcept {
  if (state_ == State::kOpen) watermark_.end_rest(connection_->socket());
}

void Link::set_watermark() noexcept {
  if (state_ != State::kOpen || connection_->remote().is_loopback()) return;
  watermark_.sleep(connection_->socket(), inbox_.missing(), shared_.engine.application_waits());
}

bool Link::inspect() noexcept {
  if (state_ != State::kOpen || connection_->remote().is_loopback()) return false;
  const Socket::Acknowledgement heard = connection_->socket().acknowledgement();
  switch (silence_.judge(shared_.engine.clock().now(), heard, tuning().tcp_stall, shared_.liveness_monitor.patience())) {
    case Silence::Kind::kGone:
      lose(diagnosis_.silent(connection_->remote()));
      return false;
    case Silence::Kind::kStall:
      if (resumes_) stalled();
      return true;
    case Silence::Kind::kNone:
      break;
  }
  return heard.bytes_missing > 0;
}

}  // namespace lapwing::net::tcp
