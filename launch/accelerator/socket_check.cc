#include "accelerator/socket_check.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

namespace lapwing::launch {
namespace {

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

constexpr int kNone = -1;

int option(int socket, int name) noexcept {
  int value = kNone;
  socklen_t length = sizeof value;
  return ::getsockopt(socket, SOL_SOCKET, name, &value, &length) == 0 ? value : kNone;
}

// 0: not known.
std::uint64_t network_namespace(int socket) noexcept {
  std::uint64_t cookie = 0;
  socklen_t length = sizeof cookie;
  return ::getsockopt(socket, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &length) == 0 ? cookie : 0;
}

bool is_tcp(int socket) noexcept {
  const int domain = option(socket, SO_DOMAIN);
  return (domain == AF_INET || domain == AF_INET6) && option(socket, SO_TYPE) == SOCK_STREAM && option(socket, SO_PROTOCOL) == IPPROTO_TCP;
}

bool is_established(int socket) noexcept {
  tcp_info info{};
  socklen_t length = sizeof info;
  return ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && info.tcpi_state == TCP_ESTABLISHED;
}

// TLS in the kernel, for one.
bool has_upper_protocol(int socket) noexcept {
  char name[16] = {};
  socklen_t length = sizeof name;
  return ::getsockopt(socket, IPPROTO_TCP, TCP_ULP, name, &length) != 0 || length != 0;
}

}  // namespace

std::uint64_t own_network_namespace() noexcept {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const std::uint64_t cookie = network_namespace(socket);
  ::close(socket);
  return cookie;
}

// What is no socket has answered nothing by then, so that no other file system is asked.
Status check_socket(int socket, uid_t user) {
  if (!is_tcp(socket)) return Status::error(MPI_ERR_OTHER, "only sockets of TCP can join");
  struct stat status {};
  if (::fstat(socket, &status) != 0 || status.st_uid != user)
    return Status::error(MPI_ERR_OTHER, "a socket can join only if the user of the rank has made it");
  if (!is_established(socket)) return Status::error(MPI_ERR_OTHER, "a socket can join only while its connection stands");
  if (has_upper_protocol(socket)) return Status::error(MPI_ERR_OTHER, "a socket with a protocol of the kernel's above TCP cannot join");
  const std::uint64_t here = own_network_namespace();
  if (here == 0 || network_namespace(socket) != here)
    return Status::error(MPI_ERR_OTHER, "a socket can join only in the accelerator's network namespace: each needs an accelerator of its own");
  return {};
}

}  // namespace lapwing::launch
