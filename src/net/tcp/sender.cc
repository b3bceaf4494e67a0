#include "net/tcp/sender.h"

#include <utility>

#include "base/delay_point.h"
#include "base/tuning.h"

namespace lapwing::net::tcp {

// ---- the connection -------------------------------------------------------------------------------------------------

Status Sender::begin(Connection& connection, std::uint64_t peer_expects, bool resumes) {
  LAPWING_TRY(queue_.begin(peer_expects, resumes));
  connection_ = &connection;
  Records* const records = connection.records();
  outbox_.begin(records == nullptr ? nullptr : &records->writer);
  return {};
}

void Sender::interrupt() noexcept {
  connection_ = nullptr;
  outbox_.reset();
  burst_.flushed();
  keep_engine_awake();
}

void Sender::end(const Status& why) noexcept {
  interrupt();
  leave_lists();
  queue_.fail(why);
  keep_engine_awake();
}

// ---- frames ---------------------------------------------------------------------------------------------------------

bool Sender::post(SendOp& op) noexcept {
  const bool at_once = sends_at_once();
  queue_.push(op);
  if (!at_once) {
    keep_engine_awake();
    return false;
  }
  leave_or_join_burst(false);
  const bool taken = SendQueue::has_taken(op);
  look_after_loans();
  keep_engine_awake();
  return taken;
}

// When frames wait for the socket, the copy leaves with them.
bool Sender::copy(wire::FrameHeader& header, const std::byte* payload, ByteWalk* walk) noexcept {
  if (connection_ == nullptr) return false;
  const bool at_once = sends_at_once();
  if (!queue_.copy(header, payload, walk)) return false;
  if (at_once) {
    leave_or_join_burst(true);
    look_after_loans();
  }
  keep_engine_awake();
  return true;
}

void Sender::leave_or_join_burst(bool small) noexcept {
  if (!burst_.joins(shared_.engine.clock().now(), small && shared_.engine.has_event_thread(), channel_.received())) {
    flush();
    burst_.left(shared_.engine.clock().now());  // the system call may take longer than the gap
    return;
  }
  LAPWING_DELAY_POINT("tcp.defer");
  if (!std::exchange(deferred_, true)) shared_.deferred.push_back(this);
  shared_.engine.want_turn();
}

void Sender::flush_deferred() noexcept {
  deferred_ = false;
  if (burst_.keeps_back()) flush_and_tell();
}

void Sender::flush() noexcept {
  Connection& connection = *connection_;
  burst_.flushed();
  LAPWING_DELAY_POINT("tcp.flush");
  switch (outbox_.flush(connection.fd(), shared_.engine.system_calls())) {
    case Outbox::Result::kDrained:
      connection.want_writable(false);
      if (channel_.owes_acknowledgement()) owes();
      break;
    case Outbox::Result::kBlocked:
      LAPWING_DELAY_POINT("tcp.blocked");
      connection.want_writable(true);
      break;
    case Outbox::Result::kBroken:
      connection_ = nullptr;
      user_.sending_failed(outbox_.error());
      break;
  }
  if (connection.is_inspected()) shared_.liveness_monitor.something_sent();
  keep_engine_awake();
}

void Sender::flush_and_tell() noexcept {
  if (connection_ == nullptr) return;
  flush();
  tell();
}

void Sender::send_last(bool goodbye) noexcept {
  if (connection_ == nullptr) return;
  if (goodbye) queue_.push_channel(wire::ChannelWord::kGoodbye);
  if (!goodbye && !burst_.keeps_back()) return;
  flush();
  look_after_loans();
}

// ---- frames that are kept -------------------------------------------------------------------------------------------

bool Sender::take_acknowledgements(bool at_once) noexcept {
  if (!queue_.release()) return false;
  tell();
  if (!channel_.owes_acknowledgement()) return true;
  // Without an event thread the next poll may be long in coming, and a thread of the peer may wait for the memory that this gives back.
  if (at_once || !shared_.engine.has_event_thread()) {
    acknowledge();
    return true;
  }
  owes();
  return true;
}

// While frames wait to leave, the next one that is queued acknowledges, or flush() sees to it when they have left: no sooner would a frame of its own,
// behind them.
void Sender::acknowledge() noexcept {
  owes_no_longer();
  if (connection_ == nullptr || !queue_.all_sent() || !channel_.owes_acknowledgement()) return;
  queue_.push_channel(wire::ChannelWord::kAcknowledge);
  flush_and_tell();
}

// What is not sent whole asks when it is.
void Sender::ask() noexcept {
  if (connection_ == nullptr || !queue_.all_sent() || !queue_.owes_question()) return;
  queue_.ask();
  queue_.push_channel(wire::ChannelWord::kAcknowledge);
  flush();
  look_after_loans();
}

// After a flush, where no owner is to be told, as within post(): then the next poll tells, because nothing that is received need do so.
void Sender::look_after_loans() noexcept {
  queue_.copy_short(tuning().tcp_copied_at_once);
  if (lends(SendQueue::Loans::kAll)) list(lending_, shared_.lending);
}

// The owners of what has left, been copied or been acknowledged.
void Sender::tell() noexcept {
  queue_.copy_short(tuning().tcp_copied_at_once);
  queue_.tell();
  if (lends(SendQueue::Loans::kAll)) list(lending_, shared_.lending);
}

// A link without loans, or without room for a copy, leaves the list, and comes back when something has left or been acknowledged.
bool Sender::copy_kept(SendQueue::Loans which) noexcept {
  const bool tells = queue_.has_news(), copied = queue_.copy_kept(which);
  const bool left_to_a_thread_that_waits = !queue_.lends(which) && queue_.lends(SendQueue::Loans::kAll);
  if (!copied && !left_to_a_thread_that_waits) unlist(lending_, shared_.lending);
  queue_.tell();
  return tells || copied;
}

// ---- work under way -------------------------------------------------------------------------------------------------

bool Sender::list(bool& listed, std::vector<Sender*>& senders) noexcept {
  if (std::exchange(listed, true)) return false;
  senders.push_back(this);
  return true;
}

bool Sender::unlist(bool& listed, std::vector<Sender*>& senders) noexcept {
  if (!std::exchange(listed, false)) return false;
  std::erase(senders, this);
  return true;
}

// With the next poll.
void Sender::owes() noexcept {
  if (list(owing_, shared_.owing)) shared_.engine.hold();
  shared_.engine.want_turn();
}

// An acknowledgement that is owed is work under way. Loans are not by themselves: the operations whose memory they are do not end before.
void Sender::owes_no_longer() noexcept {
  if (unlist(owing_, shared_.owing)) shared_.engine.unhold();
}

void Sender::leave_lists() noexcept {
  owes_no_longer();
  unlist(lending_, shared_.lending);
  if (std::exchange(deferred_, false)) std::erase(shared_.deferred, this);
}

void Sender::keep_engine_awake() noexcept {
  const bool waiting = !queue_.all_sent() || channel_.state() == Channel::State::kDown;
  if (waiting == held_) return;
  held_ = waiting;
  if (waiting)
    shared_.engine.hold();
  else
    shared_.engine.unhold();
}

}  // namespace lapwing::net::tcp
