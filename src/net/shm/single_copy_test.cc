// Copies that fail, and whether the other process has ended.
#include "net/shm/single_copy.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace lapwing::net::shm {
namespace {

// A process that has the same memory as this one, until end().
class Other {
 public:
  Other() : pid_(::fork()) {
    if (pid_ == 0) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (pid_ == 0) ::pause();
  }
  ~Other() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  // It stays in the list of processes until this object goes.
  void end() const {
    ::kill(pid_, SIGKILL);
    siginfo_t info;
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }

 private:
  pid_t pid_;
};

TEST(SingleCopy, TellsAProcessThatHasEndedFromMemoryThatCannotBeReached) {
  static std::uint64_t there = 4711, here = 0;
  void* const forbidden = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto address = reinterpret_cast<std::uintptr_t>(&there);
  const Other other;
  SingleCopy copies;
  const auto pull = [&](std::uintptr_t from) {
    ContiguousWalk into(reinterpret_cast<std::byte*>(&here), sizeof here);
    return copies.pull(other.pid(), from, sizeof here, into);
  };
  const bool may = SingleCopy::probe(other.pid(), address, there);
  if (may) {
    EXPECT_TRUE(pull(address));
    EXPECT_EQ(here, there);
    EXPECT_FALSE(pull(reinterpret_cast<std::uintptr_t>(forbidden)));
    EXPECT_FALSE(copies.found_no_process());
  }
  other.end();
  EXPECT_FALSE(pull(address));
  EXPECT_FALSE(copies.push(other.pid(), reinterpret_cast<std::uintptr_t>(&here), address, sizeof here));
  EXPECT_TRUE(!may || copies.found_no_process());
  ::munmap(forbidden, 4096);
  if (!may) GTEST_SKIP() << "this machine does not let a process read another one's memory";
}

}  // namespace
}  // namespace lapwing::net::shm
