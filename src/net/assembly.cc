#include "net/assembly.h"

#include "base/bulk_copy.h"

namespace lapwing::net {

std::size_t Assembly::segments(iovec* segments, std::size_t capacity, std::uint64_t least,
                               std::uint64_t& bytes) noexcept {
  bytes = 0;
  if (!under_way_ || front_ >= landing_.accepted) return 0;
  const std::uint64_t rest = landing_.accepted - front_;
  if (rest < least) return 0;
  if (landing_.base != nullptr) {
    segments[0] = {landing_.base + front_, static_cast<std::size_t>(rest)};
    bytes = rest;
    return 1;
  }
  if (landing_.walk->prefers_copy()) return 0;
  const std::size_t count = walk_to_front().peek(segments, capacity);
  for (std::size_t i = 0; i < count; ++i) {
    segments[i].iov_len = static_cast<std::size_t>(std::min<std::uint64_t>(segments[i].iov_len, rest - bytes));
    bytes += segments[i].iov_len;
    if (bytes == rest) return i + 1;
  }
  return count;
}

bool Assembly::place(std::uint64_t offset, const std::byte* bytes, std::uint64_t count) {
  if (offset > payload_bytes_ || count > payload_bytes_ - offset) return false;
  if (offset > front_ && parts_.size() == kMostParts) return false;
  const std::uint64_t end = offset + count;
  std::uint64_t at = std::max(offset, front_);
  for (const Part& part : parts_) {
    if (at >= end || part.begin >= end) break;
    if (part.begin > at) put(at, bytes + (at - offset), part.begin - at);
    at = std::max(at, part.end);
  }
  if (at < end) put(at, bytes + (at - offset), end - at);
  if (end > front_) remember({std::max(offset, front_), end});
  if (complete() && landing_.walk != nullptr) landing_.walk->seek(origin_ + landing_.accepted);
  return true;
}

void Assembly::put(std::uint64_t offset, const std::byte* bytes, std::uint64_t count) noexcept {
  if (offset >= landing_.accepted) return;
  const auto kept = static_cast<std::size_t>(std::min(count, landing_.accepted - offset));
  if (landing_.base != nullptr) {
    plain_copy(landing_.base + offset, bytes, kept);
    return;
  }
  landing_.walk->seek(origin_ + offset);
  landing_.walk->scatter(bytes, kept);
}

// Parts that touch become one, and those that touch the front move it on.
void Assembly::remember(Part part) {
  const auto first =
      std::find_if(parts_.begin(), parts_.end(), [&](const Part& other) { return other.end >= part.begin; });
  auto last = first;
  for (; last != parts_.end() && last->begin <= part.end; ++last) {
    part.begin = std::min(part.begin, last->begin);
    part.end = std::max(part.end, last->end);
  }
  const auto next = parts_.erase(first, last);
  if (part.begin <= front_)
    front_ = part.end;
  else
    parts_.insert(next, part);
}

}  // namespace lapwing::net
