#include "net/shm/streaming.h"

#include <algorithm>

namespace lapwing::net::shm {

void Streaming::begin(std::int64_t now, bool streamed, std::uint64_t payload, std::uint64_t present) noexcept {
  began_ = now;
  streamed_ = streamed;
  timed_ = present < payload ? payload - present : 0;
}

void Streaming::end(std::int64_t now, std::uint64_t payload) {
  const std::int64_t time = now - std::max(began_, ended_);
  ended_ = now;
  if (timed_ == 0) return;
  if (!selection_) {
    selection_ = std::make_unique<PathSelection>();
    selection_->allow(Path::kStream);
  }
  const double whole = static_cast<double>(time) * static_cast<double>(payload) / static_cast<double>(timed_);
  if (selection_->measured(streamed_ ? Path::kStream : Path::kRing, payload, static_cast<std::int64_t>(whole)))
    store_relaxed(*in_, selection_->word());
}

}  // namespace lapwing::net::shm
