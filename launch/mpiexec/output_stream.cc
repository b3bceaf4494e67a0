#include "mpiexec/output_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace lapwing::launch {
namespace {

// Written by one call, so that a slow reader's progress shows.
constexpr std::size_t kPiece = 16384;

// Returns 0 or errno.
int write_piece(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      // Another process that shares our output made it non-blocking.
      pollfd wait{fd, POLLOUT, 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

struct OutputStream::Shared {
  Shared(int output, int wake) : fd(output), wake_fd(::fcntl(wake, F_DUPFD_CLOEXEC, 3)) {}
  ~Shared() { ::close(wake_fd); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  void run();  // the thread
  void write_out(std::string_view text, std::unique_lock<std::mutex>& lock);

  const int fd;
  const int wake_fd;
  std::mutex mutex;
  std::condition_variable changed;
  std::condition_variable written;
  std::string queue;        // not yet taken by the thread
  std::size_t backlog = 0;  // the queue and what the thread still writes
  int error = 0;
  bool started = false;
  bool wake = false;
  bool stopped = false;
};

OutputStream::OutputStream(int fd, int wake_fd) : shared_(std::make_shared<Shared>(fd, wake_fd)) {}

OutputStream::~OutputStream() {
  const std::lock_guard lock(shared_->mutex);
  shared_->stopped = true;
  shared_->changed.notify_one();
}

void OutputStream::write(std::string_view text) {
  if (text.empty()) return;
  in_line_ = text.back() != '\n' && text.back() != '\r';
  const std::lock_guard lock(shared_->mutex);
  if (shared_->error != 0) return;
  // Started when there is something to write: a job on a terminal often writes nothing through mpiexec.
  if (!shared_->started && !start()) {
    shared_->error = write_piece(shared_->fd, text);
    return;
  }
  shared_->queue += text;
  shared_->backlog += text.size();
  shared_->changed.notify_one();
}

// False where the user may have no further thread. That is just when mpiexec has something to tell, so the caller writes.
bool OutputStream::start() {
  try {
    std::thread([shared = shared_] { shared->run(); }).detach();
  } catch (const std::system_error&) {
    return false;
  }
  shared_->started = true;
  return true;
}

void OutputStream::Shared::run() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return stopped || !queue.empty(); });
    if (stopped) return;
    write_out(std::exchange(queue, {}), lock);
    if (error != 0) queue.clear();
    written.notify_all();
    if (wake || error != 0) {
      const std::uint64_t one = 1;
      [[maybe_unused]] const ssize_t ignored = ::write(wake_fd, &one, sizeof one);
    }
  }
}

void OutputStream::Shared::write_out(std::string_view text, std::unique_lock<std::mutex>& lock) {
  for (std::size_t written = 0; written < text.size() && error == 0;) {
    const std::string_view piece = text.substr(written, kPiece);
    lock.unlock();
    const int result = write_piece(fd, piece);
    lock.lock();
    written += piece.size();
    error = result;
    backlog = error == 0 ? backlog - piece.size() : 0;
  }
}

void OutputStream::set_wake(bool wanted) {
  const std::lock_guard lock(shared_->mutex);
  shared_->wake = wanted;
}

bool OutputStream::full() const {
  return backlog() > kLimit;
}

std::size_t OutputStream::backlog() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->backlog;
}

bool OutputStream::settle(std::chrono::milliseconds patience) const {
  std::unique_lock lock(shared_->mutex);
  return shared_->written.wait_for(lock, patience, [this] { return shared_->backlog == 0; });
}

int OutputStream::error() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->error;
}

}  // namespace lapwing::launch
