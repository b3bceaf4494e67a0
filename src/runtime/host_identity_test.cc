#include "runtime/host_identity.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace lapwing::runtime {
namespace {

struct Variable {
  explicit Variable(const char* value) { setenv("LAPWING_INTERNAL_HOSTS", value, 1); }
  ~Variable() { unsetenv("LAPWING_INTERNAL_HOSTS"); }
};

TEST(EmulatedHost, EachRankHasALetterAndTheLettersBeginAgain) {
  const Variable variable("ab0");
  EXPECT_EQ(emulated_host(0), "a");
  EXPECT_EQ(emulated_host(1), "b");
  EXPECT_EQ(emulated_host(2), "0");
  EXPECT_EQ(emulated_host(4), "b");
}

TEST(EmulatedHost, UsuallyThereIsNone) {
  EXPECT_EQ(emulated_host(0), "");
  const Variable variable("");
  EXPECT_EQ(emulated_host(0), "");
}

}  // namespace
}  // namespace lapwing::runtime
