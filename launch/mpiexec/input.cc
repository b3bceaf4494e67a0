#include "mpiexec/input.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lapwing::launch {

InputForwarder::~InputForwarder() {
  listen(false);
  close_pipe();
}

Status InputForwarder::open(int& child_fd) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Status::error(MPI_ERR_OTHER, "cannot make a pipe for the input of rank 0: %s", std::strerror(errno));
  }
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  child_fd = ends[0];
  pipe_ = ends[1];
  loop_.add(pipe_, 0, [this](std::uint32_t) { on_pipe(); });
  refresh();
  return {};
}

void InputForwarder::refresh() {
  // Reading the terminal from the background would stop mpiexec.
  const bool foreground = ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
  listen(foreground && pipe_ >= 0 && pending_.empty());
}

void InputForwarder::listen(bool wanted) {
  if (wanted == listening_) return;
  listening_ = wanted;
  if (wanted) {
    loop_.add(STDIN_FILENO, EPOLLIN, [this](std::uint32_t) { on_keyboard(); });
  } else {
    loop_.remove(STDIN_FILENO);
  }
}

void InputForwarder::on_keyboard() {
  if (::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) {
    listen(false);
    return;
  }
  char bytes[4096];
  const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) {
    listen(false);
    close_pipe();  // rank 0 sees the end of its input
    return;
  }
  pending_.append(bytes, static_cast<std::size_t>(count));
  on_pipe();
}

// Hands on what is pending; the keyboard rests until the rank has taken it.
void InputForwarder::on_pipe() {
  const ssize_t count = pending_.empty() ? 0 : ::write(pipe_, pending_.data(), pending_.size());
  if (count < 0 && errno != EAGAIN && errno != EINTR) {
    listen(false);
    close_pipe();
    return;
  }
  if (count > 0) pending_.erase(0, static_cast<std::size_t>(count));
  loop_.change(pipe_, pending_.empty() ? 0u : std::uint32_t{EPOLLOUT});
  refresh();
}

void InputForwarder::close_pipe() {
  if (pipe_ < 0) return;
  loop_.remove(pipe_);
  ::close(pipe_);
  pipe_ = -1;
}

}  // namespace lapwing::launch
