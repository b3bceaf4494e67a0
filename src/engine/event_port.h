// The event port: one epoll instance per endpoint. Descriptors are registered once and stay; the thread that drives dispatches.
#pragma once

#include <sys/epoll.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "engine/system_calls.h"

namespace lapwing::engine {

// Receives the readiness of one descriptor. Called with the endpoint's lock held.
class FdHandler {
 public:
  // `events` are EPOLL* bits. Edge-triggered: read and write until EAGAIN.
  virtual void on_ready(std::uint32_t events) noexcept = 0;

 protected:
  ~FdHandler() = default;
};

class EventPort {
 public:
  // Readiness as collected, not yet delivered. Belongs to the collecting thread.
  struct Batch {
    static constexpr int kMost = 64;
    int count = 0;
    epoll_event ready[kMost];  // the kernel gives tickets back
  };

  // Made by all parts of the endpoint; counted with the lock held.
  SystemCalls system_calls;

  EventPort() noexcept = default;
  ~EventPort();
  EventPort(const EventPort&) = delete;
  EventPort& operator=(const EventPort&) = delete;

  Status open();
  int fd() const noexcept { return epoll_; }

  // With the lock held. `events` as for epoll_ctl; the caller adds EPOLLET. The handler must outlive the registration.
  Status add(int fd, std::uint32_t events, FdHandler& handler);
  // Changes what `fd` is watched for.
  void change(int fd, std::uint32_t events) noexcept;
  // Nothing is announced of `fd` until it is back. What came meanwhile is announced on return. False when the kernel refuses
  // (memory, max_user_watches): it stays outside.
  void leave(int fd) noexcept;
  [[nodiscard]] bool come_back(int fd, std::uint32_t events) noexcept;
  // From here on the handler is not called, not even for readiness that another thread has collected already.
  void remove(int fd) noexcept;

  // Collects readiness; without the lock when it may sleep. `timeout_ms` as for epoll_wait.
  void collect(Batch& batch, int timeout_ms) noexcept;
  // The same, for so many nanoseconds at most.
  void collect_within(Batch& batch, std::int64_t timeout) noexcept;
  // With the lock held: calls the handlers. True when one was called.
  bool deliver(const Batch& batch) noexcept;

 private:
  // A registration. Its ticket (index and generation) is what epoll gives back, so stale readiness finds no handler.
  struct Slot {
    FdHandler* handler = nullptr;
    int fd = -1;
    std::uint32_t generation = 0;
  };
  std::uint64_t ticket(std::size_t index) const noexcept {
    return static_cast<std::uint64_t>(slots_[index].generation) << 32 | index;
  }
  std::size_t slot_of(int fd) const noexcept;

  int epoll_ = -1;
  std::vector<Slot> slots_;
  std::vector<std::size_t> free_slots_;
  std::vector<std::size_t> slot_by_fd_;  // index + 1; 0: none
};

}  // namespace lapwing::engine
