#include "net/ether/own_source.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "net/ether/rights.h"
#include "net/ether/xdp_socket.h"

namespace lapwing::net::ether {

static_assert(kMemoryBytes == kLockedBytes);

// A forked child gets none of it: the kernel goes on using the pages, and a copy made at a write would part the two.
Status OwnSource::make(std::byte*& memory, int& fd) {
  LAPWING_TRY(steering_.join(interface_.index, interface_.name));
  void* mapped = mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (mapped == MAP_FAILED) return Status::error(MPI_ERR_OTHER, "cannot map the memory of an AF_XDP socket: %s", std::strerror(errno));
  madvise(mapped, kMemoryBytes, MADV_DONTFORK);
  memory = static_cast<std::byte*>(mapped);
  Status made = make_xdp_socket(memory, fd);
  if (!made.ok()) munmap(mapped, kMemoryBytes);
  return made;
}

Status OwnSource::bind(int fd, std::uint32_t queue, bool in_pieces, bool& taken) {
  const int error = bind_xdp_socket(fd, interface_.index, queue, in_pieces);
  taken = error == EBUSY;
  if (error != 0) return Status::error(MPI_ERR_OTHER, "no AF_XDP socket on %s: %s", interface_.name.c_str(), std::strerror(error));
  LAPWING_TRY(steering_.add(queue, fd, endpoint_));
  rule_.set(std::make_unique<InterfaceNic>(interface_.index), endpoint_, queue);
  return {};
}

}  // namespace lapwing::net::ether
