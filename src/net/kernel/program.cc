#include "net/kernel/program.h"

#include <linux/bpf.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

namespace lapwing::net::kernel {
namespace {

// ---- what was compiled ----------------------------------------------------------------------------------------------

#define LAPWING_INSTRUCTION(word) word,
#define LAPWING_MAP_LOAD(index, name)
constexpr std::uint64_t kInstructions[] = {
#include "kernel_program.inc"
    0};  // so that there is one
#undef LAPWING_INSTRUCTION
#undef LAPWING_MAP_LOAD
constexpr std::size_t kCount = std::size(kInstructions) - 1;

struct MapLoad {
  std::size_t index;
  const char* name;
};
#define LAPWING_INSTRUCTION(word)
#define LAPWING_MAP_LOAD(index, name) {index, #name},
constexpr MapLoad kMapLoads[] = {
#include "kernel_program.inc"
    {0, ""}};
#undef LAPWING_INSTRUCTION
#undef LAPWING_MAP_LOAD

// An instruction that loads an address: what it loads is in its second half of the first word, and its source says of what kind that is.
std::uint64_t loads_map(std::uint64_t instruction, int fd) noexcept {
  constexpr std::uint64_t kKeeps = 0x0fff, kMapDescriptor = std::uint64_t{BPF_PSEUDO_MAP_FD} << 12;
  return (instruction & kKeeps) | kMapDescriptor | static_cast<std::uint64_t>(fd) << 32;
}

// ---- bpf(2) ---------------------------------------------------------------------------------------------------------

long bpf(bpf_cmd command, bpf_attr& attributes) noexcept {
  return syscall(SYS_bpf, command, &attributes, sizeof attributes);
}

Status refused(const char* what) {
  const int error = errno;
  return Status::error(MPI_ERR_OTHER, "the kernel %s: %s%s", what, std::strerror(error),
                       error == EPERM ? "; it needs CAP_BPF and CAP_NET_ADMIN" : "");
}

struct MapKind {
  bpf_map_type type;
  std::uint32_t key_bytes, value_bytes, flags;
};

Status create_map(const MapKind& kind, std::uint32_t entries, Descriptor& map) {
  bpf_attr attributes{};
  attributes.map_type = kind.type;
  attributes.key_size = kind.key_bytes;
  attributes.value_size = kind.value_bytes;
  attributes.max_entries = entries;
  attributes.map_flags = kind.flags;
  const long fd = bpf(BPF_MAP_CREATE, attributes);
  if (fd < 0) return refused("gives no map for receive in the kernel");
  map = Descriptor(static_cast<int>(fd));
  return {};
}

bool update(const Descriptor& map, const void* key, const void* value) noexcept {
  bpf_attr attributes{};
  attributes.map_fd = static_cast<std::uint32_t>(map.fd());
  attributes.key = reinterpret_cast<std::uint64_t>(key);
  attributes.value = reinterpret_cast<std::uint64_t>(value);
  return bpf(BPF_MAP_UPDATE_ELEM, attributes) == 0;
}

void erase(const Descriptor& map, const void* key) noexcept {
  bpf_attr attributes{};
  attributes.map_fd = static_cast<std::uint32_t>(map.fd());
  attributes.key = reinterpret_cast<std::uint64_t>(key);
  bpf(BPF_MAP_DELETE_ELEM, attributes);
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Program::~Program() {
  if (areas_mapped_ != nullptr) munmap(areas_mapped_, stride() * connections_);
}

bool Program::built() noexcept {
  return kCount != 0;
}

Status Program::load(std::uint32_t connections) {
  if (!built())
    return Status::error(MPI_ERR_OTHER,
                         "this library was built without receive in the kernel (no clang for bpf, or not x86-64)");
  connections_ = connections;
  cookies_ = std::make_unique<std::uint64_t[]>(connections);
  LAPWING_TRY(create_maps());
  LAPWING_TRY(load_instructions());
  return map_areas();
}

Status Program::create_maps() {
  constexpr MapKind kAreas{BPF_MAP_TYPE_ARRAY, 4, sizeof(ConnectionArea), BPF_F_MMAPABLE};
  constexpr MapKind kIndices{BPF_MAP_TYPE_HASH, 8, 4, 0};
  constexpr MapKind kSockets{BPF_MAP_TYPE_SOCKMAP, 4, 4, 0};
  LAPWING_TRY(create_map(kAreas, connections_, areas_));
  LAPWING_TRY(create_map(kIndices, connections_, indices_));
  return create_map(kSockets, connections_, sockets_);
}

Status Program::load_instructions() {
  std::vector<std::uint64_t> instructions(kInstructions, kInstructions + kCount);
  for (const MapLoad& load : kMapLoads) {
    if (*load.name == '\0') break;
    const Descriptor& map = std::strcmp(load.name, "areas") == 0 ? areas_ : indices_;
    instructions[load.index] = loads_map(instructions[load.index], map.fd());
  }
  bpf_attr load{};
  load.prog_type = BPF_PROG_TYPE_SK_SKB;
  load.expected_attach_type = BPF_SK_SKB_VERDICT;
  load.insn_cnt = kCount;
  load.insns = reinterpret_cast<std::uint64_t>(instructions.data());
  load.license = reinterpret_cast<std::uint64_t>("Dual BSD/GPL");
  const long fd = bpf(BPF_PROG_LOAD, load);
  if (fd < 0) return refused("does not take the program that receives");
  program_ = Descriptor(static_cast<int>(fd));
  bpf_attr attach{};
  attach.target_fd = static_cast<std::uint32_t>(sockets_.fd());
  attach.attach_bpf_fd = static_cast<std::uint32_t>(program_.fd());
  attach.attach_type = BPF_SK_SKB_VERDICT;
  if (bpf(BPF_PROG_ATTACH, attach) != 0) return refused("does not let the program that receives see sockets");
  return {};
}

Status Program::map_areas() {
  void* mapped = mmap(nullptr, stride() * connections_, PROT_READ | PROT_WRITE, MAP_SHARED, areas_.fd(), 0);
  if (mapped == MAP_FAILED) return refused("does not share the memory that it receives into");
  areas_mapped_ = static_cast<std::byte*>(mapped);
  return {};
}

ConnectionArea& Program::area(std::uint32_t index) const noexcept {
  return *reinterpret_cast<ConnectionArea*>(areas_mapped_ + stride() * index);
}

Status Program::join(std::uint32_t index, int socket) {
  constexpr std::size_t kRest = offsetof(ConnectionArea, landing);  // of which nothing is read that was not written
  std::memset(static_cast<void*>(&area(index)), 0, kRest);
  socklen_t length = sizeof cookies_[index];
  if (getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookies_[index], &length) != 0)
    return refused("tells no cookie of a socket");
  if (!update(indices_, &cookies_[index], &index)) return refused("does not note a socket");
  if (update(sockets_, &index, &socket)) return {};
  Status why = refused("does not let its program see a socket");
  erase(indices_, &cookies_[index]);
  return why;
}

void Program::forget(std::uint32_t index) noexcept {
  erase(indices_, &cookies_[index]);
}

}  // namespace lapwing::net::kernel
