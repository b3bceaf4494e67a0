#include "accelerator/ledger.h"

#include <gtest/gtest.h>

namespace lapwing::launch::tests {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

AcceleratorLimits limits() {
  AcceleratorLimits limits;
  limits.user_memory = 100 * kMiB;
  limits.memory = 150 * kMiB;
  limits.user_ranks = 2;
  limits.ranks = 3;
  limits.user_connections = 10;
  return limits;
}

Ledger::Id admit(Ledger& ledger, uid_t user) {
  Ledger::Id id = 0;
  EXPECT_TRUE(ledger.admit(user, id).ok());
  return id;
}

TEST(Ledger, CountsRanksOfAUserAndOfAll) {
  Ledger ledger(limits());
  const Ledger::Id first = admit(ledger, 1);
  admit(ledger, 1);
  Ledger::Id id = 0;
  EXPECT_STREQ(ledger.admit(1, id).text(), "it serves no more than 2 ranks of a user at a time (--user-ranks)");
  admit(ledger, 2);
  EXPECT_STREQ(ledger.admit(3, id).text(), "it serves no more than 3 ranks at a time (--ranks)");
  ledger.leave(first);
  admit(ledger, 1);
  EXPECT_FALSE(ledger.admit(1, id).ok());
}

TEST(Ledger, CountsMemoryUntilItIsGone) {
  Ledger ledger(limits());
  const Ledger::Id first = admit(ledger, 1), second = admit(ledger, 1), other = admit(ledger, 2);
  EXPECT_TRUE(ledger.reserve(first, 60 * kMiB, 1).ok());
  EXPECT_STREQ(ledger.reserve(second, 41 * kMiB, 1).text(),
               "the ranks of this user have 60 MiB of the 100 MiB that they may pin (--user-memory), and this one asks for 41 MiB");
  ledger.leave(first);
  EXPECT_FALSE(ledger.reserve(second, 41 * kMiB, 1).ok()) << "a process may have it still";
  EXPECT_STREQ(ledger.reserve(other, 91 * kMiB, 1).text(),
               "all ranks have 60 MiB of the 150 MiB that they may pin (--memory), and this one asks for 91 MiB");
  ledger.release_memory(first);
  EXPECT_TRUE(ledger.reserve(second, 41 * kMiB, 1).ok());
  EXPECT_TRUE(ledger.reserve(other, 91 * kMiB, 1).ok());
}

TEST(Ledger, CountsConnections) {
  Ledger ledger(limits());
  const Ledger::Id first = admit(ledger, 1), second = admit(ledger, 1);
  EXPECT_TRUE(ledger.reserve(first, kMiB, 8).ok());
  EXPECT_FALSE(ledger.reserve(second, kMiB, 3).ok());
  EXPECT_TRUE(ledger.reserve(second, kMiB, 2).ok());
}

TEST(Ledger, NumbersThatOverflowAreTooMuch) {
  Ledger ledger(limits());
  const Ledger::Id id = admit(ledger, 1);
  EXPECT_TRUE(ledger.reserve(id, kMiB, 1).ok());
  const Ledger::Id other = admit(ledger, 1);
  EXPECT_FALSE(ledger.reserve(other, ~std::uint64_t{0}, 1).ok());
  EXPECT_FALSE(ledger.reserve(other, 0, ~std::uint32_t{0}).ok());
}

TEST(Ledger, NothingIsLeftOfThoseThatHaveGone) {
  Ledger ledger(limits());
  for (int i = 0; i < 10; ++i) {
    const Ledger::Id id = admit(ledger, 1);
    EXPECT_TRUE(ledger.reserve(id, 100 * kMiB, 10).ok());
    if (i % 2 == 0) ledger.leave(id);
    ledger.release_memory(id);
    ledger.release_memory(id);
  }
  EXPECT_EQ(ledger.ranks(), 0u);
  EXPECT_EQ(ledger.memory(), 0u);
}

}  // namespace
}  // namespace lapwing::launch::tests
