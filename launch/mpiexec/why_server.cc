#include "mpiexec/why_server.h"

#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <utility>

namespace lapwing::launch {
namespace {

// -1 when there is none to be had.
int listen_under_random_name() {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) return -1;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // Abstract: the name begins with a zero byte and leaves nothing in the file system.
  const int length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s%d-%016llx", kWhySocket,
                                   static_cast<int>(::getpid()), static_cast<unsigned long long>(random));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0 && ::bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0 && ::listen(fd, 8) == 0) return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

bool is_of_our_user(int fd) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && (peer.uid == ::geteuid() || peer.uid == 0);
}

}  // namespace

WhyServer::WhyServer(EventLoop& loop, std::function<void(Answer)> asked)
    : loop_(loop), asked_(std::move(asked)), fd_(listen_under_random_name()) {
  if (fd_ >= 0) loop_.add(fd_, EPOLLIN, [this](std::uint32_t) { accept_client(); });
}

WhyServer::~WhyServer() {
  while (!clients_.empty()) drop(clients_.begin()->first);
  if (fd_ < 0) return;
  loop_.remove(fd_);
  ::close(fd_);
}

void WhyServer::accept_client() {
  const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    // Out of descriptors: a door that stays ready would keep the loop awake.
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
      loop_.remove(fd_);
      ::close(std::exchange(fd_, -1));
    }
    return;
  }
  if (!is_of_our_user(fd) || clients_.size() >= kMostClients) {
    ::close(fd);
    return;
  }
  const std::uint64_t id = next_id_++;
  clients_[id].fd = fd;
  loop_.add(fd, EPOLLRDHUP, [this, id](std::uint32_t events) { on_event(id, events); });
  asked_([this, id](const std::string& text) { answer(id, text); });
}

void WhyServer::answer(std::uint64_t id, const std::string& text) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  found->second.text = text;
  found->second.answered = true;
  loop_.change(found->second.fd, EPOLLOUT | EPOLLRDHUP);
}

void WhyServer::on_event(std::uint64_t id, std::uint32_t events) {
  Client& client = clients_.at(id);
  if ((events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0) return drop(id);
  if (!client.answered) return;
  const ssize_t count = ::send(client.fd, client.text.data() + client.sent, client.text.size() - client.sent,
                               MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count > 0) client.sent += static_cast<std::size_t>(count);
  if (count < 0 || client.sent == client.text.size()) drop(id);
}

void WhyServer::drop(std::uint64_t id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  loop_.remove(found->second.fd);
  ::close(found->second.fd);
  clients_.erase(found);
}

}  // namespace lapwing::launch
