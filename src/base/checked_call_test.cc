#include "base/checked_call.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace lapwing {
namespace {

TEST(CheckedCallDeathTest, ADescriptorThatTheProgramHasClosedIsNoBugOfOurs) {
  LAPWING_CHECK_CALL(close(open("/dev/null", O_RDONLY)));
  EXPECT_DEATH(LAPWING_CHECK_CALL(close(-1)), "has closed descriptors");
  EXPECT_DEATH(LAPWING_CHECK_CALL(fcntl(open("/dev/null", O_RDONLY), -1)), "a bug in Lapwing");
}

}  // namespace
}  // namespace lapwing
