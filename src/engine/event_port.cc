#include "engine/event_port.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/checked_call.h"
#include "base/internal_error.h"
#include "base/no_resource.h"

namespace lapwing::engine {

EventPort::~EventPort() {
  if (epoll_ >= 0) ::close(epoll_);
}

Status EventPort::open() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  return epoll_ < 0 ? no_descriptor("an epoll instance", errno) : Status();
}

Status EventPort::add(int fd, std::uint32_t events, FdHandler& handler) {
  if (free_slots_.empty()) {
    free_slots_.push_back(slots_.size());
    slots_.emplace_back();
  }
  const std::size_t index = free_slots_.back();
  epoll_event event{};
  event.events = events;
  event.data.u64 = ticket(index);
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0)
    return Status::error(MPI_ERR_NO_MEM, "cannot watch descriptor %d: %s; see /proc/sys/fs/epoll/max_user_watches", fd,
                         std::strerror(errno));
  free_slots_.pop_back();
  slots_[index].handler = &handler;
  slots_[index].fd = fd;
  if (slot_by_fd_.size() <= static_cast<std::size_t>(fd)) slot_by_fd_.resize(static_cast<std::size_t>(fd) + 1, 0);
  slot_by_fd_[static_cast<std::size_t>(fd)] = index + 1;
  return {};
}

std::size_t EventPort::slot_of(int fd) const noexcept {
  const auto position = static_cast<std::size_t>(fd);
  LAPWING_CHECK(fd >= 0 && position < slot_by_fd_.size() && slot_by_fd_[position] != 0);
  return slot_by_fd_[position] - 1;
}

void EventPort::change(int fd, std::uint32_t events) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.u64 = ticket(slot_of(fd));
  LAPWING_CHECK_CALL(epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event));
  ++system_calls.watches;
}

void EventPort::leave(int fd) noexcept {
  LAPWING_CHECK_CALL(epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr));
  ++system_calls.watches;
}

bool EventPort::come_back(int fd, std::uint32_t events) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.u64 = ticket(slot_of(fd));
  ++system_calls.watches;
  return epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
}

void EventPort::remove(int fd) noexcept {
  const std::size_t index = slot_of(fd);
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  slots_[index].handler = nullptr;
  slots_[index].fd = -1;
  ++slots_[index].generation;
  slot_by_fd_[static_cast<std::size_t>(fd)] = 0;
  free_slots_.push_back(index);
}

// A sleep that a signal has ended finds nothing; the caller looks again.
void EventPort::collect(Batch& batch, int timeout_ms) noexcept {
  batch.count = std::max(epoll_wait(epoll_, batch.ready, Batch::kMost, timeout_ms), 0);
}

void EventPort::collect_within(Batch& batch, std::int64_t timeout) noexcept {
  const timespec limit{.tv_sec = timeout / 1'000'000'000, .tv_nsec = timeout % 1'000'000'000};
  const int slack = prctl(PR_GET_TIMERSLACK);
  prctl(PR_SET_TIMERSLACK, 1);  // the kernel allows ordinary threads to be woken 50 us late
  batch.count = static_cast<int>(syscall(SYS_epoll_pwait2, epoll_, batch.ready, Batch::kMost, &limit, nullptr, 0));
  // Before Linux 5.11, or forbidden to a container: whole milliseconds, and no sleep below one.
  if (batch.count < 0 && errno != EINTR) collect(batch, static_cast<int>(timeout / 1'000'000));
  batch.count = std::max(batch.count, 0);
  if (slack > 0) prctl(PR_SET_TIMERSLACK, slack);
}

bool EventPort::deliver(const Batch& batch) noexcept {
  bool delivered = false;
  for (int i = 0; i < batch.count; ++i) {
    const std::size_t index = batch.ready[i].data.u64 & 0xffffffffu;
    const auto generation = static_cast<std::uint32_t>(batch.ready[i].data.u64 >> 32);
    if (index >= slots_.size() || slots_[index].generation != generation || slots_[index].handler == nullptr) continue;
    slots_[index].handler->on_ready(batch.ready[i].events);
    delivered = true;
  }
  return delivered;
}

}  // namespace lapwing::engine
