#include "base/descriptor_limit.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace lapwing {
namespace {

rlim_t limit_after_making_room_for(std::size_t descriptors) {
  make_room_for_descriptors(descriptors);
  rlimit now;
  getrlimit(RLIMIT_NOFILE, &now);
  return now.rlim_cur;
}

// In a process of its own, whose limits may be lowered.
[[noreturn]] void try_limits() {
  const rlimit low{64, 128};
  const bool good = setrlimit(RLIMIT_NOFILE, &low) == 0 && limit_after_making_room_for(32) == 64 &&
                    limit_after_making_room_for(100) == 100 && limit_after_making_room_for(100000) == 128 &&
                    make_room_for_descriptors(1).rlim_max == 128;
  std::_Exit(good ? 0 : 1);
}

TEST(DescriptorLimit, RisesAsFarAsNeededAndAllowed) {
  EXPECT_EXIT(try_limits(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace lapwing
