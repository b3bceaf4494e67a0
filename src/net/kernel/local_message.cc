#include "net/kernel/local_message.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/internal_error.h"

namespace lapwing::net::kernel {
namespace {

struct Envelope {
  iovec body;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(LocalMessage::kMostDescriptors * sizeof(int))> control{};
  msghdr header{};

  Envelope(void* bytes, std::size_t length) noexcept : body{bytes, length} {
    header.msg_iov = &body;
    header.msg_iovlen = 1;
  }
  void enclose(std::span<const int> descriptors) noexcept {
    if (descriptors.empty()) return;
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* entry = CMSG_FIRSTHDR(&header);
    entry->cmsg_level = SOL_SOCKET;
    entry->cmsg_type = SCM_RIGHTS;
    entry->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(entry), descriptors.data(), descriptors.size_bytes());
  }
};

void take_descriptors(msghdr& header, std::vector<bpf::Descriptor>& descriptors) {
  for (cmsghdr* entry = CMSG_FIRSTHDR(&header); entry != nullptr; entry = CMSG_NXTHDR(&header, entry)) {
    if (entry->cmsg_level != SOL_SOCKET || entry->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (entry->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(entry) + i * sizeof fd, sizeof fd);
      descriptors.emplace_back(fd);
    }
  }
}

}  // namespace

Status send_message(int socket, std::string_view bytes, std::span<const int> descriptors, int flags) {
  LAPWING_CHECK(descriptors.size() <= LocalMessage::kMostDescriptors);
  Envelope envelope(const_cast<char*>(bytes.data()), bytes.size());
  envelope.enclose(descriptors);
  ssize_t sent = 0;
  do sent = ::sendmsg(socket, &envelope.header, MSG_NOSIGNAL | flags);
  while (sent < 0 && errno == EINTR);
  if (sent == static_cast<ssize_t>(bytes.size())) return {};
  return Status::error(MPI_ERR_OTHER, "%s", std::strerror(errno));
}

Received receive_message(int socket, LocalMessage& message, int flags) {
  std::array<char, LocalMessage::kMostBytes> bytes;
  Envelope envelope(bytes.data(), bytes.size());
  envelope.header.msg_control = envelope.control.data();
  envelope.header.msg_controllen = envelope.control.size();
  message.bytes.clear();
  message.descriptors.clear();
  // The kernel tells first that the other side has closed without reading all, and then what that had said before.
  bool reset = false;
  ssize_t got = 0;
  do got = ::recvmsg(socket, &envelope.header, MSG_CMSG_CLOEXEC | flags);
  while (got < 0 && (errno == EINTR || (errno == ECONNRESET && !std::exchange(reset, true))));
  if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? Received::kNothingInTime : errno == ECONNRESET ? Received::kEnd : Received::kBroken;
  take_descriptors(envelope.header, message.descriptors);
  if ((envelope.header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return Received::kBroken;
  if (got == 0) return Received::kEnd;
  message.bytes.assign(bytes.data(), static_cast<std::size_t>(got));
  return Received::kMessage;
}

Status connect_local(const std::string& path, int milliseconds, bpf::Descriptor& connection) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return Status::error(MPI_ERR_OTHER, "its path is too long");
  std::copy(path.begin(), path.end(), address.sun_path);
  bpf::Descriptor made(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!made.open()) return Status::error(MPI_ERR_OTHER, "%s", std::strerror(errno));
  set_limit(made.fd(), milliseconds);
  if (::connect(made.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return Status::error(MPI_ERR_OTHER, "%s", std::strerror(errno));
  connection = std::move(made);
  return {};
}

// That of what is sent bounds connect() as well.
void set_limit(int socket, int milliseconds) noexcept {
  const timeval limit{milliseconds / 1000, milliseconds % 1000 * 1000};
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

}  // namespace lapwing::net::kernel
