// Memory for copies of frames that comes and goes all the time. What is given back is kept for the next copy: pages that the system gives anew cost
// more to touch for the first time than to copy (some 0.7 us for each 4 KiB on a virtual machine). Pure; with the endpoint's lock held.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace lapwing::net::tcp {

class SpareMemory {
 public:
  using Block = std::unique_ptr<std::byte[]>;

  // `most`: bytes that are kept for later.
  explicit SpareMemory(std::uint64_t most) noexcept : most_(most) {}

  Block take(std::uint64_t bytes) {
    const unsigned kind = kind_of(bytes);
    std::vector<Block>& spare = spare_[kind];
    if (spare.empty()) return std::make_unique_for_overwrite<std::byte[]>(std::size_t{1} << kind);
    Block block = std::move(spare.back());
    spare.pop_back();
    kept_ -= std::uint64_t{1} << kind;
    return block;
  }
  // A block of take(bytes).
  void give_back(Block block, std::uint64_t bytes) {
    const unsigned kind = kind_of(bytes);
    if (kept_ + (std::uint64_t{1} << kind) > most_) return;
    kept_ += std::uint64_t{1} << kind;
    spare_[kind].push_back(std::move(block));
  }
  std::uint64_t kept() const noexcept { return kept_; }

 private:
  // Of 2^kind bytes.
  static unsigned kind_of(std::uint64_t bytes) noexcept { return bytes <= 1 ? 0 : static_cast<unsigned>(std::bit_width(bytes - 1)); }

  const std::uint64_t most_;
  std::uint64_t kept_ = 0;
  std::array<std::vector<Block>, 64> spare_;
};

}  // namespace lapwing::net::tcp
