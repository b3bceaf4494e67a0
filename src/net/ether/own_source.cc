#include "net/ether/own_source.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "net/ether/rights.h"
#include "net/ether/xdp_socket.h"

namespace lapwing::net::ether {
namespace {

static_assert(kMemoryBytes == kLockedBytes);

constexpr std::size_t kBytes = kMemoryBytes + kSharedQueueBytes;

SharedQueue* shared_queue_in(std::byte* memory) noexcept {
  return reinterpret_cast<SharedQueue*>(memory + kMemoryBytes);
}

// A forked child gets none of it: the kernel goes on using the pages, and a copy made at a write would part the two.
Status map_memory(int file, std::byte*& memory) {
  void* mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  if (mapped == MAP_FAILED) return Status::error(MPI_ERR_OTHER, "cannot map the memory of an AF_XDP socket: %s", std::strerror(errno));
  madvise(mapped, kBytes, MADV_DONTFORK);
  memory = static_cast<std::byte*>(mapped);
  return {};
}

// 0: it is no socket.
std::uint64_t cookie_of(int socket) noexcept {
  std::uint64_t cookie = 0;
  socklen_t length = sizeof cookie;
  return ::getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookie, &length) == 0 ? cookie : 0;
}

// A descriptor of another process's (Linux 5.6).
bpf::Descriptor fetch_descriptor(const bpf::Descriptor& process, int number) noexcept {
  return bpf::Descriptor(static_cast<int>(::syscall(SYS_pidfd_getfd, process.fd(), number, 0)));
}

}  // namespace

// What another rank offers, opened.
struct OwnSource::Offered {
  std::uint32_t queue = 0, joined = 0;
  bpf::Descriptor socket, memory;
};

Status OwnSource::make(MadeSocket& made) {
  LAPWING_TRY(steering_.join(interface_.index, interface_.name));
  memory_ = bpf::Descriptor(::memfd_create("lapwing-ether", MFD_CLOEXEC));
  if (!memory_.open() || ::ftruncate(memory_.fd(), kBytes) != 0)
    return Status::error(MPI_ERR_OTHER, "no memory for an AF_XDP socket: %s", std::strerror(errno));
  std::byte* memory = nullptr;
  LAPWING_TRY(map_memory(memory_.fd(), memory));
  int fd = -1;
  if (Status socket = make_xdp_socket(memory, fd); !socket.ok()) {
    munmap(memory, kBytes);
    return socket;
  }
  made = {memory, kBytes, fd, endpoint_.job == 0 ? nullptr : shared_queue_in(memory)};
  return {};
}

Status OwnSource::bind(const MadeSocket& made, std::uint32_t queue, bool in_pieces, bool& taken) {
  const int error = bind_xdp_socket(made.fd, interface_.index, queue, in_pieces);
  taken = error == EBUSY;
  if (error != 0) return Status::error(MPI_ERR_OTHER, "no AF_XDP socket on %s: %s", interface_.name.c_str(), std::strerror(error));
  Offer offer;
  if (made.shared != nullptr) {
    made.shared->create(in_pieces);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);  // so that they may fetch descriptors
    offer = {static_cast<std::uint32_t>(::getpid()), made.fd, memory_.fd(), cookie_of(made.fd)};
  }
  LAPWING_TRY(steering_.add(queue, made.fd, endpoint_, offer));
  set_rule(queue, queue);
  return {};
}

void OwnSource::set_rule(std::uint32_t queue, std::uint32_t number) {
  rule_.set(std::make_unique<InterfaceNic>(interface_.index), endpoint_, queue, number);
}

// ---- a queue of another rank's --------------------------------------------------------------------------------------

// The number of a process means nothing in another namespace of processes, and one that has ended may be another's: the socket's cookie tells.
Status OwnSource::fetch(std::uint32_t queue, Offered& offered) const {
  Offer offer;
  if (!steering_.find_offer(queue, endpoint_.job, offer)) return Status::error(MPI_ERR_OTHER, "they are not of this job's ranks");
  const bpf::Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, offer.process, 0)));
  offered.queue = queue;
  offered.socket = fetch_descriptor(process, offer.socket);
  offered.memory = fetch_descriptor(process, offer.memory);
  if (!offered.socket.open() || !offered.memory.open())
    return Status::error(MPI_ERR_OTHER, "the kernel lets this rank not have what another one shares: %s", std::strerror(errno));
  struct stat status {};
  if (cookie_of(offered.socket.fd()) != offer.cookie || ::fstat(offered.memory.fd(), &status) != 0 || status.st_size != static_cast<off_t>(kBytes))
    return Status::error(MPI_ERR_OTHER, "the rank that shares one has ended, or is in another namespace of processes");
  return {};
}

// An error where none can be joined.
Status OwnSource::find_emptiest(std::span<const std::uint32_t> queues, Offered& best) const {
  best = {};
  Status why;
  for (const std::uint32_t queue : queues) {
    Offered offered;
    std::byte* memory = nullptr;
    Status fetched = fetch(queue, offered);
    if (fetched.ok()) fetched = map_memory(offered.memory.fd(), memory);
    if (!fetched.ok()) {
      why = std::move(fetched);
      continue;
    }
    offered.joined = shared_queue_in(memory)->joined();
    munmap(memory, kBytes);
    if (!best.socket.open() || offered.joined < best.joined) best = std::move(offered);
  }
  return best.socket.open() ? Status() : std::move(why);
}

// Another rank may take the place that was to be had.
Status OwnSource::join(std::span<const std::uint32_t> queues, JoinedQueue& joined) {
  constexpr std::uint32_t kTries = SharedQueue::kMostRanks;
  Status status;
  for (std::uint32_t tried = 0; tried < kTries; ++tried) {
    Offered best;
    LAPWING_TRY(find_emptiest(queues, best));
    status = join(best, joined);
    if (status.ok()) break;
  }
  return status;
}

// What was the other rank's is closed at once: else the kernel would take that one for alive as long as this one is. The place is taken when nothing
// else can fail, because the others count with a rank there.
Status OwnSource::join(const Offered& offered, JoinedQueue& joined) {
  MadeSocket& made = joined.made;
  LAPWING_TRY(map_memory(offered.memory.fd(), made.memory));
  made.bytes = kBytes;
  made.shared = shared_queue_in(made.memory);
  joined.queue = offered.queue;
  joined.place = offered.joined;
  Status status = make_sharing_socket(offered.socket.fd(), interface_.index, offered.queue, made.fd);
  if (status.ok()) status = steering_.add_sharing(receive_queues(interface_.name), offered.queue, made.fd, endpoint_, joined.number);
  if (status.ok() && !made.shared->join(joined.place)) status = Status::error(MPI_ERR_OTHER, "as many ranks as can share them do so");
  if (status.ok()) {
    set_rule(joined.queue, joined.number);
    return {};
  }
  if (made.fd >= 0) ::close(made.fd);
  munmap(made.memory, kBytes);
  made = {};
  return status;
}

}  // namespace lapwing::net::ether
