#include "net/shm/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cinttypes>
#include <cstring>

namespace lapwing::net::shm {
namespace {

constexpr const char* kRemedy = "LAPWING_TRANSPORTS=tcp runs the job without shared memory";

int open_anonymous_file() noexcept {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  constexpr unsigned kNeverExecutable = 8;  // MFD_NOEXEC_SEAL: Linux 6.3; hardened systems insist on it
  const int fd = memfd_create("lapwing", kFlags | kNeverExecutable);
  return fd >= 0 || errno != EINVAL ? fd : memfd_create("lapwing", kFlags);
}

// The bytes of a core's level-two cache, or 0 where the system does not tell.
std::uint64_t own_cache() noexcept {
  constexpr long kMost = 64 << 20;
  return static_cast<std::uint64_t>(std::clamp(sysconf(_SC_LEVEL2_CACHE_SIZE), 0L, kMost));
}

}  // namespace

Status Segment::create(std::uint32_t local_ranks, std::uint64_t ring_bytes, std::uint64_t user_bytes, OwnedFd& file) {
  if (local_ranks == 0 || local_ranks > kMaxLocalRanks)
    return Status::error(MPI_ERR_OTHER, "shared memory serves at most %u ranks on one host, not %u; %s", kMaxLocalRanks,
                         local_ranks, kRemedy);
  if (ring_bytes == 0) ring_bytes = Layout::usual_ring_bytes(local_ranks, own_cache());
  layout_ = {local_ranks, std::bit_ceil(std::clamp(ring_bytes, kMinRingBytes, kMaxRingBytes)), user_bytes};
  const std::uint64_t bytes = layout_.total_bytes();
  file.reset(open_anonymous_file());
  if (!file) return Status::error(MPI_ERR_NO_MEM, "cannot create shared memory: %s; %s", std::strerror(errno), kRemedy);
  // Beyond this limit ftruncate does not fail: the process is killed by SIGXFSZ.
  if (rlimit most; getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < bytes)
    return Status::error(MPI_ERR_NO_MEM,
                         "shared memory of %" PRIu64 " bytes is larger than the limit of a file (ulimit -f: %" PRIu64
                         " bytes); raise it, or %s",
                         bytes, static_cast<std::uint64_t>(most.rlim_cur), kRemedy);
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    return Status::error(MPI_ERR_NO_MEM, "cannot size shared memory to %" PRIu64 " bytes: %s; %s", bytes,
                         std::strerror(errno), kRemedy);
  LAPWING_TRY(map_file(file, bytes));
  const SegmentHeader header{kSegmentMagic, kLayoutVersion, local_ranks, layout_.ring_bytes, bytes};
  std::memcpy(base_, &header, sizeof header);
  if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return Status::error(MPI_ERR_OTHER, "cannot seal shared memory: %s; %s", std::strerror(errno), kRemedy);
  return {};
}

Status Segment::map(const OwnedFd& file, std::uint32_t local_ranks, std::uint64_t user_bytes) {
  struct stat about{};
  const int seals = fcntl(file.get(), F_GET_SEALS);
  if (fstat(file.get(), &about) != 0 || seals < 0 || (seals & F_SEAL_SHRINK) == 0 ||
      static_cast<std::uint64_t>(about.st_size) < Layout::kPage)
    return Status::error(MPI_ERR_OTHER, "the shared memory received is not a sealed Lapwing segment; %s", kRemedy);
  const auto file_bytes = static_cast<std::uint64_t>(about.st_size);
  LAPWING_TRY(map_file(file, file_bytes));
  SegmentHeader header;
  std::memcpy(&header, base_, sizeof header);
  layout_ = {local_ranks, header.ring_bytes, user_bytes};
  const bool sound =
      header.magic == kSegmentMagic && header.version == kLayoutVersion && header.local_ranks == local_ranks &&
      local_ranks <= kMaxLocalRanks && std::has_single_bit(header.ring_bytes) && header.ring_bytes >= kMinRingBytes &&
      header.ring_bytes <= kMaxRingBytes && header.total_bytes == file_bytes && layout_.total_bytes() == file_bytes;
  if (sound) return {};
  unmap();
  return Status::error(
      MPI_ERR_OTHER,
      "the shared memory of this host has layout %u for %u ranks, but layout %u for %u ranks is needed; "
      "use the same Lapwing library for all ranks",
      header.version, header.local_ranks, kLayoutVersion, local_ranks);
}

Status Segment::map_file(const OwnedFd& file, std::uint64_t bytes) {
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.get(), 0);
  if (base == MAP_FAILED)
    return Status::error(MPI_ERR_NO_MEM, "cannot map %" PRIu64 " bytes of shared memory: %s; raise ulimit -v, or %s",
                         bytes, std::strerror(errno), kRemedy);
  base_ = static_cast<std::byte*>(base);
  mapped_bytes_ = bytes;
  // A core file would have all of it, the holes as well: gigabytes for each rank that crashes. A kernel that refuses is obeyed.
  (void)madvise(base_, bytes, MADV_DONTDUMP);
  (void)madvise(base_, bytes, MADV_DONTFORK);  // a forked child is no rank
  return {};
}

void Segment::unmap() noexcept {
  if (base_ != nullptr) munmap(base_, mapped_bytes_);
  base_ = nullptr;
}

ControlBlock& Segment::control(std::uint32_t rank) noexcept {
  return *reinterpret_cast<ControlBlock*>(base_ + layout_.control_offset(rank));
}

std::atomic<std::uint64_t>* Segment::pending(std::uint32_t rank) noexcept {
  return reinterpret_cast<std::atomic<std::uint64_t>*>(base_ + layout_.control_offset(rank) + sizeof(ControlBlock));
}

std::atomic<std::uint64_t>* Segment::spare_cells() noexcept {
  return reinterpret_cast<std::atomic<std::uint64_t>*>(base_ + layout_.spare_offset());
}

RingHeader& Segment::ring_header(std::uint32_t sender, std::uint32_t receiver) noexcept {
  return *reinterpret_cast<RingHeader*>(base_ + layout_.ring_offset(sender, receiver));
}

std::byte* Segment::ring_bytes(std::uint32_t sender, std::uint32_t receiver) noexcept {
  return base_ + layout_.ring_offset(sender, receiver) + Layout::kRingHeaderBytes;
}

AgreementWords& Segment::agreement() noexcept {
  return *reinterpret_cast<AgreementWords*>(base_ + kAgreementOffset);
}

std::atomic<std::uint32_t>& Segment::ends() const noexcept {
  return *reinterpret_cast<std::atomic<std::uint32_t>*>(base_ + kEndsOffset);
}

}  // namespace lapwing::net::shm
