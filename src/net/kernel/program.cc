#include "net/kernel/program.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include <cstring>
#include <utility>

namespace lapwing::net::kernel {
namespace {

#include "kernel_program.inc"

constexpr const char* kNoMap = "gives no map for receive in the kernel";

}  // namespace

Program::~Program() {
  if (areas_mapped_ != nullptr) munmap(areas_mapped_, stride() * connections_);
}

bool Program::built() noexcept {
  return !kImage.instructions.empty();
}

Status Program::prepare(std::uint32_t connections, std::uint64_t zone_bytes) {
  if (!built())
    return Status::error(MPI_ERR_OTHER,
                         "this library was built without receive in the kernel (no clang for bpf, or not x86-64)");
  connections_ = connections;
  cookies_ = std::make_unique<std::uint64_t[]>(connections);
  constexpr bpf::MapKind kIndices{BPF_MAP_TYPE_HASH, 8, 4, 0};
  constexpr bpf::MapKind kSockets{BPF_MAP_TYPE_SOCKMAP, 4, 4, 0};
  LAPWING_TRY(bpf::create_map(kIndices, connections_, kNoMap, indices_));
  LAPWING_TRY(bpf::create_map(kSockets, connections_, kNoMap, sockets_));
  auto zone = std::make_shared<Zone>();
  LAPWING_TRY(zone->create(zone_bytes));
  zone_ = std::move(zone);
  return {};
}

Status Program::load() {
  constexpr bpf::MapKind kAreas{BPF_MAP_TYPE_ARRAY, 4, sizeof(ConnectionArea), BPF_F_MMAPABLE};
  LAPWING_TRY(bpf::create_map(kAreas, connections_, kNoMap, areas_));
  LAPWING_TRY(load_instructions());
  return map_areas();
}

Status Program::load_instructions() {
  bpf_attr kind{};
  kind.prog_type = BPF_PROG_TYPE_SK_SKB;
  kind.expected_attach_type = BPF_SK_SKB_VERDICT;
  const bpf::NamedMap maps[] = {{"areas", areas_}, {"indices", indices_}, {"zone", zone_->map()}};
  LAPWING_TRY(bpf::load_program(kImage, maps, kind, "does not take the program that receives", program_));
  bpf_attr attach{};
  attach.target_fd = static_cast<std::uint32_t>(sockets_.fd());
  attach.attach_bpf_fd = static_cast<std::uint32_t>(program_.fd());
  attach.attach_type = BPF_SK_SKB_VERDICT;
  if (bpf::call(BPF_PROG_ATTACH, attach) != 0) return bpf::refused("does not let the program that receives see sockets");
  return {};
}

Status Program::map_areas() {
  void* mapped = mmap(nullptr, stride() * connections_, PROT_READ | PROT_WRITE, MAP_SHARED, areas_.fd(), 0);
  if (mapped == MAP_FAILED) return bpf::refused("does not share the memory that it receives into");
  areas_mapped_ = static_cast<std::byte*>(mapped);
  return {};
}

ConnectionArea& Program::area(std::uint32_t index) const noexcept {
  return *reinterpret_cast<ConnectionArea*>(areas_mapped_ + stride() * index);
}

Status Program::join(std::uint32_t index, int socket) {
  forget(index);
  std::memset(static_cast<void*>(&area(index)), 0, offsetof(ConnectionArea, queue));
  area(index).zone = zone_->address();
  socklen_t length = sizeof cookies_[index];
  if (getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookies_[index], &length) != 0)
    return bpf::refused("tells no cookie of a socket");
  if (!bpf::update(indices_, &cookies_[index], &index)) return bpf::refused("does not note a socket");
  if (bpf::update(sockets_, &index, &socket)) return {};
  Status why = bpf::refused("does not let its program see a socket");
  forget(index);
  return why;
}

void Program::forget(std::uint32_t index) noexcept {
  if (cookies_[index] != 0) bpf::erase(indices_, &cookies_[index]);
  cookies_[index] = 0;
}

}  // namespace lapwing::net::kernel
