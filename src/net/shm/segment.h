// The mapped segment of one host and job. The leader creates it as an anonymous file (memfd): it has no name anywhere, so
// nothing is left behind however the job ends. The others get its descriptor (handover.h) and map it too.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "net/shm/agreement.h"
#include "net/shm/layout.h"
#include "net/shm/owned_fd.h"

namespace lapwing::net::shm {

class Segment {
 public:
  Segment() noexcept = default;
  ~Segment() { unmap(); }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  // The leader's: a new file of the right size, sealed, header written, mapped.
  // `ring_bytes` is rounded up to a power of two between kMinRingBytes and kMaxRingBytes.
  // `user_bytes`: for the room above (net/host_memory.h); all ranks know the number alike.
  Status create(std::uint32_t local_ranks, std::uint64_t ring_bytes, std::uint64_t user_bytes, OwnedFd& file);
  // The others': checks the file before anything of it is believed.
  Status map(const OwnedFd& file, std::uint32_t local_ranks, std::uint64_t user_bytes);
  void unmap() noexcept;

  bool mapped() const noexcept { return base_ != nullptr; }
  const Layout& layout() const noexcept { return layout_; }

  ControlBlock& control(std::uint32_t rank) noexcept;
  std::atomic<std::uint64_t>* pending(std::uint32_t rank) noexcept;
  RingHeader& ring_header(std::uint32_t sender, std::uint32_t receiver) noexcept;
  std::byte* ring_bytes(std::uint32_t sender, std::uint32_t receiver) noexcept;
  std::byte* cell(std::uint32_t number) noexcept { return base_ + layout_.cell_offset(number); }
  std::atomic<std::uint64_t>* spare_cells() noexcept;
  std::atomic<std::uint32_t>& ends() const noexcept;
  std::byte* user_bytes() noexcept { return base_ + layout_.user_offset(); }
  AgreementWords& agreement() noexcept;

 private:
  Status map_file(const OwnedFd& file, std::uint64_t bytes);

  std::byte* base_ = nullptr;
  std::uint64_t mapped_bytes_ = 0;
  Layout layout_;
};

}  // namespace lapwing::net::shm
