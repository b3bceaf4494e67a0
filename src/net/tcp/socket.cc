#include "net/tcp/socket.h"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "net/tcp/congestion_control.h"

namespace lapwing::net::tcp {
namespace {

// Buffer sizes are never set: that would switch off the kernel's own tuning.
void set_no_delay(int fd) noexcept {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

const std::string& congestion_control_to(const Address& address, const std::string& chosen) noexcept {
  return address.is_loopback() ? congestion_control_of_loopback() : chosen;
}

}  // namespace

void Socket::close() noexcept {
  close_own_descriptor(fd_);
  fd_ = -1;
}

Address Socket::local_address() const noexcept {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (getsockname(fd_, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  return Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&storage));
}

int Socket::pending_error() const noexcept {
  int error = 0;
  socklen_t length = sizeof error;
  return getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

bool Socket::is_connected() const noexcept {
  pollfd entry{fd_, POLLOUT, 0};
  return ::poll(&entry, 1, 0) == 1;
}

bool Socket::has_news() const noexcept {
  pollfd entry{fd_, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

std::size_t Socket::receive_buffer() const noexcept {
  int bytes = 0;
  socklen_t length = sizeof bytes;
  return getsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, &length) == 0 ? static_cast<std::size_t>(bytes) : 0;
}

std::uint64_t Socket::unacknowledged() const noexcept {
  int bytes = 0;
  return ioctl(fd_, SIOCOUTQ, &bytes) == 0 && bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

void Socket::reset_on_close() const noexcept {
  const linger at_once{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

void Socket::keep_alive(const KernelPatience& patience) const noexcept {
  constexpr int kLongestRetry = 44;  // TCP_RTO_MAX_MS, which Linux has from 6.15 on
  const int on = 1;
  setsockopt(fd_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd_, IPPROTO_TCP, TCP_KEEPIDLE, &patience.idle, sizeof patience.idle);
  setsockopt(fd_, IPPROTO_TCP, TCP_KEEPINTVL, &patience.between, sizeof patience.between);
  setsockopt(fd_, IPPROTO_TCP, TCP_KEEPCNT, &patience.probes, sizeof patience.probes);
  setsockopt(fd_, IPPROTO_TCP, kLongestRetry, &patience.longest_retry, sizeof patience.longest_retry);
}

Socket::Acknowledgement Socket::acknowledgement() const noexcept {
  constexpr std::int64_t kMillisecond = 1'000'000;
  Acknowledgement result;
  tcp_info info{};
  socklen_t length = sizeof info;
  if (ioctl(fd_, SIOCOUTQ, &result.bytes_missing) != 0 || result.bytes_missing <= 0) return {};
  if (getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return result;
  result.unanswered = info.tcpi_retransmits > 0 || info.tcpi_probes > 0;
  result.resends = info.tcpi_retransmits;
  result.silent_for = info.tcpi_last_ack_recv * kMillisecond;
  result.tried_before = info.tcpi_last_data_sent * kMillisecond;
  return result;
}

std::uint32_t Socket::resends() const noexcept {
  tcp_info info{};
  socklen_t length = sizeof info;
  return getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 ? info.tcpi_total_retrans : 0;
}

int Socket::listen(const Address& address, const std::string& congestion_control, Socket& socket) noexcept {
  Socket opened(::socket(address.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!opened) return errno;
  const int on = 1;
  if (address.family == AF_INET6) setsockopt(opened.fd_, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  // For ports of LAPWING_TCP_PORTS that an earlier job has just left.
  if (address.port != 0) setsockopt(opened.fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  set_congestion_control(opened.fd_, congestion_control_to(address, congestion_control));
  sockaddr_storage storage;
  const socklen_t length = address.to_sockaddr(storage);
  if (::bind(opened.fd_, reinterpret_cast<sockaddr*>(&storage), length) != 0) return errno;
  if (::listen(opened.fd_, SOMAXCONN) != 0) return errno;
  socket = std::move(opened);
  return 0;
}

int Socket::connect(const Address& address, const std::string& congestion_control, Socket& socket) noexcept {
  Socket opened(::socket(address.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!opened) return errno;
  set_no_delay(opened.fd_);
  set_congestion_control(opened.fd_, congestion_control_to(address, congestion_control));
  sockaddr_storage storage;
  const socklen_t length = address.to_sockaddr(storage);
  if (::connect(opened.fd_, reinterpret_cast<sockaddr*>(&storage), length) != 0 && errno != EINPROGRESS) return errno;
  socket = std::move(opened);
  return 0;
}

int Socket::accept(Socket& accepted, Address& peer) const noexcept {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  const int fd = accept4(fd_, reinterpret_cast<sockaddr*>(&storage), &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return errno;
  accepted = Socket(fd);
  peer = Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&storage));
  set_no_delay(fd);
  return 0;
}

void Socket::use_congestion_control(const Address& peer, const std::string& chosen) const noexcept {
  set_congestion_control(fd_, congestion_control_to(peer, chosen));
}

bool Socket::send_small(const std::byte* bytes, std::size_t count) const noexcept {
  ssize_t sent;
  do {
    sent = ::send(fd_, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(count);
}

}  // namespace lapwing::net::tcp
