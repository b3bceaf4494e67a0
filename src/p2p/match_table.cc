#include "p2p/match_table.h"

namespace lapwing::p2p {

namespace {

constexpr std::size_t kFirstBuckets = 64;

}  // namespace

MatchTable::MatchTable() : buckets_(kFirstBuckets, nullptr) {}

void MatchTable::insert(MatchNode& node) {
  ++entries_;
  node.hash = hash_of(node.key);
  if (MatchNode* leader = oldest(node.key, node.hash)) {
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
    if (node.newer != &node)
      replace_leader(node, *node.newer);
    else
      unlink_leader(node);
  }
  node.newer->older = node.older;
  node.older->newer = node.newer;
  node.newer = node.older = nullptr;
}

void MatchTable::link_leader(MatchNode& node) noexcept {
  MatchNode*& head = bucket_of(node.hash);
  node.leader = true;
  node.chain_previous = nullptr;
  node.chain_next = head;
  if (head != nullptr) head->chain_previous = &node;
  head = &node;
  ++leaders_;
}

void MatchTable::replace_leader(MatchNode& node, MatchNode& successor) noexcept {
  successor.leader = true;
  successor.chain_next = node.chain_next;
  successor.chain_previous = node.chain_previous;
  (node.chain_previous != nullptr ? node.chain_previous->chain_next : bucket_of(node.hash)) = &successor;
  if (node.chain_next != nullptr) node.chain_next->chain_previous = &successor;
  node.leader = false;
}

void MatchTable::unlink_leader(MatchNode& node) noexcept {
  if (node.chain_previous != nullptr) {
    node.chain_previous->chain_next = node.chain_next;
  } else {
    bucket_of(node.hash) = node.chain_next;
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
