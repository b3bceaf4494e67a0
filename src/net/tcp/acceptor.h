// Where connections from peers arrive. Each is a stranger until the handshake has shown otherwise: a stranger gets a few bytes of
// memory, a deadline, and no word; how many are inside, and which make room for others, is for admission.h to say.
//
// The deadline is for those that say nothing while this process looks. A connection that has named the job may be of a peer
// that computes without progress (LAPWING_PROGRESS=polling) and answers when its application calls MPI: it stays until its
// room is needed.
#pragma once

#include <memory>
#include <vector>

#include "net/tcp/admission.h"
#include "net/tcp/connection.h"
#include "net/tcp/shared_state.h"

namespace lapwing::net::tcp {

class AcceptorUser {
 public:
  // A peer has proven itself. Called before it is answered.
  virtual wire::Verdict judge(PeerId peer, const wire::Terms& theirs) noexcept = 0;
  // What the answer says; after judge().
  virtual wire::Position position(PeerId peer, const wire::Terms& theirs) noexcept = 0;
  // Of a peer that it was judged to have been given up: when and why.
  virtual wire::GivingUp giving_up(PeerId peer) noexcept = 0;
  // The accepted connection, after it was answered.
  virtual void admit(PeerId peer, std::unique_ptr<Connection> connection) noexcept = 0;

 protected:
  ~AcceptorUser() = default;
};

class Acceptor final : public ConnectionUser {
 public:
  Acceptor(SharedState& shared, AcceptorUser& user);
  ~Acceptor();

  // Opens one listening socket per address, on a port of LAPWING_TCP_PORTS; adds what peers may connect to. An address
  // that cannot be bound is passed over; none at all is an error.
  Status open(const std::vector<Interface>& interfaces, std::vector<Address>& published);
  // Peers may connect from here: they are let in before others.
  void expect(const Address& address) { admission_.expect(address); }
  // Begins to accept.
  Status start();
  void close() noexcept;

  // For the liveness monitor: drops a connection whose other side takes nothing of what it is sent, so that it is told to try again. True while
  // something sent is not acknowledged.
  bool inspect() noexcept;

  std::size_t strangers() const noexcept { return strangers_.size(); }

  void on_ready(Connection& connection, std::uint32_t events) noexcept override;
  void on_deadline(Connection& connection) noexcept override;

 private:
  class Listener final : public engine::FdHandler {
   public:
    Listener(Acceptor& acceptor, Socket socket) : acceptor_(acceptor), socket_(std::move(socket)) {}
    void on_ready(std::uint32_t) noexcept override { acceptor_.accept_from(*this); }
    const Socket& socket() const noexcept { return socket_; }

   private:
    Acceptor& acceptor_;
    Socket socket_;
  };
  struct ResumeTimer : engine::Timer {
    explicit ResumeTimer(Acceptor& owner) noexcept
        : Timer([](Timer& timer) noexcept { static_cast<ResumeTimer&>(timer).acceptor.resume(); }), acceptor(owner) {}
    Acceptor& acceptor;
  };

  int listen_on(Address address, Socket& socket) const noexcept;
  void accept_from(Listener& listener) noexcept;
  bool may_accept() noexcept;
  bool cannot_accept(int error) noexcept;
  void pause_until(std::int64_t when) noexcept;
  void resume() noexcept;
  void welcome(Socket socket, const Address& from) noexcept;
  void drop(Connection& connection, const char* why) noexcept;
  void drop(Admission::Guest guest, const char* why) noexcept;
  std::unique_ptr<Connection> take(Connection& connection) noexcept;
  bool is_inside(const Connection& connection) const noexcept;

  SharedState& shared_;
  AcceptorUser& user_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::unique_ptr<Connection>> strangers_;  // oldest first
  Admission admission_;                                 // with the same ones
  ResumeTimer resume_;
  bool started_ = false;
  bool full_ = false;  // connections may wait outside because too many are inside
  bool warned_of_version_ = false;
  bool warned_of_descriptors_ = false;
};

}  // namespace lapwing::net::tcp
