// Where the long posts of one rank lie in its ring on a shared area (area_memory.h), and when they may be written over.
//
// Posts follow each other in the ring, and each is kept until all ranks have posted the round after its own. A rank that runs ahead has as many under
// way as the ring has room for. Otherwise it begins at the front again as early as it can, so that the same few lines stay in the caches; or, where
// lines take longer to write that the readers' caches still have (base/ring_trial.h), it goes through more of the ring, a lap, before it comes back:
//
//   | over, and free | posts that may still be read | not used since the front was free |
//   0 <- the next                                  head                               kBytes
//
// A reader has given a line up when as much has been read since as its caches hold, from the rings of all the others; so where there are more of
// them a lap may be shorter, and should be, because it touches memory that is new at first and does not fit any cache.
//
// Places are counted on from lap to lap, without end; in memory they are taken modulo kBytes. Pure: the caller says which rounds are over.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace lapwing::coll {

class PostRing {
 public:
  // As far as a rank may be ahead. Where ranks are more than cores, each time that it has to wait all others of its core have their turn first, which
  // takes as long as to copy some 100 KiB; so a block of a megabyte should not be waited for in the middle.
  static constexpr std::uint64_t kBytes = 2048 * 1024;
  // Of one post. Wherever the one before lies, which may still be read, there is room for another behind it or before it.
  static constexpr std::uint64_t kLongest = kBytes / 3 / 128 * 128;
  // Of a piece of what is longer, where each rank has a core: 256 KiB, and room for the table of a post that has a part for each rank (area_parts.h).
  // It is still in the caches when it is read.
  static constexpr std::uint64_t kPiece = (256 + 8) * 1024;
  // Of a piece where ranks may share cores: one that waits for its turn waits once for each piece.
  static constexpr std::uint64_t piece(bool oversubscribed) noexcept { return oversubscribed ? kLongest : kPiece; }
  static constexpr std::uint64_t kRounds = 64;           // a post is not kept longer than so many rounds
  static constexpr std::uint64_t kLong = 8 * 1024;
  static constexpr std::int64_t kNone = -1;

  // That of a ring among those of so many ranks: two megabytes where each of two has one. Longer posts than half of it go where the ring has room.
  static constexpr std::uint64_t lap(int ranks) noexcept {
    return std::max(2 * kBytes / static_cast<std::uint64_t>(ranks), 2 * kPiece);
  }
  explicit PostRing(std::uint64_t lap = kBytes) noexcept : lap_(lap) {}

  // The next posts of kLong and more go through a whole lap, and not to the front as soon as that is free.
  void go_whole_laps(bool whole) noexcept { whole_laps_ = whole; }

  // The round that all must have posted before `bytes` of the next post may be written, or kNone. All have posted the rounds below `complete`.
  std::int64_t needed(std::uint64_t bytes, std::uint64_t complete) const noexcept;
  // Takes the place for `bytes`, at most kLongest, of the post of `round`: where it begins in the ring.
  std::uint64_t take(std::uint64_t round, std::uint64_t bytes, std::uint64_t complete) noexcept;

 private:
  static constexpr std::uint64_t kAlignment = 128;
  struct Place {
    std::uint64_t begin = 0, end = 0;
    std::int64_t needed = kNone;
  };
  struct Post {
    std::uint64_t round, begin;
  };
  const Post& kept(std::uint64_t index) const noexcept { return posts_[index % kRounds]; }
  Place place_from(std::uint64_t begin, std::uint64_t bytes) const noexcept;
  Place place_for(std::uint64_t bytes, std::uint64_t complete) const noexcept;

  const std::uint64_t lap_;
  std::array<Post, kRounds> posts_;
  std::uint64_t first_ = 0, end_ = 0;  // of those that may still be read
  std::uint64_t head_ = 0;             // the end of the last one
  bool whole_laps_ = false;
};

}  // namespace lapwing::coll
