// The frames of one link on their way in: when its socket is read, and what the event port announces of it meanwhile.
//
// Past a program in the kernel (net/kernel/area.h). The connection joins those that the program sees when a read has found that nothing is half here.
// The program takes frames only while poll() looks for them (let_take): nothing else tells of a frame that is taken.
#pragma once

#include "net/tcp/connection.h"
#include "net/tcp/inbox.h"
#include "net/tcp/sender.h"
#include "net/tcp/shared_state.h"
#include "net/tcp/watermark.h"

namespace lapwing::net::tcp {

class ReceiverUser {
 public:
  // The connection has broken (kEnded, kBroken; else sending had failed, and nothing more is there), or the peer broke a rule.
  virtual void receiving_ended(Inbox::Result result) noexcept = 0;

 protected:
  ~ReceiverUser() = default;
};

class Receiver final : public ConnectionUser {
 public:
  Receiver(SharedState& shared, Channel& channel, PeerId peer, bool rail, Sender& sender, ReceiverUser& user) noexcept
      : shared_(shared), rail_(rail), sender_(sender), user_(user), inbox_(shared.sinks, channel, peer, shared.copies, rail) {}
  ~Receiver() { shared_.busy_links.forget(*this); }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  // A connection stands. `resumes`: frames that come may acknowledge others.
  void begin(Connection& connection, bool resumes) noexcept;
  // It has broken, and another may take its place: what has not come whole has not come.
  void interrupt() noexcept;
  // Nothing is read any more.
  void end() noexcept;
  // No frame can be sent over it any more: it is judged when all that the peer has sent is here, its goodbye above all.
  void sending_failed() noexcept { sending_failed_ = true; }
  // Before the connection is given up and judged: what a program in the kernel has taken has come.
  void leave_program() noexcept;
  bool resumes() const noexcept { return resumes_; }
  // Where receives can be lent to a program in the kernel; null: it does not see this link.
  bool is_past_program() const noexcept { return inbox_.past_program(); }
  LentQueue* lent_queue() const noexcept { return inbox_.past_program() ? &intake_->queue() : nullptr; }
  const Inbox& inbox() const noexcept { return inbox_; }

  // Reads what is there; true when something came.
  bool receive() noexcept;
  void on_ready(Connection& connection, std::uint32_t events) noexcept override;
  void on_deadline(Connection&) noexcept override {}

  // The program may answer requests that come by this link, with this socket until it may no more. What it has answered has been taken in then.
  void answer_by(int socket) noexcept;
  void answer_no_more() noexcept;
  // Never rest: what comes is waited for though the application computes.
  void announce_all() noexcept { announces_all_ = true; }

  // ---- for the busy links ----

  // Reads without having been told that there is something; true when something came.
  bool poll() noexcept;
  // A program in the kernel may take frames, where it sees this link, until stop_taking(): no thread sleeps meanwhile. Or until
  // stop_taking_attended(): only the event thread does. False: there is something to be polled.
  void let_take() noexcept {
    if (inbox_.past_program()) end_sleep();
  }
  // At rest it may take all.
  bool take_at_rest() noexcept { return !inbox_.past_program() || intake_->open_at_rest(!is_announced()); }
  bool stop_taking() noexcept { return !inbox_.past_program() || intake_->close(); }
  bool stop_taking_attended() noexcept {
    if (permission_ == kernel::Permission::State::kAsked) let_answer();
    if (!inbox_.past_program()) return true;
    passed_before_sleep_ = intake_->passed();
    arrived_before_sleep_ = intake_->arrived();
    return intake_->close_to_attended(!is_announced());
  }
  // Frames are checked or sealed.
  bool is_protected() const noexcept { return connection_ != nullptr && connection_->records() != nullptr; }
  // For a link that is polled all the time (Connection::leave_port).
  void leave_port() noexcept;
  bool come_back_to_port() noexcept { return connection_ == nullptr || connection_->come_back(Connection::Announced::kAll); }
  // Only the event thread may sleep. Where most of what came while it slept the last time was taken by the program, the port announces no input, and
  // the program gives notice of what it passes on.
  bool come_back_unattended() noexcept {
    using Announced = Connection::Announced;
    return connection_ == nullptr || connection_->come_back(inbox_.past_program() && takes_most_ ? Announced::kNotInput : Announced::kAll);
  }
  // The port announces all that happens.
  bool is_announced() const noexcept { return connection_ == nullptr || connection_->announced() == Connection::Announced::kAll; }
  // A thread is about to sleep: the event thread is not woken for each packet of a long frame.
  void set_watermark() noexcept;
  // Until end_rest() the port announces input when so much has gathered (tcp.rest_watermark), or the peer can send no more, or has
  // gone. Not before something has come from the peer: the first it sends is answered with credit. Where the program in the kernel has taken all
  // since the rest before, there was nothing to hide, and two system calls are saved.
  void rest() noexcept;
  void end_rest() noexcept;

 private:
  Inbox::Result read() noexcept;
  Inbox::Result join_and_read(Inbox::Result before) noexcept;
  bool finish_receive(Inbox::Result result) noexcept;
  void read_on_later() noexcept;
  // False: this connection cannot go on.
  bool join_program() noexcept;
  bool poll_past_program() noexcept;
  void uncover() noexcept;
  void end_sleep() noexcept;
  void learn_what_is_taken() noexcept;
  void hide_input() noexcept;
  void let_answer() noexcept;
  bool may_have_ended() noexcept;
  void judge(Inbox::Result result) noexcept;

  SharedState& shared_;
  const bool rail_;
  Sender& sender_;
  ReceiverUser& user_;
  Inbox inbox_;
  Watermark watermark_;
  Connection* connection_ = nullptr;  // that is read; null: none stands
  bool resumes_ = false;
  bool sending_failed_ = false;
  kernel::Intakes::Lease intake_;  // from the first connection that joined
  bool may_join_ = false;          // when nothing is half read
  bool torn_ = false;              // a connection was, past the program: the next ones are received as ever
  int answers_by_ = -1;            // the socket of answer_by()
  kernel::Permission::State permission_ = kernel::Permission::State::kNone;  // for it
  std::uint64_t passed_at_rest_ = 0, passed_before_sleep_ = 0, arrived_before_sleep_ = 0;  // counts of Intake's
  bool takes_most_ = false;  // the program, of what comes while only the event thread sleeps
  bool announces_all_ = false;
  unsigned looks_ = 0;             // that found nothing, outside the port
};

}  // namespace lapwing::net::tcp
