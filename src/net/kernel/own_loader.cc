#include "net/kernel/own_loader.h"

#include <sys/socket.h>

#include "net/kernel/area.h"
#include "net/kernel/notices.h"

namespace lapwing::net::kernel {
namespace {

#include "kernel_program.inc"

namespace overlap {
#include "kernel_overlap_program.inc"
}

constexpr const char* kNoMap = "gives no map for receive in the kernel";

bpf_attr verdict_kind() noexcept {
  bpf_attr kind{};
  kind.prog_type = BPF_PROG_TYPE_SK_SKB;
  kind.expected_attach_type = BPF_SK_SKB_VERDICT;
  return kind;
}

}  // namespace

bool OwnLoader::built() noexcept {
  return !kImage.instructions.empty();
}

std::uint64_t OwnLoader::fingerprint() noexcept {
  return kFingerprint;
}

std::uint64_t OwnLoader::memory(std::uint32_t connections, std::uint32_t zone_blocks) noexcept {
  return std::uint64_t{connections} * sizeof(ConnectionArea) + std::uint64_t{zone_blocks} * kZoneBlock + Notices::kPinnedBytes;
}

Status OwnLoader::prepare(std::uint32_t connections, std::uint32_t zone_blocks) {
  if (!built())
    return Status::error(MPI_ERR_OTHER, "this library was built without receive in the kernel (no clang for bpf, or not x86-64)");
  connections_ = connections;
  cookies_ = std::make_unique<std::uint64_t[]>(connections);
  constexpr bpf::MapKind kIndices{BPF_MAP_TYPE_HASH, 8, 4, 0};
  constexpr bpf::MapKind kSockets{BPF_MAP_TYPE_SOCKMAP, 4, 4, 0};
  constexpr bpf::MapKind kZone{BPF_MAP_TYPE_ARRAY, 4, kZoneBlock, BPF_F_MMAPABLE};
  LAPWING_TRY(bpf::create_map(kIndices, connections_, kNoMap, indices_));
  LAPWING_TRY(bpf::create_map(kSockets, connections_, kNoMap, sockets_));
  LAPWING_TRY(bpf::create_map(kSockets, connections_, kNoMap, answers_));
  return bpf::create_map(kZone, zone_blocks, "gives no memory to receive into", zone_);
}

Status OwnLoader::load() {
  constexpr bpf::MapKind kAreas{BPF_MAP_TYPE_ARRAY, 4, sizeof(ConnectionArea), BPF_F_MMAPABLE};
  constexpr bpf::MapKind kNotices{BPF_MAP_TYPE_RINGBUF, 0, 0, 0};
  LAPWING_TRY(bpf::create_map(kAreas, connections_, kNoMap, areas_));
  LAPWING_TRY(bpf::create_map(kNotices, Notices::kRingBytes, kNoMap, notices_));
  return load_instructions();
}

Status OwnLoader::load_instructions() {
  LAPWING_TRY(load_overlap());
  const bpf::NamedMap maps[] = {{"areas", areas_}, {"indices", indices_}, {"zone", zone_}, {"answers", answers_},
                                {"overlaps", overlaps_}, {"notices", notices_}};
  LAPWING_TRY(bpf::load_program(kImage, maps, verdict_kind(), "does not take the program that receives", program_));
  bpf_attr attach{};
  attach.target_fd = static_cast<std::uint32_t>(sockets_.fd());
  attach.attach_bpf_fd = static_cast<std::uint32_t>(program_.fd());
  attach.attach_type = BPF_SK_SKB_VERDICT;
  if (bpf::call(BPF_PROG_ATTACH, attach) != 0) return bpf::refused("does not let the program that receives see sockets");
  return {};
}

// Without its map, which this object holds, no program finds it any more: then packets that overlap tear their connections.
Status OwnLoader::load_overlap() {
  constexpr bpf::MapKind kPrograms{BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 0};
  const bpf::NamedMap maps[] = {{"areas", areas_}, {"indices", indices_}, {"overlaps", overlaps_}, {"notices", notices_}};
  LAPWING_TRY(bpf::create_map(kPrograms, 1, kNoMap, overlaps_));
  Descriptor program;
  LAPWING_TRY(bpf::load_program(overlap::kImage, maps, verdict_kind(), "does not take the program for packets that overlap", program));
  const std::uint32_t index = 0;
  const int fd = program.fd();
  if (!bpf::update(overlaps_, &index, &fd)) return bpf::refused("does not let a program call another");
  return {};
}

Status OwnLoader::make_keeper(Descriptor& keeper) const {
  constexpr const char* kRefused = "does not keep sockets";
  bpf_attr map{};
  map.map_type = BPF_MAP_TYPE_ARRAY_OF_MAPS;
  map.key_size = map.value_size = 4;
  map.max_entries = 1;
  map.inner_map_fd = static_cast<std::uint32_t>(sockets_.fd());
  keeper = Descriptor(static_cast<int>(bpf::call(BPF_MAP_CREATE, map)));
  const std::uint32_t index = 0;
  const int sockets = sockets_.fd();
  if (!keeper.open() || !bpf::update(keeper, &index, &sockets)) return bpf::refused(kRefused);
  bpf_attr freeze{};
  freeze.map_fd = static_cast<std::uint32_t>(keeper.fd());
  return bpf::call(BPF_MAP_FREEZE, freeze) == 0 ? Status() : bpf::refused(kRefused);
}

Joining OwnLoader::join(std::uint32_t index, int socket) {
  leave(index);
  socklen_t length = sizeof cookies_[index];
  if (getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookies_[index], &length) != 0) return {bpf::refused("tells no cookie of a socket")};
  if (!bpf::update(indices_, &cookies_[index], &index)) return {bpf::refused("does not note a socket")};
  if (bpf::update(sockets_, &index, &socket)) return {};
  Status why = bpf::refused("does not let its program see a socket");
  leave(index);
  return {std::move(why)};
}

Permission OwnLoader::answer_by(std::uint32_t index, int socket) {
  if (cookies_[index] == 0) return {Permission::State::kRefused, Status::error(MPI_ERR_OTHER, "no connection has joined that could be answered")};
  if (bpf::update(answers_, &index, &socket)) return {Permission::State::kGranted, {}};
  return {Permission::State::kRefused, bpf::refused("does not let its program answer by a socket")};
}

void OwnLoader::forget(std::uint32_t index) noexcept {
  leave(index);
  bpf::erase(answers_, &index);
}

void OwnLoader::leave(std::uint32_t index) noexcept {
  if (cookies_[index] != 0) bpf::erase(indices_, &cookies_[index]);
  cookies_[index] = 0;
}

}  // namespace lapwing::net::kernel
