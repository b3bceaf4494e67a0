#include "net/kernel/notices.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "net/bpf/bpf.h"

namespace lapwing::net::kernel {
namespace {

std::size_t page() noexcept {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

Notices::~Notices() {
  if (consumer_ != nullptr) munmap(consumer_, page());
  if (producer_ != nullptr) munmap(const_cast<std::byte*>(producer_), page());
}

// The kernel lets the second page be read alone.
Status Notices::map(int fd) {
  void* const consumer = mmap(nullptr, page(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (consumer == MAP_FAILED) return bpf::refused("does not share its notices");
  consumer_ = static_cast<std::byte*>(consumer);
  void* const producer = mmap(nullptr, page(), PROT_READ, MAP_SHARED, fd, static_cast<off_t>(page()));
  if (producer == MAP_FAILED) return bpf::refused("does not share its notices");
  producer_ = static_cast<const std::byte*>(producer);
  fd_ = fd;
  return {};
}

void Notices::hear() noexcept {
  if (producer_ == nullptr) return;
  using Count = unsigned long;
  auto& written = *const_cast<Count*>(reinterpret_cast<const Count*>(producer_));
  auto& heard = *reinterpret_cast<Count*>(consumer_);
  const Count all = std::atomic_ref<Count>(written).load(std::memory_order_acquire);
  if (heard != all) std::atomic_ref<Count>(heard).store(all, std::memory_order_release);
}

}  // namespace lapwing::net::kernel
