#include "mpiexec/output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lapwing::launch {
namespace {

// A line longer than this is passed on in parts.
constexpr std::size_t kMaxPending = 1 << 20;

// False when nobody reads our output any more.
bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      // Somebody who shares our terminal made it non-blocking.
      pollfd wait{fd, POLLOUT, 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace

OutputForwarder::OutputForwarder(EventLoop& loop, bool label) : loop_(loop), label_(label) {}

OutputForwarder::~OutputForwarder() {
  for (Channel& channel : channels_) close_channel(channel);
}

Status OutputForwarder::open(int rank, int stream, int& child_fd) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Status::error(MPI_ERR_OTHER, "cannot make a pipe for the output of rank %d: %s", rank, std::strerror(errno));
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  child_fd = ends[1];
  const std::size_t index = channels_.size();
  Channel channel;
  channel.fd = ends[0];
  channel.rank = rank;
  channel.stream = stream;
  channels_.push_back(std::move(channel));
  loop_.add(ends[0], EPOLLIN, [this, index](std::uint32_t) { read_channel(index); });
  return {};
}

// True when there was something to read.
bool OutputForwarder::read_channel(std::size_t index) {
  Channel& channel = channels_[index];
  char bytes[65536];
  const ssize_t count = ::read(channel.fd, bytes, sizeof bytes);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return errno == EINTR;
  if (count <= 0) {
    write_text(channel, channel.pending);
    close_channel(channel);
    return false;
  }
  channel.pending.append(bytes, static_cast<std::size_t>(count));
  write_lines(channel);
  return true;
}

// A carriage return ends a line too: progress bars live on it.
void OutputForwarder::write_lines(Channel& channel) {
  const std::size_t last = channel.pending.find_last_of("\n\r");
  const std::size_t complete = last != std::string::npos ? last + 1 : 0;
  const std::size_t ready = channel.pending.size() - complete > kMaxPending ? channel.pending.size() : complete;
  if (ready == 0) return;
  std::string text = channel.pending.substr(0, ready);
  channel.pending.erase(0, ready);
  write_text(channel, text);
}

void OutputForwarder::write_text(Channel& channel, std::string_view text) {
  if (text.empty()) return;
  bool taken = true;
  if (!label_) {
    taken = write_all(channel.stream, text);
  } else {
    std::string labelled;
    const std::string label = std::string("[").append(std::to_string(channel.rank)).append("] ");
    while (!text.empty()) {
      const std::size_t end = text.find_first_of("\n\r");
      const std::size_t length = end == std::string_view::npos ? text.size() : end + 1;
      if (!channel.in_line) labelled += label;
      labelled += text.substr(0, length);
      channel.in_line = end == std::string_view::npos;
      text.remove_prefix(length);
    }
    taken = write_all(channel.stream, labelled);
  }
  // The rank then meets the broken pipe itself, as it would in a pipeline of its own.
  if (!taken) close_channel(channel);
}

bool OutputForwarder::has_unfinished() const noexcept {
  for (const Channel& channel : channels_) {
    if (!channel.pending.empty()) return true;
  }
  return false;
}

void OutputForwarder::flush_unfinished() {
  for (Channel& channel : channels_) {
    std::string text;
    text.swap(channel.pending);
    write_text(channel, text);
  }
}

void OutputForwarder::drain() {
  for (std::size_t index = 0; index < channels_.size(); ++index) {
    while (channels_[index].fd >= 0 && read_channel(index)) {
    }
  }
  flush_unfinished();
}

void OutputForwarder::close_channel(Channel& channel) {
  if (channel.fd < 0) return;
  loop_.remove(channel.fd);
  ::close(channel.fd);
  channel.fd = -1;
  channel.pending.clear();
}

}  // namespace lapwing::launch
