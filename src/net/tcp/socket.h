// A socket with one owner, and the few calls on it that TCP needs. Nothing blocks; errors come back as errno values.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/own_descriptors.h"
#include "net/tcp/address.h"

namespace lapwing::net::tcp {

// See liveness.h.
struct KernelPatience {
  int idle = 0, between = 0,
      probes = 0;         // when nothing has come for `idle` seconds: so many probes, `between` seconds apart
  int longest_retry = 0;  // ms between two tries to send the same
};

class Socket {
 public:
  Socket() noexcept = default;
  explicit Socket(int fd) noexcept : fd_(fd) { own_descriptor(fd); }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Socket() { close(); }

  int fd() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  void close() noexcept;

  Address local_address() const noexcept;
  // What has become of a connect() under way: 0 or an errno value.
  int pending_error() const noexcept;
  // Whether a connect() has come to an end, or something can be read, the end of the stream included.
  bool is_connected() const noexcept;
  bool has_news() const noexcept;

  // Each returns 0 or an errno value. connect() may leave the connection under way (EINPROGRESS counts as 0). What the kernel calls the congestion
  // control counts for connections that leave the host (empty: the system's choice); on loopback it is one that does not pace.
  static int listen(const Address& address, const std::string& congestion_control, Socket& socket) noexcept;
  static int connect(const Address& address, const std::string& congestion_control, Socket& socket) noexcept;
  // EAGAIN: no connection waits to be accepted.
  int accept(Socket& accepted, Address& peer) const noexcept;
  // For one that was accepted: it has what its listening socket had when the connection was made, whatever has been chosen since.
  void use_congestion_control(const Address& peer, const std::string& chosen) const noexcept;

  // Has the kernel watch over the other side's host.
  void keep_alive(const KernelPatience& patience) const noexcept;
  // What the other side's host has acknowledged.
  struct Acknowledgement {
    int bytes_missing = 0;        // sent, or to be sent, and not acknowledged
    bool unanswered = false;      // the kernel has sent something again, or probed a closed window, and heard nothing since
    int resends = 0;              // how often in a row the kernel has sent data again of which nothing was acknowledged
    std::int64_t silent_for = 0;  // ns since the last acknowledgement
    std::int64_t tried_before = 0;  // ns since data was last sent, the first time or again
  };
  Acknowledgement acknowledgement() const noexcept;

  // Packets that the kernel has sent again, since the connection was made.
  std::uint32_t resends() const noexcept;

  std::size_t receive_buffer() const noexcept;
  // Bytes in the kernel that the other side's has not acknowledged.
  std::uint64_t unacknowledged() const noexcept;
  // From here on close() resets the connection: what has not been acknowledged is dropped, and the other side hears of the end where its kernel
  // takes no more data of this connection (RFC 7323, 5.2: a reset is taken whatever its time stamp).
  void reset_on_close() const noexcept;
  // So many bytes make the socket readable; its end and its errors do in any case.
  void announce_from(int bytes) const noexcept { setsockopt(fd_, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes); }

  // Sends all of a few bytes on a connection that has sent little before; false when it does not take them.
  bool send_small(const std::byte* bytes, std::size_t count) const noexcept;

 private:
  int fd_ = -1;
};

}  // namespace lapwing::net::tcp
