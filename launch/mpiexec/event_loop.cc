#include "mpiexec/event_loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <utility>

#include "base/internal_error.h"

namespace lapwing::launch {

EventLoop::EventLoop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  LAPWING_CHECK(epoll_ >= 0);
}

EventLoop::~EventLoop() {
  ::close(epoll_);
}

void EventLoop::add(int fd, std::uint32_t events, Handler handler) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  LAPWING_CHECK(::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0);
  handlers_[fd] = std::move(handler);
}

void EventLoop::change(int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  LAPWING_CHECK(::epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) == 0);
}

void EventLoop::remove(int fd) {
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  handlers_.erase(fd);
}

void EventLoop::run_once(int milliseconds) {
  epoll_event events[64];
  const int count = ::epoll_wait(epoll_, events, 64, milliseconds);
  for (int i = 0; i < count; ++i) {
    // An earlier handler of this round may have removed the descriptor. The copy lets a handler remove itself.
    const auto found = handlers_.find(events[i].data.fd);
    if (found == handlers_.end()) continue;
    const Handler handler = found->second;
    handler(events[i].events);
  }
}

}  // namespace lapwing::launch
