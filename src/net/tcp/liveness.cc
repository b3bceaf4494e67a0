#include "net/tcp/liveness.h"

#include <algorithm>

namespace lapwing::net::tcp {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMillisecond = 1'000'000;
// What the kernel takes.
constexpr std::int64_t kLongestProbing = 32767;                         // seconds
// So many in a row and a host that answers takes nothing more. One packet whose time stamp was damaged, and its checksum with it, is enough: to the
// other side's kernel all that follow are old (RFC 7323, 5.3), and it acknowledges and drops each, as long as the connection lasts. The fourth
// comes 3 s after the first sending, or 15 round trips if these are longer than 0.2 s.
constexpr int kResendsInVain = 4;
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
  return silent >= stall || heard.resends >= kResendsInVain ? Kind::kStall : Kind::kNone;
}

std::int64_t VainBreaks::note(std::int64_t now, std::uint64_t frames) noexcept {
  if (since_ == kNever || frames != frames_) since_ = now;
  frames_ = frames;
  return now - since_;
}

}  // namespace lapwing::net::tcp
