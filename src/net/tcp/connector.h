// Makes the connection to one peer: tries its addresses one after the other until a connection stands, or until one
// diagnosis can be given. Lives as long as the attempt.
//
// Outcomes, exactly one, unless the connector is destroyed before:
//   on_connected       the connection is accepted; frames may flow
//   on_duplicate    the peer is proven and prefers its own connection, which is on its way to us
//   on_unreachable  no address worked; the status says for each what went wrong
//
// Deadlines. They count only while this process looks: what is there when one passes is in time. All addresses together get
// the time that the user says, in equal shares of at least a second; so does a process without a descriptor for the socket, which may get one
// back meanwhile. That is about hosts that
// do not answer. A peer whose host accepts the connection but that does not answer itself may only be busy (stopped, or
// computing with LAPWING_PROGRESS=polling): the others are tried, then it is waited for without an end, with one
// warning.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/tcp/connection.h"
#include "net/tcp/shared_state.h"

namespace lapwing::net::tcp {

class ConnectorUser {
 public:
  // Each may destroy the connector.
  virtual void on_connected(std::unique_ptr<Connection> connection) noexcept = 0;
  virtual void on_duplicate() noexcept = 0;
  virtual void on_unreachable(Status why) noexcept = 0;
  // False: the connection is wanted only so that the end of the peer is noticed, and nothing waits for it.
  virtual bool something_to_send() const noexcept = 0;

 protected:
  ~ConnectorUser() = default;
};

class Connector final : public ConnectionUser {
 public:
  // `time`: for all candidates together, in nanoseconds.
  Connector(SharedState& shared, PeerId peer, std::vector<Address> candidates, std::int64_t time, const wire::Terms& terms,
            ConnectorUser& user);
  ~Connector();

  // May report its outcome at once.
  void start() { try_next(); }
  // Our proof is out: the peer may have accepted this connection, so it must not be given up for another one.
  bool committed() noexcept;
  // Some address of the peer said that nothing listens there; and this one.
  bool refused() const noexcept { return !refused_.empty(); }
  bool refused_by(const Address& address) const noexcept;
  // The peer has proven itself, and has closed its connection to this rank for good.
  bool peer_is_gone() const noexcept { return peer_is_gone_; }
  // The peer's host has accepted a connection, and the peer itself is waited for without an end.
  bool is_patient() const noexcept { return patient_; }

  void on_ready(Connection& connection, std::uint32_t events) noexcept override;
  void on_deadline(Connection& connection) noexcept override;

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static constexpr unsigned kRetries = 5;  // of an address that closes connections before it has proven anything

  struct RetryTimer : engine::Timer {
    explicit RetryTimer(Connector& owner) noexcept
        : Timer([](Timer& timer) noexcept { static_cast<RetryTimer&>(timer).connector.try_again(); }), connector(owner) {}
    Connector& connector;
  };

  const Address& candidate() const noexcept { return candidates_[current_]; }
  void try_next() noexcept;
  bool try_candidate() noexcept;
  bool try_again_later(int error) noexcept;
  void try_again() noexcept;
  void connected() noexcept;
  void advance() noexcept;
  void closed_by_peer() noexcept;
  void give_up_candidate(const std::string& why) noexcept;
  void hang_up() noexcept { shared_.retire(std::move(connection_)); }
  void note(const std::string& why);
  void note_refusal(int error);
  void be_patient() noexcept;
  Status diagnosis() const;

  SharedState& shared_;
  const PeerId peer_;
  std::vector<Address> candidates_;
  ConnectorUser& user_;
  const wire::Terms terms_;
  const std::int64_t time_, share_;  // for all addresses, and for one
  std::int64_t end_;
  std::size_t current_ = 0;
  std::size_t silent_ = kNone;  // the first candidate that took the connection and did not answer
  bool patient_ = false;        // only silent_ is left, and it gets all the time it needs
  bool connected_ = false;
  bool peer_is_gone_ = false;
  bool warned_ = false;
  int why_exhausted_ = 0;  // the process had not what a socket takes: an errno value
  unsigned closed_by_peer_ = 0;
  std::unique_ptr<Connection> connection_;
  RetryTimer retry_;
  std::vector<Address> refused_;
  std::string failures_;
};

}  // namespace lapwing::net::tcp
