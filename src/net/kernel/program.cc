#include "net/kernel/program.h"

#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "net/kernel/own_loader.h"
#include "net/kernel/service_loader.h"

namespace lapwing::net::kernel {

void Program::release() noexcept {
  if (areas_mapped_ != nullptr) munmap(std::exchange(areas_mapped_, nullptr), stride() * connections_);
  loader_.reset();
  zone_.reset();
}

Status Program::prepare(std::uint32_t connections, std::uint64_t zone_bytes, const std::string& service) {
  connections_ = connections;
  const std::uint32_t zone_blocks = Zone::blocks(zone_bytes);
  LAPWING_TRY(choose_loader(zone_blocks, service));
  auto zone = std::make_shared<Zone>();
  LAPWING_TRY(zone->map(loader_->zone().fd(), zone_blocks));
  zone_ = std::move(zone);
  return {};
}

Status Program::choose_loader(std::uint32_t zone_blocks, const std::string& service) {
  loader_ = std::make_unique<OwnLoader>();
  Status own = loader_->prepare(connections_, zone_blocks);
  if (own.ok() || service.empty()) return own;
  loader_ = std::make_unique<ServiceLoader>(service);
  const Status by_service = loader_->prepare(connections_, zone_blocks);
  if (by_service.ok()) return {};
  return Status::error(own.error_class(), "%s; and %s", own.text(), by_service.text());
}

Status Program::load() {
  LAPWING_TRY(loader_->load());
  LAPWING_TRY(notices_.map(loader_->notices().fd()));
  return map_areas();
}

Status Program::map_areas() {
  void* mapped = mmap(nullptr, stride() * connections_, PROT_READ | PROT_WRITE, MAP_SHARED, loader_->areas().fd(), 0);
  if (mapped == MAP_FAILED) return bpf::refused("does not share the memory that it receives into");
  areas_mapped_ = static_cast<std::byte*>(mapped);
  return {};
}

ConnectionArea& Program::area(std::uint32_t index) const noexcept {
  return *reinterpret_cast<ConnectionArea*>(areas_mapped_ + stride() * index);
}

// The program no longer finds the area by the socket before, and it does not find it by the next one yet.
Joining Program::join(std::uint32_t index, int socket) {
  loader_->leave(index);
  const Word answered = area(index).answered;
  std::memset(static_cast<void*>(&area(index)), 0, offsetof(ConnectionArea, queue));
  area(index).zone = zone_->address();
  area(index).answered = answered;
  return loader_->join(index, socket);
}

}  // namespace lapwing::net::kernel
