// One address of a peer that is tried, from the socket to the peer's verdict. A connector tries several at a time.
//
//   state        what it means                                                      what ends it
//   kConnecting  the kernel connects                                                the kernel, or the connector's time
//   kGreeting    the host has accepted; the rank there has not answered yet         its proof, or the connector's time
//   kProven      the peer has proven itself, and our proof is out                   its verdict
//   kPausing     closed from there, or this process had no socket: tried again      a timer
//   kOver        it has failed, and failure() says why
#pragma once

#include <memory>
#include <string>

#include "net/tcp/connection.h"
#include "net/tcp/shared_state.h"

namespace lapwing::net::tcp {

class Dial;

class DialUser {
 public:
  // The peer may accept this connection from now on: it must not hear of another one.
  virtual void on_proven(Dial& dial) noexcept = 0;
  // Asked when it was closed from there.
  virtual bool may_try_again(const Dial& dial) const noexcept = 0;
  // Closed from there, or no socket: it goes on by itself. May be called from start().
  virtual void on_pausing(Dial& dial) noexcept = 0;
  // handshake().state() is kAccepted, kDuplicate, kGone or kGivenUp. May destroy the dial.
  virtual void on_verdict(Dial& dial) noexcept = 0;
  // May destroy the dial.
  virtual void on_failed(Dial& dial) noexcept = 0;

 protected:
  ~DialUser() = default;
};

class Dial final : public ConnectionUser {
 public:
  enum class State { kConnecting, kGreeting, kProven, kPausing, kOver };

  Dial(SharedState& shared, PeerId peer, const Address& address, const wire::Terms& terms, DialUser& user);
  ~Dial();

  // False: it has failed at once, and on_failed is not called.
  bool start() noexcept { return open(); }

  State state() const noexcept { return state_; }
  bool was_proven() const noexcept { return was_proven_; }
  // After was_proven(): both sides have agreed that the link goes on when this connection breaks.
  bool resumes() const noexcept { return resumes_; }
  const Address& address() const noexcept { return address_; }
  // Why it has failed; until then why it was tried again last, if it was.
  const std::string& failure() const noexcept { return failure_; }
  // What the handshake has found wrong then.
  wire::Handshake::Fault fault() const noexcept { return fault_; }
  // Of the failure, an errno value; and what this process lacked, if the dial pauses for that.
  int error() const noexcept { return error_; }
  int exhausted() const noexcept { return exhausted_; }
  const wire::Handshake& handshake() const noexcept { return connection_->handshake(); }
  std::unique_ptr<Connection> take_connection() noexcept { return std::move(connection_); }

  // Something has come that this process has not looked at. catch_up() does; it may call back.
  bool has_news() const noexcept;
  void catch_up() noexcept;
  // Nothing that was sent there has had to be sent again in vain.
  bool host_answers() const noexcept;
  double seconds_so_far() const noexcept;
  // For the liveness monitor: gives up a connection on which the handshake is sent again in vain, for another one. May call back, and so destroy
  // the dial. True while something sent is not acknowledged.
  bool inspect() noexcept;

  void on_ready(Connection& connection, std::uint32_t events) noexcept override;
  void on_deadline(Connection&) noexcept override {}

 private:
  // Of an address that closes connections before it has proven anything; where links resume, until the pauses between them add up to
  // LAPWING_CONNECT_TIMEOUT.
  static constexpr unsigned kRetries = 5;

  struct RetryTimer : engine::Timer {
    explicit RetryTimer(Dial& owner) noexcept
        : Timer([](Timer& timer) noexcept { static_cast<RetryTimer&>(timer).dial.try_again(); }), dial(owner) {}
    Dial& dial;
  };

  bool open() noexcept;
  bool connect(Socket socket) noexcept;
  bool greet_at_once() noexcept;
  void try_again() noexcept;
  void connected() noexcept;
  void advance() noexcept;
  void closed_by_peer() noexcept;
  bool tried_enough() const noexcept;
  void handshake_failed() noexcept;
  void fail_or_pause(std::string why, wire::Handshake::Fault fault = wire::Handshake::Fault::kNone) noexcept;
  void pause(std::int64_t nanoseconds) noexcept;
  bool give_up(std::string why, wire::Handshake::Fault fault = wire::Handshake::Fault::kNone) noexcept;
  void fail(std::string why, wire::Handshake::Fault fault = wire::Handshake::Fault::kNone) noexcept;
  void hang_up() noexcept { shared_.retire(std::move(connection_)); }

  SharedState& shared_;
  const PeerId peer_;
  const Address address_;
  const wire::Terms terms_;
  DialUser& user_;
  const std::int64_t began_;
  State state_ = State::kConnecting;
  bool was_proven_ = false, resumes_ = false;
  unsigned ended_early_ = 0;
  std::int64_t paused_ = 0;  // ns, in all
  int error_ = 0, exhausted_ = 0;
  int broke_at_once_ = 0;  // an errno value
  std::string failure_;
  wire::Handshake::Fault fault_ = wire::Handshake::Fault::kNone;
  std::unique_ptr<Connection> connection_;
  RetryTimer retry_;
};

}  // namespace lapwing::net::tcp
