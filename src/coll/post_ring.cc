#include "coll/post_ring.h"

namespace lapwing::coll {

// Of the posts that lie where this one would, the last: those before it are over when it is.
PostRing::Place PostRing::place_from(std::uint64_t begin, std::uint64_t bytes) const noexcept {
  Place place{begin, begin + (bytes + kAlignment - 1) / kAlignment * kAlignment, kNone};
  for (std::uint64_t i = first_; i != end_ && kept(i).begin + kBytes < place.end; ++i)
    place.needed = static_cast<std::int64_t>(kept(i).round) + 1;
  return place;
}

PostRing::Place PostRing::place_for(std::uint64_t bytes, std::uint64_t complete) const noexcept {
  const std::uint64_t used = head_ % kBytes;
  const Place front = place_from(used == 0 ? head_ : head_ + kBytes - used, bytes);
  const bool front_is_free = front.needed < static_cast<std::int64_t>(complete);
  const bool goes_on = whole_laps_ && bytes >= kLong && used + bytes <= lap_;
  return used + bytes > kBytes || (front_is_free && !goes_on) ? front : place_from(head_, bytes);
}

std::int64_t PostRing::needed(std::uint64_t bytes, std::uint64_t complete) const noexcept {
  return place_for(bytes, complete).needed;
}

std::uint64_t PostRing::take(std::uint64_t round, std::uint64_t bytes, std::uint64_t complete) noexcept {
  const Place place = place_for(bytes, complete);
  while (first_ != end_ && (kept(first_).round + kRounds <= round || kept(first_).round + 1 < complete)) ++first_;
  posts_[end_++ % kRounds] = {round, place.begin};
  head_ = place.end;
  return place.begin % kBytes;
}

}  // namespace lapwing::coll
