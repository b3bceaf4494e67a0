#include "net/tcp/receiver.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cinttypes>
#include <utility>

#include "base/delay_point.h"
#include "base/log.h"
#include "base/tuning.h"
#include "net/tcp/stream_position.h"

namespace lapwing::net::tcp {
namespace {

// The socket is, as far as a read can tell.
constexpr bool is_empty_after(Inbox::Result result) noexcept {
  return result == Inbox::Result::kNothing || result == Inbox::Result::kDrained;
}

}  // namespace

void Receiver::begin(Connection& connection, bool resumes) noexcept {
  connection_ = &connection;
  resumes_ = resumes;
  sending_failed_ = false;
  Records* const records = connection.records();
  inbox_.begin(records == nullptr ? nullptr : &records->reader);
  may_join_ = !rail_ && !torn_ && !connection.is_sealed();  // for what comes by a rail nothing is lent
  shared_.busy_links.touch(*this);
}

void Receiver::interrupt() noexcept {
  end();
  watermark_.forget();
  inbox_.interrupt();
}

void Receiver::end() noexcept {
  connection_ = nullptr;
  shared_.busy_links.forget(*this);
}

// ---- reading --------------------------------------------------------------------------------------------------------

bool Receiver::receive() noexcept {
  if (connection_ == nullptr) return false;
  LAPWING_DELAY_POINT("tcp.receive");
  const Inbox::Result result = read();
  const bool joins = may_join_ && shared_.intakes.ready() && is_empty_after(result) && !inbox_.within_frame();
  return finish_receive(joins ? join_and_read(result) : result);
}

// What has come meanwhile is announced to the port, if at all, and not to poll().
Inbox::Result Receiver::join_and_read(Inbox::Result before) noexcept {
  if (!join_program()) return Inbox::Result::kUncertain;
  const Inbox::Result result = read();
  return result == Inbox::Result::kNothing ? before : result;
}

Inbox::Result Receiver::read() noexcept {
  return inbox_.receive(connection_->fd(), {shared_.scratch.get(), SharedState::kScratchBytes}, shared_.engine.system_calls());
}

bool Receiver::finish_receive(Inbox::Result result) noexcept {
  if (watermark_.received(connection_->socket(), inbox_.missing())) shared_.busy_links.end_rest();
  const bool long_frame = inbox_.header().payload_bytes() >= tuning().tcp_acknowledged_at_once;
  if (resumes_ && !sender_.take_acknowledgements(long_frame)) result = inbox_.refuse("it acknowledges a frame that has not left");
  if (result == Inbox::Result::kMore)
    read_on_later();
  else if (!is_empty_after(result) || sending_failed_)
    judge(result);
  return result != Inbox::Result::kNothing;
}

void Receiver::read_on_later() noexcept {
  LAPWING_DELAY_POINT("tcp.more");
  connection_->announce_again();
}

// The connection can be read no further, or nothing can be sent by it, and what came before has been read.
void Receiver::judge(Inbox::Result result) noexcept {
  torn_ |= result == Inbox::Result::kTorn || result == Inbox::Result::kUncertain;
  user_.receiving_ended(result);
}

bool Receiver::poll() noexcept {
  if (connection_ == nullptr) return false;
  if (connection_->writable_unannounced()) sender_.flush_and_tell();
  return inbox_.past_program() ? poll_past_program() : receive();
}

// ---- past a program in the kernel -----------------------------------------------------------------------------------

// Once per connection. Links that find no area are received as ever, and so is one that the kernel refuses.
bool Receiver::join_program() noexcept {
  may_join_ = false;
  if (!intake_) intake_ = shared_.intakes.make();
  if (!intake_) return true;
  const kernel::Joining joining = shared_.intakes.join(intake_, connection_->fd(), bytes_read(connection_->fd()), connection_->records() != nullptr);
  if (!joining.status.ok()) {
    log_info("%s: going on without receive in the kernel: %s", connection_->remote().text().c_str(), joining.status.text());
    return joining.known;
  }
  inbox_.receive_past(*intake_);
  let_answer();
  if (shared_.busy_links.may_take(*this)) let_take();
  return true;
}

void Receiver::leave_program() noexcept {
  if (inbox_.past_program() && intake_->cut() != 0)
    log_info("%s: TCP sent bytes again, in %" PRIu64 " packets with others", connection_->remote().text().c_str(), intake_->cut());
  inbox_.leave_program();
}

void Receiver::answer_by(int socket) noexcept {
  answers_by_ = socket;
  let_answer();
}

// Once a socket is there, and the program sees this link. Where a service has to be asked, its word is looked for before the event thread sleeps,
// because only then does the program answer. It holds for the connections that take the place of this one.
void Receiver::let_answer() noexcept {
  using State = kernel::Permission::State;
  if (answers_by_ < 0 || !inbox_.past_program()) return;
  if (permission_ == State::kNone || permission_ == State::kAsked) {
    const bool first = permission_ == State::kNone;
    const kernel::Permission permission = first ? shared_.intakes.answer_by(intake_, answers_by_) : shared_.intakes.permission(intake_);
    permission_ = permission.state;
    if (permission_ == State::kRefused) log_info("requests are not answered in the kernel: %s", permission.why.text());
  }
  if (permission_ == State::kGranted) intake_->answer(true);
}

void Receiver::answer_no_more() noexcept {
  answers_by_ = -1;
  permission_ = kernel::Permission::State::kNone;
  if (!inbox_.past_program() || connection_ == nullptr) return;
  intake_->answer(false);
  finish_receive(inbox_.collect());
}

// Looks where the program says what it has done, without a system call.
bool Receiver::poll_past_program() noexcept {
  if (watermark_.hides()) uncover();
  if (intake_->has_passed() || may_have_ended()) return receive();
  if (!intake_->has_arrivals()) return false;
  const Inbox::Result result = inbox_.collect();
  hide_input();
  return finish_receive(result);
}

// The program sees nothing before the socket is readable. So a thread that polls ends the link's rest: to make the socket readable for a moment at
// each poll takes two system calls, and wakes the event thread beside it.
void Receiver::uncover() noexcept {
  shared_.busy_links.end_rest();
  watermark_.lift(connection_->socket());
}

void Receiver::end_sleep() noexcept {
  learn_what_is_taken();
  intake_->open();
}

// A frame that is taken saves a wake-up, and a notice costs as much again as what it takes the place of. The first that is passed on ends the sleep.
void Receiver::learn_what_is_taken() noexcept {
  if (!intake_->is_open_unattended()) return;
  const std::uint64_t taken = intake_->arrived() - arrived_before_sleep_, passed_on = intake_->passed() != passed_before_sleep_ ? 1 : 0;
  if (taken + passed_on != 0) takes_most_ = taken > passed_on;
}

// An application that finds all that it waits for at once leaves the event thread asleep as it was, for as long as that goes on. So the port is told
// meanwhile. What was passed on before may have been announced, and is not any more: then it is announced again.
void Receiver::hide_input() noexcept {
  learn_what_is_taken();
  if (!takes_most_ || !is_announced() || !intake_->is_open_unattended()) return;
  LAPWING_DELAY_POINT("tcp.hide_input");
  if (come_back_unattended() && intake_->close_to_attended(true)) return;
  come_back_to_port();
  intake_->close_to_attended(false);
}

// The program does not tell of the end of a connection. The port does, and outside of it a read now and then.
bool Receiver::may_have_ended() noexcept {
  return sending_failed_ || (connection_->outside_port() && ++looks_ % tuning().tcp_looks_at_end == 0);
}

void Receiver::on_ready(Connection& connection, std::uint32_t events) noexcept {
  if (&connection != connection_) return;
  shared_.busy_links.end_rest();
  if ((events & EPOLLOUT) != 0) sender_.flush_and_tell();
  if ((events & ~std::uint32_t{EPOLLOUT}) == 0) return;
  // A busy link is read by the next poll, without a second system call for the same bytes.
  if ((events & ~std::uint32_t{EPOLLIN | EPOLLOUT}) == 0 && shared_.busy_links.has(*this)) {
    shared_.busy_links.expect_input();
    return;
  }
  shared_.busy_links.touch(*this);
  const bool came = receive();
  if (connection_ == nullptr || (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) == 0) return;
  // An end that was announced together with the last bytes makes no new edge, and a short read has not shown it. Nor does any read where the kernel
  // has the socket in a map for programs and none of them reads it, as that of a way for answers: it says then that nothing is there yet. Where a
  // program reads it, that may be so for want of memory, and the end is told later.
  if (came || inbox_.past_program()) return connection_->announce_again();
  judge(Inbox::Result::kEnded);
}

// ---- what the event port announces ----------------------------------------------------------------------------------

void Receiver::leave_port() noexcept {
  if (connection_ == nullptr) return;
  LAPWING_DELAY_POINT("tcp.leave_port");
  connection_->leave_port();
}

void Receiver::rest() noexcept {
  if (inbox_.past_program() && std::exchange(passed_at_rest_, intake_->passed()) == intake_->passed()) return;
  if (connection_ != nullptr && inbox_.heard() && !announces_all_) watermark_.rest(connection_->socket(), inbox_.missing());
}

void Receiver::end_rest() noexcept {
  if (connection_ != nullptr) watermark_.end_rest(connection_->socket());
}

void Receiver::set_watermark() noexcept {
  if (connection_ == nullptr || connection_->remote().is_loopback()) return;
  watermark_.sleep(connection_->socket(), inbox_.missing(), shared_.engine.application_drives());
}

}  // namespace lapwing::net::tcp
