#include "mpiexec/input.h"

#include <gtest/gtest.h>

#include <unistd.h>

namespace lapwing::launch {
namespace {

// Else the event loop would hear of it again at once, for ever.
TEST(Input, EndsWhenTheRankHasClosedItsStandardInput) {
  EventLoop loop;
  InputForwarder input(loop);
  int rank_end = -1;
  ASSERT_TRUE(input.open(rank_end).ok());
  EXPECT_TRUE(input.is_open());
  ::close(rank_end);
  loop.run_once(-1);
  EXPECT_FALSE(input.is_open());
}

}  // namespace
}  // namespace lapwing::launch
