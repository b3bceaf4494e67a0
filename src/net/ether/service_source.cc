#include "net/ether/service_source.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "net/ether/steering.h"
#include "net/ether/xdp_socket.h"

namespace lapwing::net::ether {
namespace {

using wire::AcceleratorRequest;
using Kind = AcceleratorRequest::Kind;

// To load the program takes the kernel a moment, and the ranks of a host come together.
constexpr int kPatienceMs = 20'000;

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

std::uint64_t network_namespace() noexcept {
  std::uint64_t cookie = 0;
  socklen_t length = sizeof cookie;
  const bpf::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return ::getsockopt(socket.fd(), SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &length) == 0 ? cookie : 0;
}

AcceleratorRequest request_of(Kind kind) {
  AcceleratorRequest request;
  request.kind = kind;
  request.purpose = AcceleratorRequest::kEther;
  return request;
}

// That never gets smaller, which the service insists on.
Status make_memory_file(bpf::Descriptor& file) {
  file = bpf::Descriptor(::memfd_create("lapwing-ether", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.open() && ::ftruncate(file.fd(), kMemoryBytes) == 0 && ::fcntl(file.fd(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0) return {};
  return Status::error(MPI_ERR_OTHER, "no memory that could be handed to the service: %s", std::strerror(errno));
}

}  // namespace

Status ServiceSource::fetch(const AcceleratorRequest& request, int descriptor, bpf::Descriptor& given) {
  std::vector<bpf::Descriptor> descriptors;
  LAPWING_TRY(service_.fetch(request, kPatienceMs, descriptor, 1, descriptors));
  given = std::move(descriptors[0]);
  return {};
}

Status ServiceSource::make(MadeSocket& made) {
  LAPWING_TRY(service_.connect(kPatienceMs));
  AcceleratorRequest hello = request_of(Kind::kHello);
  hello.connections = 1;
  hello.fingerprint = Steering::fingerprint();
  hello.zone_bytes = kMemoryBytes;
  std::vector<bpf::Descriptor> none;
  LAPWING_TRY(service_.fetch(hello, kPatienceMs, -1, 0, none));
  bpf::Descriptor file, socket;
  LAPWING_TRY(make_memory_file(file));
  void* mapped = mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.fd(), 0);
  if (mapped == MAP_FAILED) return Status::error(MPI_ERR_OTHER, "cannot map the memory of an AF_XDP socket: %s", std::strerror(errno));
  madvise(mapped, kMemoryBytes, MADV_DONTFORK);
  if (Status granted = fetch(request_of(Kind::kMemory), file.fd(), socket); !granted.ok()) {
    munmap(mapped, kMemoryBytes);
    return granted;
  }
  made = {static_cast<std::byte*>(mapped), kMemoryBytes, ::fcntl(socket.fd(), F_DUPFD_CLOEXEC, 0), nullptr};
  return {};
}

Status ServiceSource::bind(const MadeSocket&, std::uint32_t queue, bool in_pieces, bool& taken) {
  AcceleratorRequest bind = request_of(Kind::kBind);
  bind.interface = interface_.index;
  bind.index = queue;
  bind.ether_type = endpoint_.ether_type;
  bind.address = endpoint_.udp.address;
  bind.port = endpoint_.udp.port;
  bind.tag = endpoint_.tag;
  bind.network = network_namespace();
  bind.in_pieces = in_pieces ? 1 : 0;
  kernel::AcceleratorClient::Reply reply = service_.ask(bind, kPatienceMs);
  taken = reply.outcome == kernel::AcceleratorClient::Outcome::kRefused && reply.why == wire::AcceleratorAnswer::kQueueTaken;
  if (reply.outcome != kernel::AcceleratorClient::Outcome::kGranted) return service_.refused(reply.why);
  if (reply.descriptors.size() != 1) return service_.refused("it has sent too few descriptors, or too many");
  link_ = std::move(reply.descriptors[0]);
  return {};
}

void ServiceSource::leave(std::uint32_t number) noexcept {
  AcceleratorRequest leave = request_of(Kind::kLeave);
  leave.index = number;
  service_.ask(leave, kPatienceMs);
}

}  // namespace lapwing::net::ether
