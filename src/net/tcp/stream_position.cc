#include "net/tcp/stream_position.h"

#include <linux/sockios.h>
#include <linux/tcp.h>  // whose tcp_info says more than that of the C library
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstddef>

namespace lapwing::net::tcp {
namespace {

// Of a connection (net/tcp_states.h of the kernel).
enum : std::uint8_t { kTimeWait = 6, kClose = 7, kCloseWait = 8, kLastAck = 9, kClosing = 11 };

// In which the peer's end has been received, which the kernel counts as a byte.
bool has_ended(std::uint8_t state) noexcept {
  return state == kTimeWait || state == kCloseWait || state == kLastAck || state == kClosing;
}

// All zero where the kernel tells nothing, or not so much.
tcp_info info_of(int socket) noexcept {
  tcp_info info{};
  socklen_t length = sizeof info;
  const bool told = getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
                    length >= offsetof(tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received;
  return told ? info : tcp_info{};
}

}  // namespace

std::uint64_t bytes_received(int socket) noexcept {
  const tcp_info info = info_of(socket);
  return info.tcpi_bytes_received - (has_ended(info.tcpi_state) ? 1 : 0);
}

bool is_closed(int socket) noexcept {
  return info_of(socket).tcpi_state == kClose;
}

std::uint64_t bytes_read(int socket) noexcept {
  for (std::uint64_t received = bytes_received(socket);;) {
    int unread = 0;
    if (ioctl(socket, SIOCINQ, &unread) != 0) return received;
    const std::uint64_t again = bytes_received(socket);
    if (again == received) return received - static_cast<std::uint64_t>(unread);
    received = again;
  }
}

}  // namespace lapwing::net::tcp
