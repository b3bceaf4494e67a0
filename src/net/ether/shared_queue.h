// A receive queue that ranks of one job share, where a host has more of them than its interface has queues. Each has a socket, rings of what it
// receives and sends, and an endpoint of its own; so packets find each of them without another's help. What the kernel lets them have only together
// (XDP_SHARED_UMEM) is the memory of packets, and the two rings by which its chunks come and go:
//
//   fill    any of them gives a chunk back that it has looked at
//   done    whoever looks finds chunks there that have left, and notes those of others for them
//
// This is the part of it that lies in their common memory: a lock for these two rings, and the notes. A turn is short, and is never waited
// for: a rank that finds the lock taken, for good perhaps because the other one is stopped by a debugger, keeps what it wanted to give back and
// tries again with its next packets. The lock of one that was killed passes on; what it had in hand then is lost to the others, and nothing is told
// twice, because each step is one store.
//
// Ranks join while they publish their cards, and none after one of them knows the others' cards. From then on it is known how many there are, and
// each has its part of the chunks to send from. The first one does without all of this when it is alone.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "net/ether/xdp_socket.h"

namespace lapwing::net::ether {

// In memory that is all 0 at first.
class SharedQueue {
 public:
  static constexpr std::uint32_t kMostRanks = 16;

  void create(bool in_pieces) noexcept;
  // As the rank in this place, behind as many others. False: it is closed, or full, or another has taken the place.
  bool join(std::uint32_t place) noexcept;
  std::uint32_t joined() noexcept;
  // Nobody joins any more. How many have.
  std::uint32_t close() noexcept;
  // What the first one has bound its socket with counts for all.
  bool in_pieces() const noexcept { return in_pieces_; }

  // A turn at the two rings.
  class Turn {
   public:
    explicit Turn(SharedQueue& queue) noexcept : lock_(queue.try_lock() ? &queue.lock_ : nullptr) {}
    ~Turn() {
      if (lock_ != nullptr) pthread_mutex_unlock(lock_);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    bool taken() const noexcept { return lock_ != nullptr; }

   private:
    pthread_mutex_t* const lock_;
  };

  // ---- in a turn ----

  // This chunk, of those to send from, has left.
  void note_left(std::uint32_t chunk) noexcept { left_[chunk / 64] |= std::uint64_t{1} << chunk % 64; }
  // Those of `count` from `first` on that have left since the last time; both are multiples of 64.
  void take_left(std::uint32_t first, std::uint32_t count, std::vector<std::uint32_t>& chunks);

 private:
  bool try_lock() noexcept;
  void lock() noexcept;

  pthread_mutex_t lock_;
  std::uint32_t joined_;
  bool closed_, in_pieces_;
  std::uint64_t left_[kSendChunks / 64];
};

// Of the chunks to send from, with so many ranks: how many one has, a multiple of 64.
constexpr std::uint32_t send_chunks_of_each(std::uint32_t ranks) noexcept {
  return kSendChunks / ranks / 64 * 64;
}
static_assert(send_chunks_of_each(SharedQueue::kMostRanks) >= 64);

// Behind the chunks, in the memory of a queue that may be shared.
inline constexpr std::size_t kSharedQueueBytes = 4096;
static_assert(sizeof(SharedQueue) <= kSharedQueueBytes);

}  // namespace lapwing::net::ether
