#include "p2p/match_table.h"

namespace lapwing::p2p {

namespace {

constexpr std::size_t kFirstBuckets = 64;

std::uint64_t mix(std::uint64_t value) noexcept {
  value ^= value >> 32;
  value *= 0x9e3779b97f4a7c15u;
  return value ^ (value >> 29);
}

}  // namespace

MatchTable::MatchTable() : buckets_(kFirstBuckets, nullptr) {}

std::size_t MatchTable::bucket_of(const MatchKey& key) const noexcept {
  const std::uint64_t who = static_cast<std::uint64_t>(key.peer) << 32 | static_cast<std::uint32_t>(key.tag);
  return mix(key.context * 31 + mix(who)) & (buckets_.size() - 1);
}

MatchNode* MatchTable::oldest(const MatchKey& key) const noexcept {
  MatchNode* node = buckets_[bucket_of(key)];
  while (node != nullptr && !(node->key == key)) node = node->chain_next;
  return node;
}

void MatchTable::insert(MatchNode& node) {
  ++entries_;
  if (MatchNode* leader = oldest(node.key)) {
    node.leader = false;
    node.newer = leader;
    node.older = leader->older;
    leader->older->newer = &node;
    leader->older = &node;
    return;
  }
  if (leaders_ == buckets_.size()) grow();
  node.newer = node.older = &node;
  link_leader(node);
}

void MatchTable::remove(MatchNode& node) noexcept {
  --entries_;
  if (node.leader) {
    unlink_leader(node);
    if (node.newer != &node) link_leader(*node.newer);
  }
  node.newer->older = node.older;
  node.older->newer = node.newer;
  node.newer = node.older = nullptr;
}

void MatchTable::link_leader(MatchNode& node) noexcept {
  MatchNode*& head = buckets_[bucket_of(node.key)];
  node.leader = true;
  node.chain_previous = nullptr;
  node.chain_next = head;
  if (head != nullptr) head->chain_previous = &node;
  head = &node;
  ++leaders_;
}

void MatchTable::unlink_leader(MatchNode& node) noexcept {
  if (node.chain_previous != nullptr) {
    node.chain_previous->chain_next = node.chain_next;
  } else {
    buckets_[bucket_of(node.key)] = node.chain_next;
  }
  if (node.chain_next != nullptr) node.chain_next->chain_previous = node.chain_previous;
  node.leader = false;
  --leaders_;
}

void MatchTable::grow() {
  std::vector<MatchNode*> old(buckets_.size() * 4, nullptr);
  old.swap(buckets_);
  leaders_ = 0;
  for (MatchNode* node : old) {
    while (node != nullptr) {
      MatchNode* following = node->chain_next;
      link_leader(*node);
      node = following;
    }
  }
}

}  // namespace lapwing::p2p
