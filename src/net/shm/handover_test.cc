#include "net/shm/handover.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/memory_order.h"
#include "net/shm/invitation.h"
#include "net/shm/segment.h"

namespace lapwing::net::shm {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

Place place_of(std::uint32_t local_rank, std::uint32_t local_ranks) {
  std::vector<std::uint32_t> ranks(local_ranks);
  std::iota(ranks.begin(), ranks.end(), 0);
  return place_among(ranks, local_rank);
}

bool no_rank_has_ended() {
  return false;
}

class HandoverTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(listener_.open().ok()); }

  void prepare(std::uint32_t ranks) {
    ASSERT_TRUE(segment_.create(ranks, 16384, 0, files_.segment).ok());
    ASSERT_TRUE(create_doorbells(ranks, files_.doorbells).ok());
  }

  // A connection that shows `token` as local rank `rank`. Left open.
  OwnedFd knock(const std::string& token, std::uint32_t rank) {
    const Place place = place_of(rank, 2);
    std::string request = token + std::string(reinterpret_cast<const char*>(&place), sizeof place);
    return send_to_leader(request + std::string(256, '\0'));
  }
  OwnedFd send_to_leader(const std::string& request) {
    OwnedFd connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, listener_.name().data(), listener_.name().size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + listener_.name().size());
    EXPECT_EQ(connect(connection.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(send(connection.get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    return connection;
  }

  // The leader's part, with `patience` nanoseconds.
  Status serve(std::uint32_t ranks, std::int64_t patience = 30 * kSecond, const HasEnded& one_has_ended = no_rank_has_ended) {
    Agreement agreement(segment_.agreement(), ranks, files_.doorbells[0].get());
    agreement.join();
    return listener_.serve(place_of(0, ranks), files_, agreement, clock_, clock_.now() + patience, one_has_ended);
  }
  static int exit_code(pid_t child) {
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  SteadyClock clock_;
  Listener listener_;
  Segment segment_;
  SharedFiles files_;
};

// In a child process: fetches, maps, leaves a mark, rings rank 0. The exit code says what went wrong. The child's own copy of the listening socket
// would keep a connection open that the parent has not accepted when it closes.
int child_of(Listener& listener, std::uint32_t rank, std::uint32_t ranks) {
  listener.close();
  SteadyClock clock;
  SharedFiles files;
  const Status fetched =
      fetch(listener.name(), listener.token(), 0, place_of(rank, ranks), clock, clock.now() + 30 * kSecond, files);
  if (!fetched.ok()) return 1;
  Segment segment;
  if (!segment.map(files.segment, ranks, 0).ok()) return 2;
  if (ftruncate(files.segment.get(), 0) == 0) return 3;  // sealed: no process can pull the memory away
  segment.ring_bytes(rank, 0)[0] = static_cast<std::byte>(rank);
  store_release(segment.ring_header(rank, 0).tail, std::uint64_t{64});
  const std::uint64_t one = 1;
  if (write(files.doorbells[rank].get(), &one, sizeof one) != sizeof one) return 4;
  Agreement agreement(segment.agreement(), ranks, files.doorbells[0].get());
  agreement.join();
  return agreement.wait(clock, clock.now() + 30 * kSecond, no_rank_has_ended) == Agreement::kTogether ? 0 : 5;
}

TEST_F(HandoverTest, ServesEveryRankOfTheHost) {
  constexpr std::uint32_t kRanks = 4;
  prepare(kRanks);
  pid_t children[kRanks] = {};
  for (std::uint32_t rank = 1; rank < kRanks; ++rank) {
    children[rank] = fork();
    if (children[rank] == 0) _exit(child_of(listener_, rank, kRanks));
  }
  const Status served = serve(kRanks);
  EXPECT_TRUE(served.ok()) << served.text();
  for (std::uint32_t rank = 1; rank < kRanks; ++rank) {
    EXPECT_EQ(exit_code(children[rank]), 0);
    std::uint64_t rings = 0;
    EXPECT_EQ(read(files_.doorbells[rank].get(), &rings, sizeof rings), static_cast<ssize_t>(sizeof rings));
    EXPECT_EQ(load_acquire(segment_.ring_header(rank, 0).tail), 64u);
    EXPECT_EQ(segment_.ring_bytes(rank, 0)[0], static_cast<std::byte>(rank));
  }
}

TEST_F(HandoverTest, ARankThatCannotTakePartSendsAllApart) {
  constexpr std::uint32_t kRanks = 3;
  prepare(kRanks);
  const pid_t willing = fork();
  if (willing == 0) _exit(child_of(listener_, 1, kRanks));
  const pid_t unable = fork();
  if (unable == 0)
    decline(listener_.name(), listener_.token(), 0, place_of(2, kRanks), "no memory may be mapped"), _exit(0);
  // Far longer than a test may take: no deadline is waited for.
  const Status served = serve(kRanks, 3600 * kSecond);
  EXPECT_NE(std::string(served.text()).find("no memory may be mapped"), std::string::npos) << served.text();
  EXPECT_EQ(exit_code(unable), 0);
  listener_.close();
  const int code = exit_code(willing);
  EXPECT_TRUE(code == 5 || code == 1) << "apart, or too late to fetch: " << code;
}

TEST_F(HandoverTest, ALeaderWithoutMemoryTellsTheOthersWhy) {
  std::string text;
  std::thread other([&] {
    SharedFiles files;
    text = fetch(listener_.name(), listener_.token(), 0, place_of(1, 2), clock_, clock_.now() + 3600 * kSecond, files)
               .text();
  });
  listener_.refuse(place_of(0, 2), "memfd_create is forbidden", clock_, clock_.now() + 3600 * kSecond, no_rank_has_ended);
  other.join();
  EXPECT_EQ(text, "rank 0 of this host: memfd_create is forbidden");
}

TEST_F(HandoverTest, RanksThatSeeOtherMembersGetNothing) {
  prepare(2);
  std::thread other([&] {
    SharedFiles files;
    const Status fetched = fetch(listener_.name(), listener_.token(), 0, place_among({0, 7}, 1), clock_,
                                 clock_.now() + 3600 * kSecond, files);
    EXPECT_NE(std::string(fetched.text()).find("do not agree"), std::string::npos) << fetched.text();
  });
  EXPECT_FALSE(serve(2, 3600 * kSecond).ok());
  other.join();
}

// The process has no descriptor left for a connection: it must neither spin nor wait, and say what is wrong with itself.
TEST_F(HandoverTest, ALeaderWithoutDescriptorsSaysSo) {
  prepare(2);
  const OwnedFd waiting = knock(listener_.token(), 1);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{3, before.rlim_max};  // poll() needs as many as it watches
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const Status served = serve(2, 3600 * kSecond);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_NE(std::string(served.text()).find("ulimit -n"), std::string::npos) << served.text();
}

TEST_F(HandoverTest, ARankThatEndsIsNotWaitedFor) {
  prepare(2);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  EXPECT_EQ(exit_code(child), 0);
  ProcessName process = ProcessName::of_this_process();
  EXPECT_FALSE(has_ended(process));
  process.pid = child;
  EXPECT_TRUE(has_ended(process));
  const HasEnded child_has_ended = [&process] { return has_ended(process); };
  const Status served = serve(2, 3600 * kSecond, child_has_ended);
  EXPECT_NE(std::string(served.text()).find("has ended"), std::string::npos) << served.text();
  segment_.unmap();
  files_ = SharedFiles();
  prepare(2);
  Agreement agreement(segment_.agreement(), 2, files_.doorbells[0].get());
  agreement.join();
  EXPECT_EQ(agreement.wait(clock_, clock_.now() + 3600 * kSecond, child_has_ended), Agreement::kApart);
}

TEST_F(HandoverTest, AListenerIsSeenWhereItIs) {
  EXPECT_TRUE(exists_here(listener_.name()));
  EXPECT_FALSE(exists_here(listener_.name() + "x"));
  EXPECT_TRUE(exists_here(listener_.name())) << "and is not disturbed";
  listener_.close();
  EXPECT_FALSE(exists_here(listener_.name()));
}

TEST_F(HandoverTest, StrangersGetNothingAndHinderNobody) {
  prepare(2);
  OwnedFd wrong_token = knock(std::string(Listener::kTokenBytes, 'x'), 1);
  OwnedFd wrong_rank = knock(listener_.token(), 7);
  OwnedFd leader_again = knock(listener_.token(), 0);
  OwnedFd silent = send_to_leader("hello");
  const pid_t child = fork();
  if (child == 0) _exit(child_of(listener_, 1, 2));
  EXPECT_TRUE(serve(2).ok());
  EXPECT_EQ(exit_code(child), 0);
  for (OwnedFd* stranger : {&wrong_token, &wrong_rank, &leader_again, &silent}) {
    char byte;
    EXPECT_LE(recv(stranger->get(), &byte, 1, 0), 0);  // closed, nothing sent
  }
}

TEST_F(HandoverTest, SaysHowManyRanksAreMissing) {
  prepare(3);
  const Status status = serve(3, 0);
  EXPECT_NE(std::string(status.text()).find("2 of the 3 ranks"), std::string::npos) << status.text();
}

TEST_F(HandoverTest, NamesTheLeaderWhoDoesNotAnswer) {
  SharedFiles files;
  const Status status =
      fetch("lapwing-nobody-listens", listener_.token(), 5, place_of(1, 2), clock_, clock_.now() + kSecond, files);
  EXPECT_NE(std::string(status.text()).find("rank 5"), std::string::npos) << status.text();
}

TEST(Segment, RefusesAFileThatIsNoSegment) {
  OwnedFd file(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  Segment segment;
  EXPECT_FALSE(segment.map(file, 2, 0).ok());  // empty, not sealed
  OwnedFd real;
  Segment created;
  ASSERT_TRUE(created.create(2, 65536, 4096, real).ok());
  EXPECT_FALSE(segment.map(real, 3, 4096).ok());  // made for another number of ranks
  EXPECT_FALSE(segment.map(real, 2, 8192).ok());  // and for another user
  EXPECT_TRUE(segment.map(real, 2, 4096).ok());
}

TEST(Segment, AFileLimitIsAnErrorAndNotASignal) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{65536, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  OwnedFd file;
  Segment segment;
  const Status created = segment.create(2, 65536, 0, file);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_NE(std::string(created.text()).find("ulimit -f"), std::string::npos) << created.text();
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
  ASSERT_TRUE(created.create(2, 65536, 0, file).ok());
  ASSERT_TRUE(mapped.map(file, 2, 0).ok());
  for (Segment* segment : {&created, &mapped}) {
    // The segment begins a page and its control blocks before the first ring.
    const std::byte* base = segment->ring_bytes(0, 0) - Layout::kRingHeaderBytes - segment->layout().rings_offset();
    const std::string flags = mapping_flags(base);
    ASSERT_FALSE(flags.empty());
    EXPECT_NE(flags.find(" dd"), std::string::npos) << flags;
  }
}

TEST(Segment, LayoutIsPinned) {
  const Layout layout{2, 65536, 12288};
  EXPECT_EQ(layout.control_stride(), 256u);
  EXPECT_EQ(layout.spare_offset(), 4096u + 2 * 256u);
  EXPECT_EQ(layout.rings_offset(), 8192u);
  EXPECT_EQ(layout.ring_stride(), 69632u);
  EXPECT_EQ(layout.cell_bytes(), 16384u);
  EXPECT_EQ(layout.cell_offset(0), 8192u + 4 * 69632u);
  EXPECT_EQ(layout.user_offset(), layout.cell_offset(16));
  EXPECT_EQ(layout.total_bytes(), layout.user_offset() + 12288u);
  EXPECT_EQ((Layout{65, 4096, 0}.control_stride()), 256u);
}

// The bits of the spare ones have room before the rings, and all of a rank's cells are no longer than twice the rings to it.
TEST(Segment, CellsHaveRoom) {
  for (const std::uint32_t ranks : {1u, 2u, 3u, 64u, shm::kMaxLocalRanks}) {
    for (const std::uint64_t ring : {shm::kMinRingBytes, std::uint64_t{2} << 20}) {
      const Layout layout{ranks, ring, 0};
      EXPECT_GE(layout.rings_offset(), layout.spare_offset() + layout.spare_words() * 8);
      EXPECT_GE(layout.spare_words() * 64, layout.cells());
      EXPECT_LE(layout.cell_bytes(), Layout::kMostCellBytes);
      EXPECT_LE(Layout::kCellsEach * layout.cell_bytes(), 2 * (ranks - 1) * ring);
      EXPECT_GE(layout.user_offset(), layout.cells_offset() + layout.cells() * layout.cell_bytes());
    }
  }
}

TEST(Invitation, RoundTrip) {
  const Invitation original{"lapwing-0123",
                            std::string("0123456789abcd\0\xff", 16),
                            0x7fff12345678,
                            ~std::uint64_t{0},
                            {4711, 4026531836, 123456789012}};
  Invitation copy;
  ASSERT_TRUE(Invitation::decode(original.encode(), copy));
  EXPECT_EQ(copy.name, original.name);
  EXPECT_EQ(copy.token, original.token);
  EXPECT_EQ(copy.process, original.process);
  EXPECT_EQ(copy.probe_address, original.probe_address);
  EXPECT_EQ(copy.probe_value, original.probe_value);
}

TEST(Invitation, RefusesWhatIsMalformed) {
  Invitation invitation;
  const std::string good = Invitation{"n", std::string(16, 'a'), 2, 3, {1, 4, 5}}.encode();
  ASSERT_TRUE(Invitation::decode(good, invitation));
  for (std::size_t length = 0; length + 1 < good.size(); ++length)
    EXPECT_FALSE(Invitation::decode(good.substr(0, length), invitation)) << length;
  EXPECT_FALSE(Invitation::decode(good + ",more", invitation));
  EXPECT_FALSE(Invitation::decode("n," + std::string(32, 'g') + ",1,2,3,4,5", invitation));
  EXPECT_FALSE(Invitation::decode("n," + std::string(32, '0') + ",-1,2,3,4,5", invitation));
}

}  // namespace
}  // namespace lapwing::net::shm
