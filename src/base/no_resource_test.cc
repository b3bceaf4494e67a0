#include "base/no_resource.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace lapwing {
namespace {

bool says(const Status& status, const char* words) {
  return std::string(status.text()).find(words) != std::string::npos;
}

TEST(NoResource, ALimitIsToBeRaised) {
  const Status files = no_descriptor("an eventfd", EMFILE);
  EXPECT_EQ(files.error_class(), MPI_ERR_NO_MEM);
  EXPECT_STREQ(files.text(), "cannot open an eventfd: Too many open files; raise the limit of open files (ulimit -n)");
  EXPECT_TRUE(says(no_descriptor("an eventfd", ENFILE), "fs.file-max"));
  const Status thread = no_thread("a thread", EAGAIN, "; X goes without");
  EXPECT_EQ(thread.error_class(), MPI_ERR_NO_MEM);
  EXPECT_TRUE(says(thread, "(ulimit -u); X goes without"));
}

TEST(NoResource, NoLimitHelpsAgainstAFilter) {
  for (const int error : {EPERM, ENOSYS}) {
    for (const Status& status : {no_descriptor("a timerfd", error), no_thread("a thread", error, "; X goes without")}) {
      EXPECT_EQ(status.error_class(), MPI_ERR_OTHER);
      EXPECT_TRUE(says(status, "seccomp"));
      EXPECT_FALSE(says(status, "ulimit"));
    }
  }
}

TEST(NoResource, NoLimitHelpsWhereMemoryIsShort) {
  EXPECT_FALSE(says(no_descriptor("an eventfd", ENOMEM), "raise"));
  EXPECT_FALSE(says(no_thread("a thread", ENOMEM), "raise"));
  EXPECT_TRUE(says(no_thread("a thread", EPERM, "; X goes without"), "forbids it; X goes without"));
}

}  // namespace
}  // namespace lapwing
