#include "net/host_table.h"

#include <gtest/gtest.h>

#include <vector>

namespace lapwing::net {
namespace {

wire::CardBook cards(const std::vector<const char*>& hosts) {
  std::vector<wire::Card> made;
  for (const char* host : hosts) {
    made.emplace_back();
    if (host != nullptr) made.back().set("host", host);
  }
  return wire::CardBook(made);
}

TEST(HostTable, HostsAreNumberedInTheOrderOfRanks) {
  HostTable table;
  table.set(cards({"b", "a", "b", "c"}), false);
  EXPECT_EQ(table.number({0}), 0u);
  EXPECT_EQ(table.number({1}), 1u);
  EXPECT_EQ(table.number({2}), 0u);
  EXPECT_EQ(table.number({3}), 2u);
}

TEST(HostTable, WhatTheLauncherPromisesNeedsNoCards) {
  HostTable table;
  table.set(cards({"b", "a"}), true);
  EXPECT_EQ(table.number({0}), table.number({1}));
}

TEST(HostTable, SomeAreUnknown) {
  HostTable table;
  EXPECT_EQ(table.number({0}), HostTable::kUnknown) << "before there are cards";
  table.set(cards({"b", nullptr}), false);
  EXPECT_EQ(table.number({1}), HostTable::kUnknown) << "its card does not say";
  EXPECT_EQ(table.number({2}), HostTable::kUnknown) << "a process of another job";
}

}  // namespace
}  // namespace lapwing::net
