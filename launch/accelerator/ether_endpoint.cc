#include "accelerator/ether_endpoint.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "accelerator/socket_check.h"
#include "net/ether/attached_program.h"
#include "net/ether/steering_maps.h"
#include "net/ether/xdp_socket.h"

namespace lapwing::launch {
namespace {

using net::ether::Steering;

// Memory that could get smaller under the kernel is none. What is no memfd has answered nothing by then, so that no other file system is asked.
Status check_memory(int file, uid_t user) {
  const int seals = ::fcntl(file, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return Status::error(MPI_ERR_OTHER, "the memory of a socket is a memfd that is sealed against getting smaller");
  struct stat status {};
  struct statfs system {};
  if (::fstat(file, &status) != 0 || ::fstatfs(file, &system) != 0 || system.f_type != TMPFS_MAGIC || status.st_uid != user ||
      status.st_size != static_cast<off_t>(net::ether::kMemoryBytes))
    return Status::error(MPI_ERR_OTHER, "the memory of a socket is a memfd of the rank's user, of %zu bytes", net::ether::kMemoryBytes);
  return {};
}

}  // namespace

// ---- programs ---------------------------------------------------------------------------------------------------------

Status EtherPrograms::check(const wire::AcceleratorRequest& bind) const {
  if (bind.network != own_network_namespace())
    return Status::error(MPI_ERR_OTHER, "it is of another network namespace than the rank: each needs an accelerator of its own");
  char name[IF_NAMESIZE] = {};
  if (::if_indextoname(bind.interface, name) == nullptr || std::find(interfaces_.begin(), interfaces_.end(), name) == interfaces_.end())
    return Status::error(MPI_ERR_OTHER, "an administrator has not named this interface for raw Ethernet (--ether)");
  // With another the program would drop what is not this library's.
  if (bind.ether_type != 0 && bind.ether_type != ether_type_)
    return Status::error(MPI_ERR_OTHER, "it serves EtherType 0x%04x, and not 0x%04x (LAPWING_ETHER_TYPE)", unsigned{ether_type_}, bind.ether_type);
  // With a tag that looks like a part of theirs, another port's datagrams could be had.
  if (bind.port != 0 && bind.port != port_)
    return Status::error(MPI_ERR_OTHER, "it serves UDP port %u, and not %u (LAPWING_ETHER_PORT)", unsigned{port_}, bind.port);
  if (bind.index >= LAPWING_MOST_ENDPOINTS) return Status::error(MPI_ERR_OTHER, "there is no receive queue %u", bind.index);
  return {};
}

Status EtherPrograms::join(unsigned interface, std::shared_ptr<Steering>& program) {
  program = programs_[interface].lock();
  if (program && net::ether::is_attached(program->link(), interface)) return {};
  char name[IF_NAMESIZE] = {};
  ::if_indextoname(interface, name);
  auto joined = std::make_shared<Steering>();
  LAPWING_TRY(joined->join(interface, name));
  programs_[interface] = joined;
  program = std::move(joined);
  return {};
}

// ---- an endpoint ------------------------------------------------------------------------------------------------------

// The chunks, and the rings with a page for each.
std::uint64_t EtherEndpoint::memory() noexcept {
  constexpr std::uint64_t kPerChunk = 8 + 16, kPage = 4096;
  return net::ether::kMemoryBytes + (net::ether::kReceiveChunks + net::ether::kSendChunks) * kPerChunk + 4 * kPage;
}

Status EtherEndpoint::check(const wire::AcceleratorRequest& hello) const {
  if (!programs_.allowed()) return Status::error(MPI_ERR_OTHER, "an administrator has named no interface for raw Ethernet (--ether)");
  if (!Steering::built()) return Status::error(MPI_ERR_OTHER, "it was built without raw Ethernet");
  if (hello.fingerprint != Steering::fingerprint() || hello.zone_bytes != net::ether::kMemoryBytes || hello.connections != 1)
    return Status::error(MPI_ERR_OTHER, "it is of another build than the rank's library: start the service of the same installation");
  return {};
}

// The kernel keeps the pages; this process needs them no longer.
Status EtherEndpoint::take_memory(int file) {
  LAPWING_TRY(check_memory(file, user_));
  void* mapped = ::mmap(nullptr, net::ether::kMemoryBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) return Status::error(MPI_ERR_OTHER, "the memory of a socket cannot be mapped: %s", std::strerror(errno));
  int fd = -1;
  Status made = net::ether::make_xdp_socket(mapped, fd);
  ::munmap(mapped, net::ether::kMemoryBytes);
  if (made.ok()) socket_ = net::bpf::Descriptor(fd);
  return made;
}

// Others need not wait until the NIC has its rule. Rules stay when a rank is killed, so ranks that could name any address would fill the NIC's table.
Status EtherEndpoint::bind(const wire::AcceleratorRequest& bind, bool& taken) {
  LAPWING_TRY(programs_.check(bind));
  net::ether::Endpoint endpoint{bind.tag, static_cast<std::uint16_t>(bind.ether_type), {bind.address, static_cast<std::uint16_t>(bind.port)}};
  auto nic = std::make_unique<net::ether::InterfaceNic>(bind.interface);
  endpoint.rules = programs_.rules() && nic->has_address(bind.address);
  LAPWING_TRY(bind_socket(bind, endpoint, taken));
  rule_.set(std::move(nic), endpoint, bind.index, bind.index);
  return {};
}

// That the kernel binds the socket shows that the queue was free; so nobody's place in the program is taken.
Status EtherEndpoint::bind_socket(const wire::AcceleratorRequest& bind, const net::ether::Endpoint& endpoint, bool& taken) {
  const std::lock_guard guard(programs_.mutex());
  std::shared_ptr<Steering> program;
  LAPWING_TRY(programs_.join(bind.interface, program));
  const int error = net::ether::bind_xdp_socket(socket_.fd(), bind.interface, bind.index, bind.in_pieces != 0);
  taken = error == EBUSY;
  if (error != 0) return Status::error(MPI_ERR_OTHER, "the kernel does not bind the socket to queue %u: %s", bind.index, std::strerror(error));
  LAPWING_TRY(program->add(bind.index, socket_.fd(), endpoint));
  program_ = std::move(program);
  queue_ = bind.index;
  return {};
}

Status EtherEndpoint::leave(std::uint32_t queue) {
  if (queue != queue_) return Status::error(MPI_ERR_OTHER, "the rank has no queue %u", queue);
  rule_.remove();
  const std::lock_guard guard(programs_.mutex());
  program_->remove(queue);
  return {};
}

}  // namespace lapwing::launch
