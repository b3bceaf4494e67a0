#include "wire/machine.h"

#include <gtest/gtest.h>

#include <string>

namespace lapwing::wire {
namespace {

using std::string;

TEST(Machine, ProcessesOfOneMachineAreApartByNetworkOrUser) {
  EXPECT_NE(string(why_apart("boot/1/0", "boot/2/0")).find("network namespaces"), string::npos);
  EXPECT_NE(string(why_apart("boot/1/0", "boot/2/7")).find("network namespaces"), string::npos);
  EXPECT_NE(string(why_apart("boot/1/0", "boot/1/7")).find("different users"), string::npos);
}

TEST(Machine, OtherHostsAreOtherMachines) {
  EXPECT_STREQ(why_apart("boot/1/0", "other/1/0"), "");
  EXPECT_STREQ(why_apart("boot/1/0", "boot/1/0"), "");
  EXPECT_STREQ(why_apart("boot/1/0#0", "boot/1/0#1"), "");
  EXPECT_STREQ(why_apart("here", "there"), "");
  EXPECT_STREQ(why_apart("boot/1/0", ""), "");
}

}  // namespace
}  // namespace lapwing::wire
