// Shared areas: memory through which the ranks of a communicator, all on one host, carry out collective operations. A message has a
// sender and a receiver; what is posted on an area is there for all.
//
// The use of an area goes in rounds. In each round every rank posts once: "I am here", or that and some bytes. A rank posts a round
// only after it has read all it wants of the rounds before; so when all have posted round r, no rank reads round r - 1 any more.
// That alone tells when memory may be written again:
//
//   slot    one per rank and round, of the last 64 rounds: the stamp (round + 1, the length of a short post and flags, written last), what
//           the post belongs to, and up to 112 bytes. A rank that waits for a small operand fetches the one cache line that it has
//           to fetch anyway.
//   ring    one per rank: longer posts, one after the other (post_ring.h); the slot says where, and how long. Between two ranks those of
//           up to 264 KiB lie in cells, which change hands (base/handed_cells.h).
//
//     Why not one counter of arrivals: two ranks would each fetch its line twice, once to count and once to look; and the stamps
//     carry data. Looking at all stamps costs one line per rank and round, however often one looks: each is read until it is there.
//
// Stamps only ever grow, over all uses of an area: nothing is wiped when a communicator gives its area back. A stamp has 54 bits
// for the round: centuries of rounds.
//
// Every post says what it belongs to, in 64 bits that must be the same on all ranks (coll/description.h). A rank that looks at the
// stamp of the round that it has posted itself compares: that line is at hand, so it costs next to nothing. The last rank to post
// with Wakes::kAll sees the posts of all, so that no difference in such a round stays unseen.
//
// A post may also say where bytes lie, or are to be put, in the memory of its rank. The rank that has copied them acknowledges the round, which is no
// post, and the other one waits for that: so a rank that posts nothing of the kind waits for no other.
//
// A member that leaves says so on the area, and a rank that ends, for all areas of its host (pool_memory.h). What it has posted still
// counts; a wait for what it has not posted ends with an error.
//
// Where the kernel lets ranks read and write each other's memory, long operands need not lie in the area at all: a rank posts where its
// buffer is, and others copy from there, or to there, once (direct_on_area.cc). All ranks must begin with that at the same call, without a
// word to each other; may_copy_directly() tells how they do.
//
// What waits is a Watcher. How it sleeps, and what wakes it, is told in area_pool.h. An area is made, used and destroyed with
// the endpoint's lock held.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/bulk_copy.h"
#include "base/memory_order.h"
#include "base/ring_trial.h"
#include "base/status.h"
#include "coll/area_memory.h"
#include "coll/description.h"
#include "coll/pool_memory.h"
#include "net/host_memory.h"

namespace lapwing::coll {

class AreaPool;

class SharedArea {
 public:
  static constexpr int kAll = -1, kNone = -1;
  static constexpr std::uint64_t kMostBytes = PostRing::kLongest;
  static constexpr std::uint64_t kByMessage = AreaSlot::kByMessage, kInPlace = AreaSlot::kInPlace;
  // What a rank may wait for.
  enum class Sign : std::uint8_t { kPost, kAcknowledgement };

  // What a wait has to hope for.
  enum class Outlook {
    kThere,   // it has been posted
    kNotYet,  // it may be
    kNever,   // a member has gone without posting it: why_never()
  };
  // What one rank posted in one round.
  struct Posted {
    const std::byte* data;
    std::uint64_t bytes;
    bool of_this_call;    // as far as the ranks agree on it
    std::uint64_t flags;  // of AreaSlot; none where it is not

    bool by_message() const noexcept { return (flags & kByMessage) != 0; }
    bool in_place() const noexcept { return (flags & kInPlace) != 0; }
    bool claimed() const noexcept { return (flags & AreaSlot::kClaimed) != 0; }
  };
  // A rank whose post belongs to something else than ours in the same round; kNone: no such rank has been seen.
  struct Difference {
    int rank = kNone;
    std::uint64_t what = 0;
    std::uint64_t ours = 0;
  };

  class Watcher {
   public:
    virtual void on_posted() noexcept = 0;
    // It will not be: a member has gone.
    virtual void on_member_lost(const Status& why) noexcept = 0;

   protected:
    ~Watcher() = default;
  };

