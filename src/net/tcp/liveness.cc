#include "net/tcp/liveness.h"

#include <algorithm>

namespace lapwing::net::tcp {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMillisecond = 1'000'000;
// What the kernel takes.
constexpr std::int64_t kLongestProbing = 32767;                         // seconds
constexpr std::int64_t kShortestRetry = 1000, kLongestRetry = 120'000;  // ms

int clamped(std::int64_t value, std::int64_t least, std::int64_t most) noexcept {
  return static_cast<int>(std::clamp(value, least, most));
}

}  // namespace

KernelPatience kernel_patience(std::int64_t patience) noexcept {
  const std::int64_t seconds = (patience + kSecond - 1) / kSecond;
  KernelPatience kernel;
  kernel.idle = clamped(seconds / 4, 1, kLongestProbing);
  kernel.between = clamped(seconds / 12, 1, kLongestProbing);
  kernel.probes = clamped((seconds + kernel.between - 1) / kernel.between + 1, 2, 127);
  kernel.longest_retry = clamped(patience / kMillisecond / 5, kShortestRetry, kLongestRetry);
  return kernel;
}

// The kernel may not have tried for some time, and then the host could not answer: so the tries, too, must span the patience, within
// reason.
Silence::Kind Silence::judge(std::int64_t now, const Socket::Acknowledgement& heard, std::int64_t stall,
                             std::int64_t patience) noexcept {
  if (!heard.unanswered) {
    since_ = kNone;
    return Kind::kNone;
  }
  if (since_ == kNone || heard.silent_for < now - since_) since_ = now;
  const std::int64_t silent = now - since_, tried = silent - heard.tried_before;
  if (silent >= patience && (tried >= patience || silent >= patience + patience / 4)) return Kind::kGone;
  return silent >= stall ? Kind::kStall : Kind::kNone;
}

}  // namespace lapwing::net::tcp
