// Whether the ranks of a host use their segment: all of them, or none and they go by TCP. A pair that disagreed would wait for ever.
//
// Two words in the segment's first page. A rank for which nothing can fail any more joins; the last one to join settles it:
// together. A rank that cannot join, or has waited long enough, settles it the other way: apart. The first to settle it wins, and
// nothing changes it again, so all ranks read the same. A rank that has never seen the segment may just go: without it the
// count is never complete.
//
// Each rank waits asleep; the leader, which has connections to look after meanwhile, is told through its doorbell. A rank that ends before it
// has joined settles nothing: now and then the leader looks whether all others live, and the others whether the leader does.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/clock.h"

namespace lapwing::net::shm {

struct AgreementWords {
  std::atomic<std::uint32_t> joined;
  std::atomic<std::uint32_t> outcome;  // an Agreement::Outcome; a futex
};

// Whether a process that is waited for has ended. It may take some system calls for each.
using HasEnded = std::function<bool()>;
inline constexpr std::int64_t kLookEvery = 500'000'000;  // nanoseconds

class Agreement {
 public:
  enum Outcome : std::uint32_t { kOpen = 0, kTogether = 1, kApart = 2 };

  // `leader_doorbell`: an eventfd.
  Agreement(AgreementWords& words, std::uint32_t ranks, int leader_doorbell) noexcept
      : words_(words), ranks_(ranks), leader_doorbell_(leader_doorbell) {}

  // Once, by each rank.
  void join() noexcept;
  // Without effect when it is settled.
  void go_apart() noexcept { settle(kApart); }
  Outcome outcome() const noexcept { return Outcome{words_.outcome.load(std::memory_order_acquire)}; }
  // Waits for the others; at the deadline, or when the leader has ended, the ranks go apart.
  Outcome wait(Clock& clock, std::int64_t deadline, const HasEnded& leader_has_ended) noexcept;

 private:
  void settle(Outcome outcome) noexcept;

  AgreementWords& words_;
  const std::uint32_t ranks_;
  const int leader_doorbell_;
};

}  // namespace lapwing::net::shm
