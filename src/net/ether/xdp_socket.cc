#include "net/ether/xdp_socket.h"

#include <linux/if_xdp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

// Linux 6.6; headers may be older.
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)
#endif

namespace lapwing::net::ether {
namespace {

Status failed(const char* what) {
  const int error = errno;
  const char* remedy = error == EPERM ? "; it needs CAP_NET_RAW" : error == ENOBUFS ? "; raise the limit of locked memory (ulimit -l)" : "";
  return Status::error(MPI_ERR_OTHER, "%s: %s%s", what, std::strerror(error), remedy);
}

Status set_up(int fd, const void* memory) {
  // What waits in the network's queues counts against it; the default holds a millisecond's worth, and a rank may not run for longer.
  const int buffer = static_cast<int>(kSendChunks) * 2 * static_cast<int>(kChunkBytes);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer);
  xdp_umem_reg region{};
  region.addr = reinterpret_cast<std::uint64_t>(memory);
  region.len = kMemoryBytes;
  region.chunk_size = kChunkBytes;
  if (setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &region, sizeof region) != 0) return failed("the kernel does not take memory for an AF_XDP socket");
  const struct {
    int option;
    std::uint32_t size;
  } rings[] = {
      {XDP_UMEM_FILL_RING, kReceiveChunks}, {XDP_UMEM_COMPLETION_RING, kSendChunks}, {XDP_RX_RING, kReceiveChunks}, {XDP_TX_RING, kSendChunks}};
  for (const auto& ring : rings) {
    if (setsockopt(fd, SOL_XDP, ring.option, &ring.size, sizeof ring.size) != 0) return failed("the kernel makes no ring of an AF_XDP socket");
  }
  return {};
}

}  // namespace

Status make_xdp_socket(const void* memory, int& fd) {
  fd = ::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (fd < 0) return failed("the kernel gives no AF_XDP socket");
  Status status = set_up(fd, memory);
  if (status.ok()) return {};
  ::close(fd);
  fd = -1;
  return status;
}

int bind_xdp_socket(int fd, unsigned interface, std::uint32_t queue, bool in_pieces) noexcept {
  sockaddr_xdp address{};
  address.sxdp_family = AF_XDP;
  address.sxdp_ifindex = interface;
  address.sxdp_flags = static_cast<std::uint16_t>(XDP_USE_NEED_WAKEUP | (in_pieces ? XDP_USE_SG : 0));
  address.sxdp_queue_id = queue;
  return ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

}  // namespace lapwing::net::ether
