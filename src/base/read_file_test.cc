#include "base/read_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace lapwing {
namespace {

TEST(ReadFile, GivesTheWholeContents) {
  char path[] = "/tmp/lapwing-read-file-XXXXXX";
  const int file = ::mkstemp(path);
  ASSERT_GE(file, 0);
  std::string written(10000, 'x');
  written[17] = '\0';
  ASSERT_EQ(::write(file, written.data(), written.size()), static_cast<ssize_t>(written.size()));
  ::close(file);
  EXPECT_EQ(read_file(path), written);
  ::unlink(path);
  EXPECT_EQ(read_file(path), "");
}

TEST(ReadFile, ReadsFilesOfProcThatHaveNoSize) {
  EXPECT_EQ(read_file("/proc/self/stat").substr(0, std::to_string(::getpid()).size()), std::to_string(::getpid()));
}

// Opened, and then unreadable: as a file of /proc whose process has ended in between. A directory (EISDIR) fails the same way.
TEST(ReadFile, AFileThatOpensAndCannotBeReadIsEmpty) { EXPECT_EQ(read_file("/proc/self"), ""); }

}  // namespace
}  // namespace lapwing
