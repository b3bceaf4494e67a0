#include "net/shm/shared_pull.h"

#include <algorithm>

#include "base/memory_order.h"
#include "base/tuning.h"

namespace lapwing::net::shm {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMostPieces = 0x7fff;

struct Claims {
  std::uint64_t count, front, back;

  static Claims of(std::uint64_t word) noexcept { return {word >> 32 & 0xffff, word >> 16 & 0xffff, word & 0xffff}; }
  std::uint64_t word() const noexcept { return count << 32 | front << 16 | back; }
  bool any_left() const noexcept { return front + back < count; }
};

std::uint64_t whole_pages(std::uint64_t bytes) noexcept {
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

std::uint64_t piece_bytes(std::uint64_t message_bytes) noexcept {
  const std::uint64_t least = whole_pages(tuning().shm_least_pull_piece), most = std::max(least, whole_pages(tuning().shm_most_pull_piece));
  const std::uint64_t usual = std::clamp(whole_pages(message_bytes / tuning().shm_pull_pieces), least, most);
  return std::max(usual, whole_pages(message_bytes / kMostPieces + 1));
}

// ---- the receiver ---------------------------------------------------------------------------------------------------

void PullTaker::open(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) noexcept {
  bytes_ = bytes;
  piece_ = piece_bytes(bytes);
  count_ = (bytes + piece_ - 1) / piece_;
  taken_ = theirs_ = 0;
  closed_ = false;
  store_relaxed(words_->from, from);
  store_relaxed(words_->to, to);
  store_relaxed(words_->bytes, bytes);
  store_relaxed(words_->pushed, std::uint64_t{0});
  store_release(words_->pieces, Claims{count_, 0, 0}.word());  // pairs with the exchange in PullHelper::claim
}

Range PullTaker::piece(std::uint64_t index) const noexcept {
  return {index * piece_, std::min(piece_, bytes_ - index * piece_)};
}

Range PullTaker::claim() noexcept {
  std::uint64_t word = load_relaxed(words_->pieces);
  while (!closed_) {
    Claims claims = Claims::of(word);
    if (claims.count != count_ || claims.front != taken_ || claims.front + claims.back > count_) {
      failed_ = closed_ = true;
      theirs_ = 0;
      break;
    }
    closed_ = !claims.any_left();
    if (closed_) break;
    ++claims.front;
    if (words_->pieces.compare_exchange_weak(word, claims.word(), std::memory_order_acq_rel)) return piece(taken_++);
  }
  look_at_sender();
  return failed_ && !complete() ? piece(taken_++) : Range{};
}

// How many pieces are whole there; its claims are known to be all the others.
void PullTaker::look_at_sender() noexcept {
  if (failed_) return;
  const std::uint64_t pushed = load_acquire(words_->pushed);  // pairs with the store in PullHelper::finish
  failed_ = (pushed & PullWords::kFailed) != 0 || pushed > count_ - taken_;
  const std::uint64_t whole = pushed & ~PullWords::kFailed;
  theirs_ = whole <= count_ - taken_ ? whole : 0;
}

// ---- the sender -----------------------------------------------------------------------------------------------------

bool PullHelper::open() const noexcept {
  return !failed_ && Claims::of(load_relaxed(words_->pieces)).any_left();
}

PullHelper::Piece PullHelper::claim() noexcept {
  std::uint64_t word = load_relaxed(words_->pieces);
  Claims claims = Claims::of(word);
  do {
    claims = Claims::of(word);
    if (failed_ || !claims.any_left()) return {};
    ++claims.back;
  } while (!words_->pieces.compare_exchange_weak(word, claims.word(), std::memory_order_acq_rel));
  const std::uint64_t bytes = load_relaxed(words_->bytes), size = piece_bytes(bytes);
  const std::uint64_t offset = (claims.count - claims.back) * size;
  if (offset >= bytes) {
    finish(false);
    return {};
  }
  return {load_relaxed(words_->from) + offset, load_relaxed(words_->to) + offset, std::min(size, bytes - offset)};
}

// Pairs with the load in PullTaker::look_at_sender: the bytes are there first.
void PullHelper::finish(bool whole) noexcept {
  failed_ = !whole;
  const std::uint64_t pushed = load_relaxed(words_->pushed);
  store_release(words_->pushed, whole ? pushed + 1 : pushed | PullWords::kFailed);
}

}  // namespace lapwing::net::shm
