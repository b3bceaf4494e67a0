#include "net/shm/handover.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "base/memory_order.h"
#include "net/shm/invitation.h"
#include "net/shm/segment.h"

namespace lapwing::net::shm {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

class HandoverTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(listener_.open().ok()); }

  void prepare(std::uint32_t ranks) {
    ASSERT_TRUE(segment_.create(ranks, 16384, files_.segment).ok());
    ASSERT_TRUE(create_doorbells(ranks, files_.doorbells).ok());
  }

  // A connection that shows `token` as local rank `rank`. Left open.
  OwnedFd knock(const std::string& token, std::uint32_t rank) {
    OwnedFd connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, listener_.name().data(), listener_.name().size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + listener_.name().size());
    EXPECT_EQ(connect(connection.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
    std::string request = token + std::string(reinterpret_cast<const char*>(&rank), sizeof rank);
    EXPECT_EQ(send(connection.get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    return connection;
  }

  SteadyClock clock_;
  Listener listener_;
  Segment segment_;
  SharedFiles files_;
};

// In a child process: fetches, maps, leaves a mark, rings rank 0. The exit code says what went wrong.
int child_of(const Listener& listener, std::uint32_t rank, std::uint32_t ranks) {
  SteadyClock clock;
  SharedFiles files;
  const Status fetched =
      fetch(listener.name(), listener.token(), 0, rank, ranks, clock, clock.now() + 30 * kSecond, files);
  if (!fetched.ok()) return 1;
  Segment segment;
  if (!segment.map(files.segment, ranks).ok()) return 2;
  if (ftruncate(files.segment.get(), 0) == 0) return 3;  // sealed: nobody can pull the memory away
  segment.ring_bytes(rank, 0)[0] = static_cast<std::byte>(rank);
  store_release(segment.ring_header(rank, 0).tail, std::uint64_t{64});
  const std::uint64_t one = 1;
  return write(files.doorbells[0].get(), &one, sizeof one) == sizeof one ? 0 : 4;
}

TEST_F(HandoverTest, ServesEveryRankOfTheHost) {
  constexpr std::uint32_t kRanks = 4;
  prepare(kRanks);
  pid_t children[kRanks] = {};
  for (std::uint32_t rank = 1; rank < kRanks; ++rank) {
    children[rank] = fork();
    if (children[rank] == 0) _exit(child_of(listener_, rank, kRanks));
  }
  const Status served = listener_.serve(kRanks, files_, clock_, clock_.now() + 30 * kSecond);
  EXPECT_TRUE(served.ok()) << served.text();
  for (std::uint32_t rank = 1; rank < kRanks; ++rank) {
    int status = -1;
    ASSERT_EQ(waitpid(children[rank], &status, 0), children[rank]);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(load_acquire(segment_.ring_header(rank, 0).tail), 64u);
    EXPECT_EQ(segment_.ring_bytes(rank, 0)[0], static_cast<std::byte>(rank));
  }
  std::uint64_t rings = 0;
  EXPECT_EQ(read(files_.doorbells[0].get(), &rings, sizeof rings), static_cast<ssize_t>(sizeof rings));
  EXPECT_EQ(rings, kRanks - 1);
}

TEST_F(HandoverTest, StrangersGetNothingAndHinderNobody) {
  prepare(2);
  OwnedFd wrong_token = knock(std::string(Listener::kTokenBytes, 'x'), 1);
  OwnedFd wrong_rank = knock(listener_.token(), 7);
  OwnedFd leader_again = knock(listener_.token(), 0);
  OwnedFd silent = knock("", 0);  // four bytes: too short
  const pid_t child = fork();
  if (child == 0) _exit(child_of(listener_, 1, 2));
  EXPECT_TRUE(listener_.serve(2, files_, clock_, clock_.now() + 30 * kSecond).ok());
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (OwnedFd* stranger : {&wrong_token, &wrong_rank, &leader_again, &silent}) {
    char byte;
    EXPECT_LE(recv(stranger->get(), &byte, 1, 0), 0);  // closed, nothing sent
  }
}

TEST_F(HandoverTest, SaysHowManyRanksAreMissing) {
  prepare(3);
  const Status status = listener_.serve(3, files_, clock_, clock_.now());
  EXPECT_NE(std::string(status.text()).find("2 of the 3 ranks"), std::string::npos) << status.text();
}

TEST_F(HandoverTest, NamesTheLeaderWhoDoesNotAnswer) {
  SharedFiles files;
  const Status status =
      fetch("lapwing-nobody-listens", listener_.token(), 5, 1, 2, clock_, clock_.now() + kSecond, files);
  EXPECT_NE(std::string(status.text()).find("rank 5"), std::string::npos) << status.text();
}

TEST(Segment, RefusesAFileThatIsNoSegment) {
  OwnedFd file(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  Segment segment;
  EXPECT_FALSE(segment.map(file, 2).ok());  // empty, not sealed
  OwnedFd real;
  Segment created;
  ASSERT_TRUE(created.create(2, 65536, real).ok());
  EXPECT_FALSE(segment.map(real, 3).ok());  // made for another number of ranks
  EXPECT_TRUE(segment.map(real, 2).ok());
}

// The flags that the kernel shows for the mapping that begins at `address`.
std::string mapping_flags(const void* address) {
  char begin[32];
  std::snprintf(begin, sizeof begin, "%lx-", reinterpret_cast<unsigned long>(address));
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.rfind(begin, 0) == 0) inside = true;
    if (inside && line.rfind("VmFlags:", 0) == 0) return line;
  }
  return {};
}

TEST(Segment, StaysOutOfCoreFiles) {
  OwnedFd file;
  Segment created, mapped;
  ASSERT_TRUE(created.create(2, 65536, file).ok());
  ASSERT_TRUE(mapped.map(file, 2).ok());
  for (Segment* segment : {&created, &mapped}) {
    // The segment begins a page and its control blocks before the first ring.
    const std::byte* base = segment->ring_bytes(0, 0) - Layout::kRingHeaderBytes - segment->layout().rings_offset();
    const std::string flags = mapping_flags(base);
    ASSERT_FALSE(flags.empty());
    EXPECT_NE(flags.find(" dd"), std::string::npos) << flags;
  }
}

TEST(Segment, LayoutIsPinned) {
  const Layout layout{2, 65536};
  EXPECT_EQ(layout.control_stride(), 256u);
  EXPECT_EQ(layout.rings_offset(), 8192u);
  EXPECT_EQ(layout.ring_stride(), 69632u);
  EXPECT_EQ(layout.boards_offset(), 8192u + 4 * 69632u);
  EXPECT_EQ(BoardMemory::stride(2), 4096u + 2 * 2 * 65536u);
  EXPECT_EQ(layout.total_bytes(), layout.boards_offset() + 64 * BoardMemory::stride(2));
  EXPECT_EQ((Layout{65, 4096}.control_stride()), 256u);
}

TEST(Invitation, RoundTrip) {
  const Invitation original{"lapwing-0123", std::string("0123456789abcd\0\xff", 16), 4711, 0x7fff12345678,
                            ~std::uint64_t{0}};
  Invitation copy;
  ASSERT_TRUE(Invitation::decode(original.encode(), copy));
  EXPECT_EQ(copy.name, original.name);
  EXPECT_EQ(copy.token, original.token);
  EXPECT_EQ(copy.pid, original.pid);
  EXPECT_EQ(copy.probe_address, original.probe_address);
  EXPECT_EQ(copy.probe_value, original.probe_value);
}

TEST(Invitation, RefusesWhatIsMalformed) {
  Invitation invitation;
  const std::string good = Invitation{"n", std::string(16, 'a'), 1, 2, 3}.encode();
  ASSERT_TRUE(Invitation::decode(good, invitation));
  for (std::size_t length = 0; length + 1 < good.size(); ++length)
    EXPECT_FALSE(Invitation::decode(good.substr(0, length), invitation)) << length;
  EXPECT_FALSE(Invitation::decode(good + ",more", invitation));
  EXPECT_FALSE(Invitation::decode("n," + std::string(32, 'g') + ",1,2,3", invitation));
  EXPECT_FALSE(Invitation::decode("n," + std::string(32, '0') + ",-1,2,3", invitation));
}

}  // namespace
}  // namespace lapwing::net::shm
