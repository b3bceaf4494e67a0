// Copies that fail, and why.
#include "net/shm/single_copy.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <iterator>

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
    EXPECT_TRUE(copies.found_bad_memory());
  }
  other.end();
  EXPECT_FALSE(pull(address));
  EXPECT_FALSE(copies.push(other.pid(), reinterpret_cast<std::uintptr_t>(&here), address, sizeof here));
  EXPECT_FALSE(copies.found_bad_memory());
  ::munmap(forbidden, 4096);
  if (!may) GTEST_SKIP() << "this machine does not let a process read another one's memory";
}

// A process that may not make this system call; whether it finds that it may copy from and to this one.
bool probes_without(long call, std::uintptr_t address, std::uint64_t value) {
  const pid_t here = ::getpid(), prober = ::fork();
  if (prober == 0) {
    sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{std::size(filter), filter};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) ::_exit(0);  // as if it had been refused
    ::_exit(SingleCopy::probe(here, address, value) ? 1 : 0);
  }
  int status = 0;
  ::waitpid(prober, &status, 0);
  return status != 0;
}

TEST(SingleCopy, IsNotPossibleWhereAProcessMayOnlyReadOrOnlyWrite) {
  static std::uint64_t word = 4711;
  const auto address = reinterpret_cast<std::uintptr_t>(&word);
  if (!probes_without(SYS_getppid, address, word)) GTEST_SKIP() << "this machine does not let a process read another one's memory, or filter its system calls";
  EXPECT_FALSE(probes_without(SYS_process_vm_readv, address, word));
  EXPECT_FALSE(probes_without(SYS_process_vm_writev, address, word));
  EXPECT_EQ(word, 4711u);
}

}  // namespace
}  // namespace lapwing::net::shm
