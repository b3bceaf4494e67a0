#include "net/ether/shared_queue.h"

#include <cerrno>
#include <ctime>

namespace lapwing::net::ether {

void SharedQueue::create(bool in_pieces) noexcept {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&lock_, &kind);
  pthread_mutexattr_destroy(&kind);
  in_pieces_ = in_pieces;
  joined_ = 1;
}

// What it guards is true after each store.
bool SharedQueue::try_lock() noexcept {
  const int error = pthread_mutex_trylock(&lock_);
  if (error == EOWNERDEAD) pthread_mutex_consistent(&lock_);
  return error == 0 || error == EOWNERDEAD;
}

// Only while a job begins.
void SharedQueue::lock() noexcept {
  constexpr timespec kPause{0, 1'000'000};
  while (!try_lock()) nanosleep(&kPause, nullptr);
}

bool SharedQueue::join(std::uint32_t place) noexcept {
  lock();
  const bool joins = !closed_ && place != 0 && place == joined_ && place < kMostRanks;
  if (joins) ++joined_;
  pthread_mutex_unlock(&lock_);
  return joins;
}

std::uint32_t SharedQueue::joined() noexcept {
  lock();
  const std::uint32_t joined = joined_;
  pthread_mutex_unlock(&lock_);
  return joined;
}

std::uint32_t SharedQueue::close() noexcept {
  lock();
  closed_ = true;
  const std::uint32_t joined = joined_;
  pthread_mutex_unlock(&lock_);
  return joined;
}

void SharedQueue::take_left(std::uint32_t first, std::uint32_t count, std::vector<std::uint32_t>& chunks) {
  for (std::uint32_t word = first / 64; word < (first + count) / 64; ++word) {
    for (std::uint64_t bits = left_[word]; bits != 0; bits &= bits - 1)
      chunks.push_back(64 * word + static_cast<std::uint32_t>(__builtin_ctzll(bits)));
    left_[word] = 0;
  }
}

}  // namespace lapwing::net::ether
