// Queues of posted receives and of unexpected messages, found by (context, peer, tag) in O(1).
//
// A table maps a key to the queue of entries with that key, oldest first. A wildcard is just another key value: a receive
// from any source is filed under (context, any, tag), so an arriving message asks for at most four keys and takes the
// entry with the lowest stamp. The obvious alternative, one list per context, makes a program with thousands of posted
// receives pay for all of them at every message.
//
//   bucket -> leader(key A) -> leader(key B) -> ...      leaders of one bucket: a chain
//                 |                                      entries of one key: a ring, the leader is the oldest
//              follower -> follower -> (leader)
//
// Links live in the entries; the table allocates only when it grows. Protected by the endpoint's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::p2p {

struct MatchKey {
  std::uint64_t context = 0;
  std::uint32_t peer = 0;
  std::int32_t tag = 0;
  bool operator==(const MatchKey& other) const noexcept {
    return context == other.context && peer == other.peer && tag == other.tag;
  }
};

inline constexpr std::uint32_t kAnyPeer = 0xffffffffu;
inline constexpr std::int32_t kAnyTag = INT32_MIN;

struct MatchNode {
  MatchKey key;
  std::uint64_t stamp = 0;          // order of insertion over all keys, given by the owner of the tables
  MatchNode* chain_next = nullptr;  // leaders only
  MatchNode* chain_previous = nullptr;
  MatchNode* newer = nullptr;  // ring of one key; null: in no table
  MatchNode* older = nullptr;
  std::uint32_t hash = 0;      // of the key, while in a table
  bool leader = false;
  bool queued() const noexcept { return newer != nullptr; }
};

class MatchTable {
 public:
  MatchTable();
  void insert(MatchNode& node);
  void remove(MatchNode& node) noexcept;
  // The oldest entry with this key, or null.
  MatchNode* oldest(const MatchKey& key) const noexcept { return oldest(key, hash_of(key)); }
  // The entry with the same key that came next, or null.
  static MatchNode* next(const MatchNode& node) noexcept { return node.newer->leader ? nullptr : node.newer; }
  std::size_t size() const noexcept { return entries_; }

  // Calls `visit` with every entry; it may remove the entry it is given, and no other.
  template <typename Visit>
  void for_each(Visit visit) {
    for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
      for (MatchNode* leader = buckets_[bucket]; leader != nullptr;) {
        MatchNode* following = leader->chain_next;
        for (MatchNode* node = leader; node != nullptr;) {
          MatchNode* after = next(*node);
          visit(*node);
          node = after;
        }
        leader = following;
      }
    }
  }

 private:
  static std::uint32_t hash_of(const MatchKey& key) noexcept {
    const std::uint64_t who = static_cast<std::uint64_t>(key.peer) << 32 | static_cast<std::uint32_t>(key.tag);
    const std::uint64_t mixed = (key.context ^ who * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
    return static_cast<std::uint32_t>(mixed >> 32);
  }
  MatchNode*& bucket_of(std::uint32_t hash) noexcept { return buckets_[hash & (buckets_.size() - 1)]; }
  MatchNode* oldest(const MatchKey& key, std::uint32_t hash) const noexcept {
    MatchNode* node = buckets_[hash & (buckets_.size() - 1)];
    while (node != nullptr && !(node->key == key)) node = node->chain_next;
    return node;
  }
  void link_leader(MatchNode& node) noexcept;
  void replace_leader(MatchNode& node, MatchNode& successor) noexcept;
  void unlink_leader(MatchNode& node) noexcept;
  void grow();

  std::vector<MatchNode*> buckets_;
  std::size_t leaders_ = 0;
  std::size_t entries_ = 0;
};

}  // namespace lapwing::p2p
