// One TCP connection, registered with the event port, and the user that has its readiness just now: a connector or the
// acceptor while it is being made, a link once it is open. It stays registered while it changes hands.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/engine.h"
#include "net/tcp/address.h"
#include "net/tcp/record_reader.h"
#include "net/tcp/record_writer.h"
#include "net/tcp/socket.h"
#include "wire/handshake.h"

namespace lapwing::net::tcp {

class Connection;

// Of a connection that is checked or sealed.
struct Records {
  RecordWriter writer;
  RecordReader reader;
};

class ConnectionUser {
 public:
  virtual void on_ready(Connection& connection, std::uint32_t events) noexcept = 0;
  virtual void on_deadline(Connection& connection) noexcept = 0;

 protected:
  ~ConnectionUser() = default;
};

class Connection final : public engine::FdHandler {
 public:
  Connection(engine::Engine& engine, Socket socket, const Address& remote, wire::Handshake handshake,
             ConnectionUser& user);
  ~Connection() { close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Readable readiness always (edge-triggered); writable readiness only when asked for, because with it a socket that
  // was read without asking the event port would still look ready there and wake a sleeper for nothing.
  Status watch(bool writable);
  void want_writable(bool wanted) noexcept;
  // Asks for readiness that was announced once already and not used up.
  void announce_again() noexcept;
  // Outside the port nothing is announced, nor that the socket takes more: for a socket that is read directly all the time. Input can be left out
  // alone, of a connection whose packets come past a program in the kernel. After coming back what is there is announced. False: the port refuses it.
  enum class Announced { kNothing, kNotInput, kAll };
  Announced announced() const noexcept { return announced_; }
  bool outside_port() const noexcept { return announced_ == Announced::kNothing; }
  bool writable_unannounced() const noexcept { return outside_port() && wants_writable_; }
  void leave_port() noexcept;
  bool come_back(Announced announced) noexcept;
  // The handshake is over, and is forgotten, but for what it has agreed on.
  void hand_over(ConnectionUser& user) noexcept;
  // Stops watching and closes the socket.
  void close() noexcept;

  void set_deadline(std::int64_t nanoseconds_from_now) noexcept;
  void clear_deadline() noexcept { engine_.cancel_timer(deadline_); }

  int fd() const noexcept { return socket_.fd(); }
  const Socket& socket() const noexcept { return socket_; }
  const Address& remote() const noexcept { return remote_; }
  wire::Handshake& handshake() noexcept { return *handshake_; }
  // By which frames travel, once it was handed over; null: they travel as they are.
  Records* records() noexcept { return records_.get(); }
  bool is_sealed() const noexcept { return sealed_; }
  // The liveness monitor looks at it while something that was sent is not acknowledged: by the other host's kernel, or, where frames are protected,
  // by the peer itself.
  bool is_inspected() const noexcept { return records_ != nullptr || !remote_.is_loopback(); }
  // For the log: "plain", "checked", "sealed by AES-256-GCM".
  const char* protection() const noexcept;

  enum class Step {
    kWaiting,  // the other side's next message is not here yet
    kDone,     // the handshake wants no more input: look at its state
    kClosed,   // the other side has closed the connection, or it broke
  };
  // Sends what the handshake has to say, and nothing twice.
  bool send_handshake() noexcept;
  // Reads and answers as far as possible; never reads beyond the handshake's end.
  Step advance_handshake();

  void on_ready(std::uint32_t events) noexcept override { user_->on_ready(*this, events); }

 private:
  std::uint32_t events() const noexcept;
  struct Deadline : engine::Timer {
    explicit Deadline(Connection& owner) noexcept;
    Connection& connection;
  };

  engine::Engine& engine_;
  Socket socket_;
  Address remote_;
  std::unique_ptr<wire::Handshake> handshake_;  // null once over: an idle connection need not keep it
  std::unique_ptr<Records> records_;
  bool sealed_ = false;
  ConnectionUser* user_;
  Deadline deadline_;
  bool watched_ = false;
  bool wants_writable_ = false;
  Announced announced_ = Announced::kAll;
};

}  // namespace lapwing::net::tcp
