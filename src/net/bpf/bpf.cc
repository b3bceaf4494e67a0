#include "net/bpf/bpf.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/internal_error.h"

namespace lapwing::net::bpf {
namespace {

constexpr char kLicense[] = "Dual BSD/GPL";

// An instruction that loads an address: what it loads is in its second half of the first word, and its source says of what kind that is.
std::uint64_t loads_map(std::uint64_t instruction, int fd) noexcept {
  constexpr std::uint64_t kKeeps = 0x0fff, kMapDescriptor = std::uint64_t{BPF_PSEUDO_MAP_FD} << 12;
  return (instruction & kKeeps) | kMapDescriptor | static_cast<std::uint64_t>(fd) << 32;
}

int find(std::span<const NamedMap> maps, const char* name) noexcept {
  for (const NamedMap& entry : maps) {
    if (std::strcmp(entry.name, name) == 0) return entry.map.fd();
  }
  LAPWING_CHECK(!"the program uses a map that it is not given");
  return -1;
}

bool call_for_entry(bpf_cmd command, const Descriptor& map, const void* key, const void* value, std::uint64_t flags) noexcept {
  bpf_attr attributes{};
  attributes.map_fd = static_cast<std::uint32_t>(map.fd());
  attributes.key = reinterpret_cast<std::uint64_t>(key);
  attributes.value = reinterpret_cast<std::uint64_t>(value);
  attributes.flags = flags;
  return call(command, attributes) == 0;
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

long call(bpf_cmd command, bpf_attr& attributes) noexcept {
  return syscall(SYS_bpf, command, &attributes, sizeof attributes);
}

Status refused(const char* what) {
  const int error = errno;
  return Status::error(MPI_ERR_OTHER, "the kernel %s: %s%s", what, std::strerror(error),
                       error == EPERM ? "; it needs CAP_BPF and CAP_NET_ADMIN" : "");
}

Status create_map(const MapKind& kind, std::uint32_t entries, const char* what, Descriptor& map) {
  bpf_attr attributes{};
  attributes.map_type = kind.type;
  attributes.key_size = kind.key_bytes;
  attributes.value_size = kind.value_bytes;
  attributes.max_entries = entries;
  attributes.map_flags = kind.flags;
  const long fd = call(BPF_MAP_CREATE, attributes);
  if (fd < 0) return refused(what);
  map = Descriptor(static_cast<int>(fd));
  return {};
}

bool update(const Descriptor& map, const void* key, const void* value) noexcept {
  return call_for_entry(BPF_MAP_UPDATE_ELEM, map, key, value, BPF_ANY);
}

bool insert(const Descriptor& map, const void* key, const void* value) noexcept {
  return call_for_entry(BPF_MAP_UPDATE_ELEM, map, key, value, BPF_NOEXIST);
}

bool look_up(const Descriptor& map, const void* key, void* value) noexcept {
  return call_for_entry(BPF_MAP_LOOKUP_ELEM, map, key, value, 0);
}

void erase(const Descriptor& map, const void* key) noexcept {
  call_for_entry(BPF_MAP_DELETE_ELEM, map, key, nullptr, 0);
}

// The kernel stops looking at a program when a signal comes for the thread that loads it, or its group is frozen (EAGAIN). Then it is asked again,
// but not for ever, because signals may come more quickly than it gets through.
constexpr int kMoreLoads = 10;

Status load_program(const Image& image, std::span<const NamedMap> maps, bpf_attr kind, const char* what, Descriptor& program) {
  std::vector<std::uint64_t> instructions(image.instructions.begin(), image.instructions.end());
  for (const MapLoad& load : image.loads) instructions[load.index] = loads_map(instructions[load.index], find(maps, load.name));
  kind.insn_cnt = static_cast<std::uint32_t>(instructions.size());
  kind.insns = reinterpret_cast<std::uint64_t>(instructions.data());
  kind.license = reinterpret_cast<std::uint64_t>(kLicense);
  long fd = call(BPF_PROG_LOAD, kind);
  for (int more = kMoreLoads; fd < 0 && errno == EAGAIN && more > 0; --more) fd = call(BPF_PROG_LOAD, kind);
  if (fd < 0) return refused(what);
  program = Descriptor(static_cast<int>(fd));
  return {};
}

}  // namespace lapwing::net::bpf
