#include "mpiexec/input.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lapwing::launch {
namespace {

constexpr std::chrono::seconds kLookAgain(1);

}  // namespace

InputForwarder::~InputForwarder() {
  close();
}

Status InputForwarder::open(int& child_fd) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Status::error(MPI_ERR_OTHER, "cannot make a pipe for the input of rank 0: %s", std::strerror(errno));
  }
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  child_fd = ends[0];
  pipe_ = ends[1];
  loop_.add(pipe_, 0, [this](std::uint32_t events) { on_pipe(events); });
  refresh();
  return {};
}

void InputForwarder::refresh() {
  // Reading the terminal from the background would stop mpiexec.
  const bool foreground = ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
  const bool wanted = pipe_ >= 0 && pending_.empty();
  listen(foreground && wanted);
  next_look_.reset();
  if (wanted && !foreground) next_look_ = std::chrono::steady_clock::now() + kLookAgain;
}

void InputForwarder::on_time(Time now) {
  if (next_look_ && now >= *next_look_) refresh();
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
    refresh();
    return;
  }
  char bytes[4096];
  const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) {
    close();  // rank 0 sees the end of its input
    return;
  }
  pending_.append(bytes, static_cast<std::size_t>(count));
  hand_on();
}

// A pipe without a reader reports an error again and again until it is closed: rank 0 has closed its standard input, or has ended.
void InputForwarder::on_pipe(std::uint32_t events) {
  if ((events & EPOLLERR) != 0) {
    close();
  } else {
    hand_on();
  }
}

// The keyboard rests until the rank has taken what is pending.
void InputForwarder::hand_on() {
  const ssize_t count = pending_.empty() ? 0 : ::write(pipe_, pending_.data(), pending_.size());
  if (count < 0 && errno != EAGAIN && errno != EINTR) {
    close();
    return;
  }
  if (count > 0) pending_.erase(0, static_cast<std::size_t>(count));
  loop_.change(pipe_, pending_.empty() ? 0u : std::uint32_t{EPOLLOUT});
  refresh();
}

void InputForwarder::close() {
  listen(false);
  next_look_.reset();
  if (pipe_ < 0) return;
  loop_.remove(pipe_);
  ::close(pipe_);
  pipe_ = -1;
}

}  // namespace lapwing::launch
