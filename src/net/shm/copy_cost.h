// What long messages take from the processor where ranks share cores. There the time of a message tells little of it: of two copies through a ring it
// holds the turns that other ranks have in between, and the one copy that a receiver makes by itself waits for nobody. So what is compared is
// the time that the copies take, of both ranks: the one that fills a ring tells the other what a byte of its last long record took it
// (RingHeader::filling), and that one knows what its own copies take. Pure.
#pragma once

#include <cstdint>
#include <utility>

namespace lapwing::net::shm {

class CopyCost {
 public:
  // So many bytes have been copied, in so many ns.
  void copied(std::uint64_t bytes, std::int64_t ns) noexcept {
    bytes_ += bytes;
    ns_ += ns;
  }
  std::uint64_t bytes() const noexcept { return bytes_; }
  // ps that each of them took, and at least one; 0 where there were none. They are forgotten.
  std::uint64_t take() noexcept {
    const std::uint64_t bytes = std::exchange(bytes_, 0);
    const std::int64_t ns = std::exchange(ns_, 0);
    return bytes == 0 ? 0 : 1 + static_cast<std::uint64_t>(ns) * 1000 / bytes;
  }

 private:
  std::uint64_t bytes_ = 0;
  std::int64_t ns_ = 0;
};

}  // namespace lapwing::net::shm
