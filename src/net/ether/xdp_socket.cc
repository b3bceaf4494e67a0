#include "net/ether/xdp_socket.h"

#include <linux/if_xdp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

// Linux 6.6; headers may be older.
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)
#endif
// Linux 5.11.
#ifndef SO_PREFER_BUSY_POLL
#define SO_PREFER_BUSY_POLL 69
#define SO_BUSY_POLL_BUDGET 70
#endif

namespace lapwing::net::ether {
namespace {

Status failed(const char* what) {
  const int error = errno;
  const char* remedy = error == EPERM ? "; it needs CAP_NET_RAW" : error == ENOBUFS ? "; raise the limit of locked memory (ulimit -l)" : "";
  return Status::error(MPI_ERR_OTHER, "%s: %s%s", what, std::strerror(error), remedy);
}

struct RingOfSocket {
  int option;
  std::uint32_t size;
};
constexpr RingOfSocket kOwnRings[] = {{XDP_RX_RING, kReceiveChunks}, {XDP_TX_RING, kSendChunks}};
constexpr RingOfSocket kRingsOfMemory[] = {{XDP_UMEM_FILL_RING, kReceiveChunks}, {XDP_UMEM_COMPLETION_RING, kSendChunks}};

Status make_rings(int fd, std::span<const RingOfSocket> rings) {
  for (const RingOfSocket& ring : rings) {
    if (setsockopt(fd, SOL_XDP, ring.option, &ring.size, sizeof ring.size) != 0) return failed("the kernel makes no ring of an AF_XDP socket");
  }
  return {};
}

Status make_own_rings(int fd) {
  // What waits in the network's queues counts against it; the default holds a millisecond's worth, and a rank may not run for longer.
  const int buffer = static_cast<int>(kSendChunks) * 2 * static_cast<int>(kChunkBytes);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer);
  return make_rings(fd, kOwnRings);
}

Status give_memory(int fd, const void* memory) {
  xdp_umem_reg region{};
  region.addr = reinterpret_cast<std::uint64_t>(memory);
  region.len = kMemoryBytes;
  region.chunk_size = kChunkBytes;
  if (setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &region, sizeof region) != 0) return failed("the kernel does not take memory for an AF_XDP socket");
  return make_rings(fd, kRingsOfMemory);
}

int bind_socket(int fd, unsigned interface, std::uint32_t queue, int flags, int other) noexcept {
  sockaddr_xdp address{};
  address.sxdp_family = AF_XDP;
  address.sxdp_ifindex = interface;
  address.sxdp_flags = static_cast<std::uint16_t>(flags);
  address.sxdp_queue_id = queue;
  address.sxdp_shared_umem_fd = static_cast<std::uint32_t>(other);
  return ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

bool maps_rings(int fd) noexcept {
  constexpr std::size_t kPage = 4096;
  void* const ring = ::mmap(nullptr, kPage, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(XDP_UMEM_PGOFF_FILL_RING));
  return ring != MAP_FAILED && ::munmap(ring, kPage) == 0;
}

Status open_socket(int& fd) {
  fd = ::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
  return fd < 0 ? failed("the kernel gives no AF_XDP socket") : Status();
}

// Hands it on, or closes it.
Status close_unless(Status status, int& fd) {
  if (status.ok()) return status;
  ::close(fd);
  fd = -1;
  return status;
}

}  // namespace

Status make_xdp_socket(const void* memory, int& fd) {
  LAPWING_TRY(open_socket(fd));
  Status made = give_memory(fd, memory);
  if (made.ok()) made = make_own_rings(fd);
  return close_unless(std::move(made), fd);
}

int bind_xdp_socket(int fd, unsigned interface, std::uint32_t queue, bool in_pieces) noexcept {
  return bind_socket(fd, interface, queue, XDP_USE_NEED_WAKEUP | (in_pieces ? XDP_USE_SG : 0), 0);
}

// A call runs the driver once and does not stay there, so the time only has to be more than none.
Status ask_for_busy_poll(int fd) {
  constexpr int kMostPackets = 64, kMicroseconds = 1, kOn = 1;
  const struct {
    int option, value;
  } options[] = {{SO_BUSY_POLL, kMicroseconds}, {SO_PREFER_BUSY_POLL, kOn}, {SO_BUSY_POLL_BUDGET, kMostPackets}};
  for (const auto& [option, value] : options) {
    if (setsockopt(fd, SOL_SOCKET, option, &value, sizeof value) != 0)
      return Status::error(MPI_ERR_OTHER, "the kernel does not let this process: %s", std::strerror(errno));
  }
  return {};
}

// Whether calls are wanted and packets come in pieces it has from the other one.
Status make_sharing_socket(int other, unsigned interface, std::uint32_t queue, int& fd) {
  LAPWING_TRY(open_socket(fd));
  Status made = make_own_rings(fd);
  if (const int error = made.ok() ? bind_socket(fd, interface, queue, XDP_SHARED_UMEM, other) : 0; error != 0)
    made = Status::error(MPI_ERR_OTHER, "the kernel lets no second socket share a receive queue: %s", std::strerror(error));
  if (made.ok() && !maps_rings(fd)) made = failed("the kernel does not map the rings of an AF_XDP socket that is bound (Linux 6.4 does)");
  return close_unless(std::move(made), fd);
}

}  // namespace lapwing::net::ether