  // Its members, in the order of ranks.
  struct Members {
    std::vector<std::uint32_t> locals;  // their numbers on the host
    std::vector<int> ranks;             // in the communicator; on the area they count from 0
  };
  SharedArea(AreaPool& pool, unsigned number, const PoolMemory& memory, Members members, int rank) noexcept;
  ~SharedArea();
  SharedArea(const SharedArea&) = delete;
  SharedArea& operator=(const SharedArea&) = delete;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  // The rank that a member has in the communicator.
  int rank_of(int member) const noexcept { return members_.ranks[static_cast<std::size_t>(member)]; }

  // The next `count` rounds, for one operation; all ranks take them in the same order. Returns the first.
  std::uint64_t take_rounds(std::uint32_t count) noexcept {
    const std::uint64_t first = next_round_;
    next_round_ += count;
    return first;
  }

  // ---- copying directly

  // Whether the next call may be carried out by direct copies: the same answer on all ranks for the same call. Every member says in the area
  // whether it reaches all others, as soon as it opens it. When rank 0 sees that all do, it names a round that is further on than any
  // rank can have posted by then; and the ranks begin with the first call before which a blocking call has ended behind that round. What
  // round that one ended with is the same on all ranks, and by then each has seen a post that rank 0 made later.
  bool may_copy_directly() noexcept;
  // The kernel refuses this rank a copy of the call whose first round that is. It says so before it posts, or acknowledges, that it has done with the
  // others' buffers, so that the two ranks of a block agree that it goes as a message instead.
  void refuse(std::uint64_t first_round) noexcept;
  bool has_refused(int rank, std::uint64_t first_round) const noexcept {
    return load_relaxed(memory_.refused(static_cast<std::uint64_t>(rank))) == first_round + 1;
  }
  // It will refuse more: direct copies end with some later call, the same on all ranks, as they have begun.
  void end_direct_copies() noexcept;
  // A blocking call has ended, whose last round came before `round`.
  void settle(std::uint64_t round) noexcept { settled_ = round; }
  net::Copied read_from(int rank, std::uint64_t address, void* to, std::uint64_t bytes) noexcept;
  net::Copied write_to(int rank, const void* from, std::uint64_t address, std::uint64_t bytes) noexcept;

  // ---- posting: our part of a round, in the order of rounds

  // `kept`: this rank reads it as well.
  bool may_post(std::uint64_t round, std::uint64_t bytes, bool kept = true) noexcept;
  // The round to wait for, until all have posted it, where it may not. A rank that is far ahead waits until half of its posts are over: so it does
  // not look, or sleep, for each of them.
  std::uint64_t awaited_before(std::uint64_t round, std::uint64_t bytes, bool kept = true) const noexcept;
  // Where the bytes go, once before post().
  std::byte* destination(std::uint64_t round, std::uint64_t bytes, bool kept = true) noexcept;
  // After destination(): whether that is a cell. The copy has nothing to do with the trials then.
  bool posts_in_cell() const noexcept { return in_cell_; }
  // To be told of the copies of posts.
  RingTrials& trials() noexcept { return trials_; }
  // A flag of post(), to be asked for before the bytes are copied. What lies in the slot is never claimed: the other rank comes back to that line
  // after 64 rounds.
  std::uint64_t claim_flag(std::uint64_t bytes) const noexcept { return bytes > AreaSlot::kBytes && !in_cell_ && is_claimed(bytes) ? AreaSlot::kClaimed : 0; }
  // Of what another rank has posted with that flag, what this one has read (base/ring_trial.h). The bytes stay as they are, because the rank that has
  // posted them may read them too.
  static void claim(const std::byte* data, std::uint64_t bytes) noexcept;
  // `what` it belongs to. `wakes_each`: a rank may wait for this post alone, not for those of all. `flags`: those of AreaSlot.
  void post(std::uint64_t round, std::uint64_t bytes, std::uint64_t what, bool wakes_each, std::uint64_t flags = 0) noexcept;
  // This rank has copied what it wants of `round`, or to it.
  void acknowledge(std::uint64_t round) noexcept;
  // The first difference that was seen since the last call.
  Difference take_difference() noexcept { return std::exchange(difference_, {}); }
  bool differs() const noexcept { return difference_.rank != kNone; }
  // When all have posted all that they ever will: a rank whose last post is not to what ours is; `what` is 0 if it has none in that
  // round. A rank that has posted more than we have finds out about us.
  Difference compare_last() const noexcept;

