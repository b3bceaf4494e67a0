#include "mpiexec/output.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <utility>

namespace lapwing::launch {
namespace {

// A line longer than this is passed on in parts.
constexpr std::size_t kMaxPending = 1 << 20;
// A paused target is read for again when less than this waits, so that pausing costs little per byte.
constexpr std::size_t kResume = OutputStream::kLimit / 2;

bool lead_to_the_same_file(int first, int second) {
  struct stat one;
  struct stat other;
  return ::fstat(first, &one) == 0 && ::fstat(second, &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

bool means_no_reader(int error) {
  return error == EPIPE || error == ECONNRESET;
}

}  // namespace

OutputForwarder::OutputForwarder(EventLoop& loop, bool label, std::function<void(const std::string&)> on_failure)
    : loop_(loop),
      label_(label),
      on_failure_(std::move(on_failure)),
      wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  const bool together = lead_to_the_same_file(STDOUT_FILENO, STDERR_FILENO);
  targets_.push_back(
      {std::make_unique<OutputStream>(STDOUT_FILENO, wake_fd_), together ? "the output" : "standard output"});
  if (!together) targets_.push_back({std::make_unique<OutputStream>(STDERR_FILENO, wake_fd_), "standard error"});
  loop_.add(wake_fd_, EPOLLIN, [this](std::uint32_t) { on_wake(); });
}

OutputForwarder::~OutputForwarder() {
  for (std::size_t index = 0; index < channels_.size(); ++index) close_channel(index);
  loop_.remove(wake_fd_);
  ::close(wake_fd_);
}

Status OutputForwarder::open(int rank, int stream, int& child_fd) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Status::error(MPI_ERR_OTHER, "cannot make a pipe for the output of rank %d: %s", rank, std::strerror(errno));
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  child_fd = ends[1];
  Channel channel;
  channel.fd = ends[0];
  channel.rank = rank;
  channel.target = target_of(stream);
  channels_.push_back(std::move(channel));
  if (!targets_[target_of(stream)].paused) listen(channels_.size() - 1, true);
  return {};
}

void OutputForwarder::say(const std::string& text) {
  OutputStream& stream = *targets_[target_of(STDERR_FILENO)].stream;
  stream.write(stream.in_line() ? "\n" + text : text);
}

// True when there was something to read.
bool OutputForwarder::read_channel(std::size_t index) {
  Channel& channel = channels_[index];
  char bytes[65536];
  const ssize_t count = ::read(channel.fd, bytes, sizeof bytes);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return errno == EINTR;
  if (count <= 0) {
    flush(channel);
    close_channel(index);
    return false;
  }
  channel.pending.append(bytes, static_cast<std::size_t>(count));
  write_lines(channel);
  if (targets_[channel.target].stream->full()) pause(channel.target);
  return true;
}

void OutputForwarder::read_all(std::size_t index) {
  while (channels_[index].fd >= 0 && !targets_[channels_[index].target].paused && read_channel(index)) {
  }
}

// A carriage return ends a line too: progress bars live on it.
void OutputForwarder::write_lines(Channel& channel) {
  const std::size_t last = channel.pending.find_last_of("\n\r");
  const std::size_t complete = last != std::string::npos ? last + 1 : 0;
  const std::size_t ready = channel.pending.size() - complete > kMaxPending ? channel.pending.size() : complete;
  if (ready == 0) return;
  const std::string text = channel.pending.substr(0, ready);
  channel.pending.erase(0, ready);
  channel.unfinished_since.reset();
  write_text(channel, text);
}

void OutputForwarder::write_text(Channel& channel, std::string_view text) {
  if (text.empty()) return;
  Target& target = targets_[channel.target];
  target.stream->write(label_ ? labelled(target, channel.rank, text) : text);
}

// A line that another rank has begun stays its own: this rank's text begins a new one.
std::string OutputForwarder::labelled(Target& target, int rank, std::string_view text) const {
  const std::string label = "[" + std::to_string(rank) + "] ";
  bool in_line = target.stream->in_line() && target.rank_in_line == rank;
  std::string result = target.stream->in_line() && !in_line ? "\n" : "";
  while (!text.empty()) {
    const std::size_t end = text.find_first_of("\n\r");
    const std::size_t length = end == std::string_view::npos ? text.size() : end + 1;
    if (!in_line) result += label;
    result += text.substr(0, length);
    in_line = end == std::string_view::npos;
    text.remove_prefix(length);
  }
  target.rank_in_line = rank;
  return result;
}

// While a target is paused the rest of the line may wait in the pipe.
bool OutputForwarder::is_unfinished(const Channel& channel) const noexcept {
  return !channel.pending.empty() && !targets_[channel.target].paused;
}

void OutputForwarder::flush(Channel& channel) {
  channel.unfinished_since.reset();
  write_text(channel, std::exchange(channel.pending, {}));
}

void OutputForwarder::flush_unfinished() {
  for (Channel& channel : channels_) {
    if (is_unfinished(channel)) flush(channel);
  }
}

void OutputForwarder::flush_unfinished(int rank) {
  for (Channel& channel : channels_) {
    if (channel.rank == rank && is_unfinished(channel)) flush(channel);
  }
}

std::optional<OutputForwarder::Time> OutputForwarder::deadline() const noexcept {
  std::optional<Time> first;
  for (const Channel& channel : channels_) {
    if (!channel.unfinished_since || !is_unfinished(channel)) continue;
    if (!first || *channel.unfinished_since < *first) first = channel.unfinished_since;
  }
  if (first) *first += kPatience;
  return first;
}

void OutputForwarder::on_time(Time now) {
  for (Channel& channel : channels_) {
    if (!is_unfinished(channel)) continue;
    if (!channel.unfinished_since) channel.unfinished_since = now;
    if (now - *channel.unfinished_since >= kPatience) flush(channel);
  }
}

// One look per pipe, which holds no more than the look takes: a rank that never stops writing cannot keep us here.
void OutputForwarder::take_present() {
  for (std::size_t index = 0; index < channels_.size(); ++index) {
    if (channels_[index].fd >= 0 && !targets_[channels_[index].target].paused) read_channel(index);
  }
}

bool OutputForwarder::deliver() {
  for (const Target& target : targets_) target.stream->set_wake(true);
  for (std::size_t index = 0; index < channels_.size(); ++index) read_all(index);
  flush_unfinished();
  notice_failures();
  // A paused target may have been written out by now, but its pipes were not read to the end.
  const bool any_paused =
      std::any_of(targets_.begin(), targets_.end(), [](const Target& target) { return target.paused; });
  return backlog() == 0 && !any_paused;
}

std::size_t OutputForwarder::backlog() const {
  std::size_t sum = 0;
  for (const Target& target : targets_) sum += target.stream->backlog();
  return sum;
}

void OutputForwarder::give_up_delivery() {
  constexpr std::chrono::milliseconds kPatience(200);
  const Target& stopped = targets_.front().stream->backlog() > 0 ? targets_.front() : targets_.back();
  say("mpiexec: the reader of " + std::string(stopped.name) + " has stopped reading; " + std::to_string(backlog()) +
      " bytes that the ranks wrote are lost\n");
  [[maybe_unused]] const bool told = targets_.back().stream->settle(kPatience);
}

// ---- when the reader is slow, or gone -------------------------------------------------------------------------------

void OutputForwarder::on_wake() {
  std::uint64_t count;
  [[maybe_unused]] const ssize_t ignored = ::read(wake_fd_, &count, sizeof count);
  notice_failures();
  for (std::size_t target = 0; target < targets_.size(); ++target) {
    if (targets_[target].paused && targets_[target].stream->backlog() <= kResume) resume(target);
  }
}

void OutputForwarder::notice_failures() {
  for (std::size_t target = 0; target < targets_.size(); ++target) {
    if (!targets_[target].failed && targets_[target].stream->error() != 0) fail(target);
  }
}

// Without a reader the ranks meet the broken pipe themselves, as they would in a pipeline of their own. Any other error
// would come to them as a broken pipe too, which is not what happened; so their output is taken and dropped.
void OutputForwarder::fail(std::size_t target) {
  targets_[target].failed = true;
  const int error = targets_[target].stream->error();
  if (!means_no_reader(error)) {
    on_failure_(std::string("cannot write to ") + targets_[target].name + ": " + std::strerror(error));
    return;
  }
  for (std::size_t index = 0; index < channels_.size(); ++index) {
    if (channels_[index].target == target) close_channel(index);
  }
}

void OutputForwarder::pause(std::size_t target) {
  targets_[target].paused = true;
  targets_[target].stream->set_wake(true);
  // Written in the meantime, and so without a wake-up to come.
  if (targets_[target].stream->backlog() <= kResume) {
    targets_[target].paused = false;
    return;
  }
  for (std::size_t index = 0; index < channels_.size(); ++index) {
    if (channels_[index].target == target) listen(index, false);
  }
}

void OutputForwarder::resume(std::size_t target) {
  targets_[target].paused = false;
  targets_[target].stream->set_wake(false);
  for (std::size_t index = 0; index < channels_.size(); ++index) {
    if (channels_[index].target != target) continue;
    channels_[index].unfinished_since.reset();  // its pipe was not read in the meantime
    listen(index, true);
  }
}

void OutputForwarder::listen(std::size_t index, bool wanted) {
  const int fd = channels_[index].fd;
  if (fd < 0) return;
  if (wanted) {
    loop_.add(fd, EPOLLIN, [this, index](std::uint32_t) { read_channel(index); });
  } else {
    loop_.remove(fd);
  }
}

void OutputForwarder::close_channel(std::size_t index) {
  Channel& channel = channels_[index];
  if (channel.fd < 0) return;
  loop_.remove(channel.fd);
  ::close(channel.fd);
  channel.fd = -1;
  channel.pending.clear();
  channel.unfinished_since.reset();
}

}  // namespace lapwing::launch
