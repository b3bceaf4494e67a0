// Where connections from peers arrive. Everybody is a stranger until the handshake has shown otherwise: a stranger gets
// a few bytes of memory, a deadline, and no word; at most kMaxStrangers are inside at a time.
#pragma once

#include <memory>
#include <vector>

#include "net/tcp/connection.h"
#include "net/tcp/shared.h"

namespace lapwing::net::tcp {

class ReceptionUser {
 public:
  // A peer has proven itself. Called before it is answered.
  virtual wire::Verdict judge(PeerId peer) noexcept = 0;
  // The accepted connection, after it was answered.
  virtual void admit(PeerId peer, std::unique_ptr<Connection> connection) noexcept = 0;

 protected:
  ~ReceptionUser() = default;
};

class Reception final : public ConnectionUser {
 public:
  static constexpr std::size_t kMaxStrangers = 64;

  Reception(Shared& shared, ReceptionUser& user);
  ~Reception();

  // Opens one listening socket per address, on a port of LAPWING_TCP_PORTS; adds what peers may connect to. An address
  // that cannot be bound is passed over; none at all is an error.
  Status open(const std::vector<Interface>& interfaces, std::vector<Address>& published);
  // Begins to accept.
  Status start();
  void close() noexcept;

  std::size_t strangers() const noexcept { return strangers_.size(); }

  void on_ready(Connection& connection, std::uint32_t events) noexcept override;
  void on_deadline(Connection& connection) noexcept override;

 private:
  class Listener final : public engine::FdHandler {
   public:
    Listener(Reception& reception, Socket socket) : reception_(reception), socket_(std::move(socket)) {}
    void on_ready(std::uint32_t) noexcept override { reception_.accept_from(*this); }
    const Socket& socket() const noexcept { return socket_; }

   private:
    Reception& reception_;
    Socket socket_;
  };
  struct ResumeTimer : engine::Timer {
    explicit ResumeTimer(Reception& owner) noexcept
        : Timer([](Timer& timer) noexcept { static_cast<ResumeTimer&>(timer).reception.resume(); }), reception(owner) {}
    Reception& reception;
  };

  int listen_on(Address address, Socket& socket) const noexcept;
  void accept_from(Listener& listener) noexcept;
  bool make_room() noexcept;
  void pause() noexcept;
  void resume() noexcept;
  void welcome(Socket socket, const Address& from) noexcept;
  void drop(Connection& connection, const char* why) noexcept;
  std::unique_ptr<Connection> take(Connection& connection) noexcept;

  Shared& shared_;
  ReceptionUser& user_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::unique_ptr<Connection>> strangers_;  // oldest first
  ResumeTimer resume_;
  bool started_ = false;
  bool full_ = false;  // somebody waits outside because kMaxStrangers are inside
  bool warned_of_version_ = false;
  bool warned_of_descriptors_ = false;
};

}  // namespace lapwing::net::tcp