  // ---- reading, once it is there

  // Pairs with store_release(stamp) in post().
  bool posted(int rank, std::uint64_t round) const noexcept {
    return AreaSlot::is_past(load_acquire(memory_.slot(static_cast<std::uint64_t>(rank), round).stamp), round);
  }
  bool all_posted(std::uint64_t round) noexcept {
    return round < complete_ || scan(round);
  }
  // Whether `rank`, or kAll, has posted; compares as well.
  bool is_there(int rank, std::uint64_t round) noexcept { return rank == kAll ? all_posted(round) : see(rank, round); }
  // Of at most kMostBytes, whatever a peer writes there. Length and place are read once: read again, they could be others by then, and
  // lead beyond the slot or the ring.
  Posted read(int rank, std::uint64_t round) noexcept {
    const AreaSlot& slot = memory_.slot(static_cast<std::uint64_t>(rank), round);
    const std::uint64_t stamp = load_relaxed(slot.stamp);
    const std::uint64_t length = AreaSlot::length(stamp);
    const bool of_this_call = agree(my_what_, slot.what);
    const std::uint64_t flags = of_this_call ? AreaSlot::flags(stamp) : 0;
    if (length <= AreaSlot::kBytes) return {slot.data, length, of_this_call, flags};
    const RingPlace place = slot.place();
    if (place.is_in_cell() && size_ == 2) {
      const std::uint64_t bytes = std::min(place.bytes, AreaMemory::kCellBytes);
      if (rank != rank_) has_read_[place.cell()] = static_cast<std::uint32_t>(bytes);
      return {memory_.cell(place.cell()), bytes, of_this_call, flags};
    }
    const std::uint64_t bytes = std::min(place.bytes, kMostBytes), begin = std::min(place.begin, PostRing::kBytes - bytes);
    return {memory_.ring(static_cast<std::uint64_t>(rank)) + begin, bytes, of_this_call, flags};
  }
  // Pairs with store_release() in acknowledge().
  bool acknowledged(int rank, std::uint64_t round) const noexcept {
    return load_acquire(memory_.done(static_cast<std::uint64_t>(rank))) > round;
  }

  // ---- waiting: one watcher at a time

  // Until `rank`, or kAll, has posted `round`; or until `rank` has acknowledged it. The watcher is called only if the answer is kNotYet. A member
  // that has gone without posting `round` ends the wait for another member too: that one may wait for it in vain and never post.
  Outlook watch(Watcher& watcher, int rank, std::uint64_t round, Sign sign = Sign::kPost) noexcept;
  void unwatch() noexcept;
  bool is_watched() const noexcept { return watcher_ != nullptr; }
  Status why_never() const;

  // ---- leaving

  // Takes no further part; what has been posted stays there. Also done by the destructor.
  void leave() noexcept;

  // ---- for the pool

  Outlook outlook() noexcept {
    if (ready()) return Outlook::kThere;
    if (!some_left() && !some_ended() && lost_.empty()) return Outlook::kNotYet;  // the usual case
    return deserter() == kNone ? Outlook::kNotYet : Outlook::kNever;
  }
  // Before this process may sleep. A full_fence() follows, and then outlook().
  void announce() noexcept {
    if (announced_) return;
    announced_ = true;
    const std::uint8_t value = watched_rank_ == kAll ? AreaMemory::kWatchesAll : AreaMemory::watched(watched_rank_);
    store_relaxed(memory_.watching(static_cast<std::uint64_t>(rank_)), value);
  }
  Watcher& end_watch() noexcept;
  // The rank of the host with this number has gone, as far as it is a member.
  void lose(std::uint32_t local, const Status& why);
  // The members without whose posts the watcher cannot go on: for a report on a hang.
  std::vector<int> missing(const Watcher& watcher) const;

