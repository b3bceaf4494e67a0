// Whose variables a rank believes: those of the launcher that serves it.
#include "runtime/pmi1_launcher.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string>

#include "runtime/host_identity.h"
#include "runtime/launcher_search.h"
#include "runtime/scripted_launcher_for_tests.h"

namespace lapwing::runtime {
namespace {

std::string inode_of(int fd) {
  struct stat about {};
  EXPECT_EQ(::fstat(fd, &about), 0);
  return std::to_string(about.st_ino);
}

// What our mpiexec sets for one of two ranks, and the connection of a launcher, which is its own or another's.
class Variables : public testing::Test {
 protected:
  Variables() {
    set("PMI_FD", std::to_string(launcher_.client_fd()));
    set("PMI_RANK", "1");
    set("PMI_SIZE", "2");
    set("LAPWING_INTERNAL_NETWORK", network_namespace());
    set("LAPWING_INTERNAL_LOCAL_SIZE", "2");
    set("LAPWING_INTERNAL_BOUND", "1");
    set("LAPWING_INTERNAL_CORES", "48");
  }
  ~Variables() override {
    for (const char* name : names_) ::unsetenv(name);
  }

  void set(const char* name, const std::string& value) {
    ::setenv(name, value.c_str(), 1);
    names_.push_back(name);
  }

  ScriptedLauncher launcher_{shortcuts_and({})};
  std::vector<const char*> names_;
};

TEST_F(Variables, OfTheLauncherThatServesThisRankAreBelieved) {
  set("LAPWING_INTERNAL_PMI_SOCKET", inode_of(launcher_.client_fd()));
  EXPECT_TRUE(served_by_mpiexec(::environ));
  Pmi1Launcher launcher(Pmi1Launcher::Way::kDescriptor);
  Place place;
  ASSERT_TRUE(launcher.join(place).ok());
  EXPECT_EQ(place.local_size, 2);
  EXPECT_EQ(place.cores, 48);
  EXPECT_TRUE(place.bound);
}

TEST_F(Variables, OfAnotherAroundItAreNot) {
  set("LAPWING_INTERNAL_PMI_SOCKET", inode_of(launcher_.client_fd()) + "0");
  EXPECT_FALSE(served_by_mpiexec(::environ));
  Pmi1Launcher launcher(Pmi1Launcher::Way::kDescriptor);
  Place place;
  ASSERT_TRUE(launcher.join(place).ok());
  EXPECT_EQ(place.size, 2);
  EXPECT_EQ(place.local_size, 0);
  EXPECT_EQ(place.cores, 0);
  EXPECT_FALSE(place.bound);
}

}  // namespace
}  // namespace lapwing::runtime
