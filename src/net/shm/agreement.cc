#include "net/shm/agreement.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/futex.h"

namespace lapwing::net::shm {

void Agreement::join() noexcept {
  if (words_.joined.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks_) settle(kTogether);
}

void Agreement::settle(Outcome outcome) noexcept {
  std::uint32_t open = kOpen;
  if (!words_.outcome.compare_exchange_strong(open, outcome, std::memory_order_acq_rel)) return;
  futex_wake_shared(words_.outcome, INT_MAX);
  const std::uint64_t one = 1;
  while (::write(leader_doorbell_, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

Agreement::Outcome Agreement::wait(Clock& clock, std::int64_t deadline, const HasEnded& leader_has_ended) noexcept {
  while (outcome() == kOpen) {
    const std::int64_t left = deadline - clock.now();
    if (left > 0) futex_wait_shared_for(words_.outcome, kOpen, std::min(left, kLookEvery));
    if (left <= 0 || (outcome() == kOpen && leader_has_ended())) go_apart();
  }
  return outcome();
}

}  // namespace lapwing::net::shm
