// The table against the obvious implementation: one list, searched from its head.
#include "p2p/match_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <memory>
#include <random>
#include <vector>

namespace lapwing::p2p {
namespace {

TEST(MatchTable, OldestOfAKeyComesFirst) {
  MatchTable table;
  MatchNode nodes[3];
  for (auto& node : nodes) {
    node.key = {8, {1}, 5};
    table.insert(node);
  }
  EXPECT_EQ(table.oldest({8, {1}, 5}), &nodes[0]);
  EXPECT_EQ(MatchTable::next(nodes[0]), &nodes[1]);
  EXPECT_EQ(MatchTable::next(nodes[2]), nullptr);
  table.remove(nodes[0]);
  EXPECT_EQ(table.oldest({8, {1}, 5}), &nodes[1]);
  EXPECT_EQ(table.oldest({8, {1}, 6}), nullptr);
  EXPECT_FALSE(nodes[0].queued());
}

TEST(MatchTable, ForgetsKeysThatNobodyUses) {
  MatchTable table;
  MatchNode kept, passing;
  kept.key = {8, {1}, -5};
  table.insert(kept);
  for (int tag = 0; tag < 10000; ++tag) {
    passing.key = {8, {1}, tag};
    table.insert(passing);
    ASSERT_EQ(table.oldest({8, {1}, tag}), &passing);
    table.remove(passing);
    ASSERT_EQ(table.oldest({8, {1}, tag}), nullptr);
    ASSERT_EQ(table.oldest({8, {1}, -5}), &kept);
  }
  EXPECT_LE(table.queues(), 64u);
  table.remove(kept);
}

TEST(MatchTable, AgreesWithAListUnderRandomUse) {
  std::mt19937 random(7);
  MatchTable table;
  std::list<MatchNode*> naive;
  std::vector<std::unique_ptr<MatchNode>> owned;
  for (int round = 0; round < 60000; ++round) {
    // Mostly few keys; now and then a burst of many, so that the table grows.
    const bool many = round % 20000 > 15000;
    const MatchKey key{(random() % 3) * 4, ProcessId{static_cast<std::uint32_t>(random() % (many ? 500 : 4))},
                       static_cast<std::int32_t>(random() % (many ? 100 : 3))};
    const auto same = [&](MatchNode* node) { return node->key == key; };
    if (random() % 2 == 0 || (many && random() % 2 == 0)) {
      owned.push_back(std::make_unique<MatchNode>());
      owned.back()->key = key;
      table.insert(*owned.back());
      naive.push_back(owned.back().get());
    } else {
      const auto expected = std::find_if(naive.begin(), naive.end(), same);
      MatchNode* found = table.oldest(key);
      ASSERT_EQ(found, expected == naive.end() ? nullptr : *expected);
      if (found == nullptr) continue;
      if (random() % 4 == 0) {  // one from the middle, as cancel does
        MatchNode* second = MatchTable::next(*found);
        const auto after = std::find_if(std::next(expected), naive.end(), same);
        ASSERT_EQ(second, after == naive.end() ? nullptr : *after);
        if (second != nullptr) {
          table.remove(*second);
          naive.erase(after);
          continue;
        }
      }
      table.remove(*found);
      naive.erase(expected);
    }
    ASSERT_EQ(table.size(), naive.size());
  }
  std::size_t seen = 0;
  table.for_each([&](MatchNode& node) {
    ++seen;
    table.remove(node);
  });
  EXPECT_EQ(seen, naive.size());
  EXPECT_EQ(table.size(), 0u);
}

}  // namespace
}  // namespace lapwing::p2p