 private:
  std::int64_t needed_before(std::uint64_t round, std::uint64_t bytes, bool kept) const noexcept;
  void keep_what_was_read() noexcept;
  bool may_use_cell(std::uint64_t bytes, bool kept) const noexcept { return !kept && bytes <= AreaMemory::kCellBytes && cells_.has_one(); }
  std::byte* take_cell(std::uint64_t bytes) noexcept;
  std::byte* take_from_ring(std::uint64_t round, std::uint64_t bytes) noexcept;
  void make_lap() noexcept;
  // What is too short for a trial always is between two ranks, as in a ring of messages (net/shm/ring.h); and the others are until there is a
  // trial, because posts lie in cells mostly, and few in the ring.
  bool is_claimed(std::uint64_t bytes) const noexcept {
    if (bytes < RingTrial::kLeastClaimed || trials_.never_tried_claims()) return size_ == 2;
    return trials_.way(bytes) == RingTrials::Way::kClaimed;
  }
  bool ready() noexcept {
    return watched_sign_ == Sign::kPost ? is_there(watched_rank_, watched_round_) : acknowledged(watched_rank_, watched_round_);
  }
  // Whether that rank has given all that the watched sign needs: a rank acknowledges only after all have posted that it waits for.
  bool has_given(int rank) const noexcept {
    const bool acknowledges = watched_sign_ == Sign::kAcknowledgement && rank == watched_rank_;
    return posted(rank, watched_round_) && (!acknowledges || acknowledged(rank, watched_round_));
  }
  // posted(), and compares: only in the round that we have posted last, which is safe from being written over as long as it is that.
  bool see(int rank, std::uint64_t round) noexcept {
    const AreaSlot& slot = memory_.slot(static_cast<std::uint64_t>(rank), round);
    if (!AreaSlot::is_past(load_acquire(slot.stamp), round)) return false;
    if (round == my_round_ && !agree(my_what_, slot.what) && !differs()) [[unlikely]]
      difference_ = {rank, slot.what, my_what_};
    return true;
  }
  bool scan(std::uint64_t round) noexcept;
  bool all_reach() const noexcept;
  bool direct_copies_are_over() const noexcept;
  // One that no rank can have posted: none posts a round before this one has posted that of kSlotRounds earlier.
  std::uint64_t round_to_come() const noexcept { return next_round_ + 2 * AreaMemory::kSlotRounds; }
  // Those of whom `wanted` says so, by what they say for whose post they wait.
  template <typename Wanted>
  void wake_watching(Wanted wanted) noexcept;
  // Pairs with what leave() and AreaPool::publish_end() count.
  bool some_left() const noexcept { return load_acquire(memory_.header().left) != 0; }
  bool some_ended() const noexcept { return load_acquire(host_.ended_count()) != 0; }
  bool has_gone(int rank) const noexcept;
  int deserter() const noexcept;
  const Status* why_lost(int rank) const noexcept;

  AreaPool& pool_;
  const PoolMemory host_;
  const AreaMemory memory_;
  const unsigned number_;
  const Members members_;
  const int rank_;
  const int size_;
  std::uint64_t next_round_ = 0;
  std::uint64_t settled_ = 0;    // the round behind the last blocking call
  bool copies_directly_ = false;

  std::uint64_t my_round_ = ~std::uint64_t{0};  // that we posted last
  std::uint64_t my_what_ = 0;                   // and what it belongs to
  Difference difference_;

  struct Lost {
    int rank;
    Status why;
  };
  std::vector<Lost> lost_;  // as the transport told
  bool left_ = false;

  PostRing ring_;      // where our long posts lie
  HandedCells cells_;  // between two
  std::array<std::uint32_t, RingPlace::kCells> has_read_{};  // of each cell, since this rank's last post
  RingPlace place_{};  // of the next one
  bool place_is_told_ = false, in_cell_ = false, lap_is_there_ = false;
  RingTrials trials_;
  std::uint64_t complete_ = 0;  // all have posted the rounds below
  std::uint64_t scanned_round_ = 0;
  int scanned_ = 0;  // so many, from the next rank on, have posted scanned_round_

  Watcher* watcher_ = nullptr;
  int watched_rank_ = kAll;
  std::uint64_t watched_round_ = 0;
  Sign watched_sign_ = Sign::kPost;
  bool announced_ = false;
};

}  // namespace lapwing::coll
