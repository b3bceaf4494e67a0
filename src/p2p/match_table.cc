#include "p2p/match_table.h"

namespace lapwing::p2p {

namespace {

constexpr std::size_t kFirstBuckets = 64;
constexpr std::size_t kQueuesPerBlock = 64;
constexpr std::int32_t kUnusedTag = -1;

}  // namespace

MatchTable::MatchTable() : buckets_(kFirstBuckets, nullptr), last_(&none_) {
  none_.key = {0, {}, kUnusedTag};
}

MatchQueue* MatchTable::search(MatchKey key) const noexcept {
  MatchQueue* queue = buckets_[hash_of(key) & (buckets_.size() - 1)];
  while (queue != nullptr && !(queue->key == key)) queue = queue->chain_next;
  if (queue != nullptr) last_ = queue;
  return queue;
}

MatchQueue& MatchTable::make(MatchKey key) {
  if (queues_ == buckets_.size()) make_room();
  if (spare_ == nullptr) {
    blocks_.push_back(std::make_unique<MatchQueue[]>(kQueuesPerBlock));
    for (std::size_t i = 0; i < kQueuesPerBlock; ++i) {
      MatchQueue& queue = blocks_.back()[i];
      queue.chain_next = spare_;
      spare_ = &queue;
    }
  }
  MatchQueue& queue = *spare_;
  spare_ = queue.chain_next;
  queue.key = key;
  queue.chain_next = bucket_of(key);
  bucket_of(key) = &queue;
  ++queues_;
  last_ = &queue;
  return queue;
}

// As many queues as buckets. Unless dropping the empty ones frees half, which pays for the work, the table grows.
void MatchTable::make_room() {
  drop_empty();
  if (queues_ > buckets_.size() / 2) rebuild(buckets_.size() * 4);
}

void MatchTable::drop_empty() noexcept {
  last_ = &none_;
  for (MatchQueue*& first : buckets_) {
    for (MatchQueue** at = &first; *at != nullptr;) {
      MatchQueue& queue = **at;
      if (queue.oldest != nullptr) {
        at = &queue.chain_next;
        continue;
      }
      *at = queue.chain_next;
      queue.chain_next = spare_;
      spare_ = &queue;
      --queues_;
    }
  }
}

void MatchTable::rebuild(std::size_t buckets) {
  std::vector<MatchQueue*> old(buckets, nullptr);
  old.swap(buckets_);
  for (MatchQueue* queue : old) {
    while (queue != nullptr) {
      MatchQueue* following = queue->chain_next;
      queue->chain_next = bucket_of(queue->key);
      bucket_of(queue->key) = queue;
      queue = following;
    }
  }
}

}  // namespace lapwing::p2p
