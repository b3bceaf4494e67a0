// Makes the connection to one peer: dials its addresses until a connection stands, or until one diagnosis can be given. Lives as long as the
// attempt.
//
// Outcomes, exactly one, unless the connector is destroyed before:
//   on_connected       the connection is accepted; frames may flow
//   on_duplicate    the peer is proven and prefers its own connection, which is on its way to us
//   on_unreachable  no address worked; the status says for each what went wrong
//
// Order. The addresses are dialled one after the other, the next when the one before has failed or has not led to the peer within tcp.stagger;
// those before go on meanwhile (the idea is that of RFC 8305, "happy eyeballs"). So an address that leads nowhere, or to another host, costs
// that pause at most. The first dial that the peer proves itself on wins, and all others end without one: the proof of this
// rank goes out on one connection of an attempt, so at most one of them is accepted. If the peer closes that one, the pair's first attempt goes on
// with it, and the others follow again; a later one is over, because the peer may have accepted it before it closed it, and would not accept this
// number again.
//
// Time. All addresses have the time that the user says; so has a process without a descriptor for the socket, which may get one back meanwhile.
// It counts only while this process looks: what is there when it is over is in time. That is about hosts that do not answer, and about addresses
// that close what they have accepted, where links resume: breaks are survived. A peer whose host
// answers but that does not answer itself may only be busy (stopped, or computing with LAPWING_PROGRESS=polling): where no other
// address has worked it is waited for without an end, with one warning when that takes seconds, as long as its host answers. So is the verdict of a
// peer that has proven itself. Where the peer is proven and its host does not answer any more (Dial::inspect), the connection has broken, and if
// the link resumes, the attempt is over: the next one has another number (attempts.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/tcp/dial.h"
#include "net/tcp/shared_state.h"

namespace lapwing::net::tcp {

class ConnectorUser {
 public:
  // Each may destroy the connector.
  virtual void on_connected(std::unique_ptr<Connection> connection) noexcept = 0;
  virtual void on_duplicate() noexcept = 0;
  virtual void on_unreachable(Status why) noexcept = 0;
  // The peer's host accepts connections, and the peer does not answer: whether that is worth a warning. Not where nothing waits for the connection,
  // which is wanted only so that the end of the peer is noticed, nor where it has said that it polls.
  virtual bool waits_for_answer() const noexcept = 0;

 protected:
  ~ConnectorUser() = default;
};

class Connector final : public DialUser {
 public:
  // `time`: for all candidates together, in nanoseconds.
  Connector(SharedState& shared, PeerId peer, std::vector<Address> candidates, std::int64_t time, const wire::Terms& terms,
            ConnectorUser& user);
  ~Connector();

  // May report its outcome at once.
  void start() noexcept;
  // Our proof is out: the peer may have accepted this connection, so it must not be given up for another one.
  bool committed() const noexcept;
  // Some address of the peer said that nothing listens there; and this one.
  bool refused() const noexcept { return !refused_.empty(); }
  bool refused_by(const Address& address) const noexcept;
  // The peer has proven itself, and has closed its connection to this rank for good.
  bool peer_is_gone() const noexcept { return peer_is_gone_; }
  // Or has given this process up; null: it has not.
  const wire::GivingUp* given_up() const noexcept { return given_up_ ? &*given_up_ : nullptr; }
  // After on_unreachable: the address where the peer had proven itself before that connection broke, or its host ceased to answer. Null: nowhere, or
  // links do not resume.
  const Address* broke_at() const noexcept { return broke_at_ ? &*broke_at_ : nullptr; }
  // The peer's host has accepted a connection, and the peer itself is waited for without an end.
  bool is_patient() const noexcept { return patient_; }
  // For the liveness monitor (Dial::inspect).
  bool inspect() noexcept;

 private:
  template <void (Connector::*kFunction)() noexcept>
  struct ConnectorTimer : engine::Timer {
    explicit ConnectorTimer(Connector& owner) noexcept
        : Timer([](Timer& timer) noexcept { (static_cast<ConnectorTimer&>(timer).connector.*kFunction)(); }), connector(owner) {}
    Connector& connector;
  };

  void on_proven(Dial& dial) noexcept override { keep_only(dial); }
  bool may_try_again(const Dial& dial) const noexcept override;
  void on_pausing(Dial& dial) noexcept override;
  void on_verdict(Dial& dial) noexcept override;
  void on_failed(Dial& dial) noexcept override;

  void dial_next() noexcept;
  void dial_next_later() noexcept;
  void keep_only(Dial& dial) noexcept;
  void forget(Dial& dial) noexcept;
  void set_end(std::int64_t nanoseconds) noexcept;
  void on_end() noexcept;
  bool goes_on_waiting() noexcept;
  bool must_not_be_given_up(const Dial& dial) const noexcept;
  void be_patient(Dial& dial) noexcept;
  void give_up() noexcept;
  void report_unreachable() noexcept;
  void note(const Dial& dial, const std::string& why);
  std::string failures() const;
  const char* advice() const;
  bool all_refused() const noexcept;
  void warn_exhausted(int error) noexcept;
  Status diagnosis() const;

  SharedState& shared_;
  const PeerId peer_;
  std::vector<Address> candidates_;  // in the order in which they are dialled
  std::size_t next_ = 0;             // the first that is not being dialled, and has not failed
  ConnectorUser& user_;
  const wire::Terms terms_;
  const std::int64_t time_;
  std::vector<std::unique_ptr<Dial>> dials_;  // none of them over
  bool patient_ = false;
  bool peer_is_gone_ = false;
  std::optional<wire::GivingUp> given_up_;
  bool warned_exhausted_ = false, warned_silent_ = false;
  int why_exhausted_ = 0;  // the process had not what a socket takes: an errno value
  std::optional<Address> broke_at_;
  std::vector<Address> refused_;
  // What went wrong at several addresses in the same way is told once.
  struct Failure {
    std::string addresses, why;
    wire::Handshake::Fault fault;
    bool refused;  // nothing listens there
  };
  std::vector<Failure> failures_;
  ConnectorTimer<&Connector::dial_next> stagger_;
  ConnectorTimer<&Connector::on_end> end_;
};

}  // namespace lapwing::net::tcp
