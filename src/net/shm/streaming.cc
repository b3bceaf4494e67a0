#include "net/shm/streaming.h"

namespace lapwing::net::shm {

void Streaming::begin(std::int64_t now, bool streamed, std::uint64_t payload, std::uint64_t present) noexcept {
  began_ = now;
  streamed_ = streamed;
  present_ = present <= payload / 2 ? present : payload;
}

void Streaming::end(std::int64_t now, std::uint64_t payload) {
  if (!selection_) {
    selection_ = std::make_unique<PathSelection>();
    selection_->allow(Path::kStream);
  }
  const Path path = streamed_ ? Path::kStream : Path::kRing;
  if (selection_->measured({path, payload, present_, began_, now})) store_relaxed(*in_, selection_->word());
}

}  // namespace lapwing::net::shm
