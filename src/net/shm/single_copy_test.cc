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

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstring>
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

// Whatever the processor does, through the buffer or not, and more than it holds.
TEST(SingleCopy, CopiesWhateverThePlacesInAPage) {
  constexpr std::size_t kPage = 4096, kMost = 200'000, kAll = kMost + 2 * kPage;
  alignas(kPage) static std::byte there[kAll], here[kAll];
  for (std::size_t i = 0; i < kAll; ++i) there[i] = static_cast<std::byte>(i * 31 + i / 251);
  const Other other;
  const auto address = reinterpret_cast<std::uintptr_t>(there);
  std::uint64_t first = 0;
  std::memcpy(&first, there, sizeof first);
  if (!SingleCopy::probe(other.pid(), address, first)) GTEST_SKIP() << "this machine does not let a process read another one's memory";
  for (const bool stumbles : {false, true}) {
    SingleCopy copies(stumbles), plain(false);
    for (const std::size_t bytes : {std::size_t{100}, kLeastStumble, kMost}) {
      for (const std::size_t behind : {0, 1, 16, 63, 64, 4095}) {
        const std::byte* const from = there + 40;
        std::byte* const to = here + 40 + behind;
        std::fill(std::begin(here), std::end(here), std::byte{0xee});
        ContiguousWalk into(to, bytes);
        ASSERT_TRUE(copies.pull(other.pid(), reinterpret_cast<std::uintptr_t>(from), bytes, into));
        ASSERT_EQ(std::memcmp(to, from, bytes), 0) << bytes << " bytes, " << behind << " behind";
        ASSERT_EQ(to[-1], std::byte{0xee});
        ASSERT_EQ(to[bytes], std::byte{0xee});

        // The other process's `here` has been nothing but zeros since it began, but for what is written there.
        ASSERT_TRUE(copies.push(other.pid(), reinterpret_cast<std::uintptr_t>(from), reinterpret_cast<std::uintptr_t>(to), bytes));
        std::fill(std::begin(here), std::end(here), std::byte{0xee});
        ContiguousWalk back(to, bytes);
        ASSERT_TRUE(plain.pull(other.pid(), reinterpret_cast<std::uintptr_t>(to), bytes, back));
        ASSERT_EQ(std::memcmp(to, from, bytes), 0) << bytes << " bytes, " << behind << " behind";
      }
    }
  }
}

// Copies through the buffer touch this process's memory themselves: what it may not touch is left to the kernel, which says so.
TEST(SingleCopy, ThroughTheBufferFindsBadMemoryAsWell) {
  constexpr std::size_t kPage = 4096, kBehind = 16;
  alignas(kPage) static std::byte there[3 * kPage];
  void* const memory = ::mmap(nullptr, 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const forbidden = static_cast<std::byte*>(memory);
  const Other other;
  if (!SingleCopy::probe(other.pid(), reinterpret_cast<std::uintptr_t>(there), 0)) GTEST_SKIP() << "this machine does not let a process read another one's memory";
  SingleCopy pulls(true), pushes(true);
  ContiguousWalk into(forbidden + kBehind, kPage);
  EXPECT_FALSE(pulls.pull(other.pid(), reinterpret_cast<std::uintptr_t>(there), kPage, into));
  EXPECT_TRUE(pulls.found_bad_memory());
  EXPECT_FALSE(pushes.push(other.pid(), reinterpret_cast<std::uintptr_t>(forbidden), reinterpret_cast<std::uintptr_t>(there + kBehind), kPage));
  EXPECT_TRUE(pushes.found_bad_memory());
  ::munmap(memory, 3 * kPage);
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
