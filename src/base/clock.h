// Time as the engine sees it. A test gives a ManualClock and decides itself when time passes.
#pragma once

#include <time.h>

#include <cstdint>

namespace lapwing {

class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds of a monotonic clock.
  virtual std::int64_t now() noexcept = 0;
};

class SteadyClock final : public Clock {
 public:
  std::int64_t now() noexcept override {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  }
};

class ManualClock final : public Clock {
 public:
  std::int64_t now() noexcept override { return now_; }
  void advance(std::int64_t nanoseconds) noexcept { now_ += nanoseconds; }

 private:
  std::int64_t now_ = 0;
};

}  // namespace lapwing
