// Queues of posted receives and of unexpected messages, found by (context, peer, tag) in O(1).
//
// A table maps a key to the queue of entries with that key, oldest first. A wildcard is just another key value: a receive
// from any source is filed under (context, any, tag), so an arriving message asks for at most four keys and takes the
// entry with the lowest stamp. The obvious alternative, one list per context, makes a program with thousands of posted
// receives pay for all of them at every message.
//
//   bucket -> queue(key A) -> queue(key B) -> ...      queues of one bucket: a chain
//                 |
//              oldest <-> ... <-> newest               entries of one key
//
// A queue stays when its last entry goes, because programs use the same few keys again and again, and the queue looked at last
// is tried first: a message of a steady exchange is filed and found without a hash. Before the table grows it drops the empty ones,
// so it never has more than eight times as many queues as there were entries at once, or 64.
//
// Protected by the endpoint's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/process_id.h"

namespace lapwing::p2p {

// Two words, passed by value: a word written in parts and read whole soon after must wait until the parts have left the store
// buffer, ten nanoseconds in which nothing overlaps.
struct MatchKey {
  constexpr MatchKey() noexcept = default;
  constexpr MatchKey(std::uint64_t context, ProcessId peer, std::int32_t tag) noexcept
      : context(context), source(std::uint64_t{peer.index} << 32 | static_cast<std::uint32_t>(tag)) {}
  constexpr ProcessId peer() const noexcept { return {static_cast<std::uint32_t>(source >> 32)}; }
  constexpr std::int32_t tag() const noexcept { return static_cast<std::int32_t>(source); }
  bool operator==(MatchKey other) const noexcept { return context == other.context && source == other.source; }
  bool has_wildcard() const noexcept;
  // Whether a receive or a probe with this key takes a message with that envelope.
  bool covers(MatchKey envelope) const noexcept;

  std::uint64_t context = 0;
  std::uint64_t source = 0;  // peer and tag
};

inline constexpr ProcessId kAnyPeer{0xffffffffu};
inline constexpr std::int32_t kAnyTag = INT32_MIN;

inline bool MatchKey::has_wildcard() const noexcept {
  return source >> 32 == kAnyPeer.index || static_cast<std::int32_t>(source) == kAnyTag;
}
inline bool MatchKey::covers(MatchKey envelope) const noexcept {
  return context == envelope.context && (peer() == kAnyPeer || peer() == envelope.peer()) &&
         (tag() == kAnyTag || tag() == envelope.tag());
}

struct MatchQueue;

struct MatchNode {
  MatchKey key;
  std::uint64_t stamp = 0;      // order of insertion over all keys, given by the owner of the tables
  MatchQueue* queue = nullptr;  // null: in no table
  MatchNode* newer = nullptr;
  MatchNode* older = nullptr;
  bool queued() const noexcept { return queue != nullptr; }
};

// The entries of one key.
struct MatchQueue {
  MatchKey key;
  MatchNode* oldest = nullptr;
  MatchNode* newest = nullptr;
  MatchQueue* chain_next = nullptr;  // in its bucket, or among the spare ones
};

class MatchTable {
 public:
  MatchTable();
  MatchTable(const MatchTable&) = delete;
  MatchTable& operator=(const MatchTable&) = delete;

  void insert(MatchNode& node) {
    MatchQueue* found = find(node.key);
    MatchQueue& queue = found != nullptr ? *found : make(node.key);
    node.queue = &queue;
    node.newer = nullptr;
    node.older = queue.newest;
    (queue.newest != nullptr ? queue.newest->newer : queue.oldest) = &node;
    queue.newest = &node;
    ++entries_;
  }
  void remove(MatchNode& node) noexcept {
    MatchQueue& queue = *node.queue;
    (node.older != nullptr ? node.older->newer : queue.oldest) = node.newer;
    (node.newer != nullptr ? node.newer->older : queue.newest) = node.older;
    node.queue = nullptr;
    --entries_;
  }
  // The oldest entry with this key, or null.
  MatchNode* oldest(MatchKey key) const noexcept {
    const MatchQueue* queue = find(key);
    return queue != nullptr ? queue->oldest : nullptr;
  }
  // The entry with the same key that came next, or null.
  static MatchNode* next(const MatchNode& node) noexcept { return node.newer; }
  std::size_t size() const noexcept { return entries_; }
  // Queues that exist, empty ones included.
  std::size_t queues() const noexcept { return queues_; }

  // Calls `visit` with every entry; it may remove the entry it is given, and no other.
  template <typename Visit>
  void for_each(Visit visit) {
    for (MatchQueue* first : buckets_) {
      for (MatchQueue* queue = first; queue != nullptr; queue = queue->chain_next) {
        for (MatchNode* node = queue->oldest; node != nullptr;) {
          MatchNode* after = node->newer;
          visit(*node);
          node = after;
        }
      }
    }
  }

 private:
  static std::uint32_t hash_of(MatchKey key) noexcept {
    const std::uint64_t mixed = (key.context ^ key.source * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
    return static_cast<std::uint32_t>(mixed >> 32);
  }
  MatchQueue*& bucket_of(MatchKey key) noexcept { return buckets_[hash_of(key) & (buckets_.size() - 1)]; }
  MatchQueue* find(MatchKey key) const noexcept { return last_->key == key ? last_ : search(key); }
  MatchQueue* search(MatchKey key) const noexcept;
  MatchQueue& make(MatchKey key);
  void make_room();
  void drop_empty() noexcept;
  void rebuild(std::size_t buckets);

  std::vector<MatchQueue*> buckets_;  // a power of two
  mutable MatchQueue* last_;          // the queue looked at last; never null
  MatchQueue none_;                   // an empty queue of a key that no entry has
  std::size_t queues_ = 0;
  std::size_t entries_ = 0;
  std::vector<std::unique_ptr<MatchQueue[]>> blocks_;  // all queues ever made
  MatchQueue* spare_ = nullptr;
};

}  // namespace lapwing::p2p
