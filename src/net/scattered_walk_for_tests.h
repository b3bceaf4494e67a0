// Content, and memory with gaps that a walk gathers it from and scatters it into.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/byte_walk.h"

namespace lapwing::net {

using Bytes = std::vector<std::byte>;

inline Bytes make_bytes(std::uint64_t size, std::uint64_t seed) {
  Bytes bytes(size);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (std::byte& byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<std::byte>(state >> 56);
  }
  return bytes;
}

// A walk through pieces of uneven length, with gaps between them.
class ScatteredWalk final : public ByteWalk {
 public:
  ScatteredWalk(std::uint64_t bytes, bool prefers_copy) : prefers_copy_(prefers_copy), remaining_(bytes) {
    for (std::uint64_t length = 1, left = bytes; left != 0;
         left -= std::min(left, length), length = length * 5 % 977 + 1)
      lengths_.push_back(std::min(left, length));
    memory_.resize(bytes + lengths_.size() * kGap, std::byte{0xee});
    skip_empty();
  }
  ScatteredWalk(const Bytes& content, bool prefers_copy) : ScatteredWalk(content.size(), prefers_copy) {
    std::size_t taken = 0, at = 0;
    for (const std::uint64_t length : lengths_) {
      std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(taken), length,
                  memory_.begin() + static_cast<std::ptrdiff_t>(at));
      taken += length;
      at += length + kGap;
    }
  }

  // The bytes in the order of the wire, whatever was walked.
  Bytes content() const {
    Bytes bytes;
    std::size_t at = 0;
    for (const std::uint64_t length : lengths_) {
      bytes.insert(bytes.end(), memory_.begin() + static_cast<std::ptrdiff_t>(at),
                   memory_.begin() + static_cast<std::ptrdiff_t>(at + length));
      at += length + kGap;
    }
    return bytes;
  }

  std::uint64_t position() const noexcept override { return memory_.size() - lengths_.size() * kGap - remaining_; }
  void seek(std::uint64_t position) noexcept override {
    remaining_ = memory_.size() - lengths_.size() * kGap;
    index_ = at_ = 0;
    within_ = 0;
    skip_empty();
    advance(position);
  }
  std::uint64_t remaining() const noexcept override { return remaining_; }
  std::size_t peek(iovec* segments, std::size_t capacity) noexcept override {
    std::size_t count = 0, at = at_;
    for (std::size_t i = index_; i < lengths_.size() && count < capacity; ++i) {
      const std::uint64_t skip = i == index_ ? within_ : 0;
      segments[count++] = {memory_.data() + at + skip, lengths_[i] - skip};
      at += lengths_[i] + kGap;
    }
    return count;
  }
  void advance(std::uint64_t bytes) noexcept override {
    move(bytes, [](std::byte*, std::uint64_t) {});
  }
  void gather(void* destination, std::size_t bytes) noexcept override {
    auto* next = static_cast<std::byte*>(destination);
    move(bytes, [&](std::byte* piece, std::uint64_t length) {
      std::memcpy(next, piece, length);
      next += length;
    });
  }
  void scatter(const void* source, std::size_t bytes) noexcept override {
    const auto* next = static_cast<const std::byte*>(source);
    move(bytes, [&](std::byte* piece, std::uint64_t length) {
      std::memcpy(piece, next, length);
      next += length;
    });
  }
  bool prefers_copy() const noexcept override { return prefers_copy_; }

 private:
  static constexpr std::size_t kGap = 3;

  template <typename Visit>
  void move(std::uint64_t bytes, Visit visit) {
    ASSERT_LE(bytes, remaining_);
    remaining_ -= bytes;
    while (bytes != 0) {
      const std::uint64_t length = std::min(bytes, lengths_[index_] - within_);
      visit(memory_.data() + at_ + within_, length);
      within_ += length;
      bytes -= length;
      skip_empty();
    }
  }
  void skip_empty() {
    while (index_ < lengths_.size() && within_ == lengths_[index_]) {
      at_ += lengths_[index_++] + kGap;
      within_ = 0;
    }
  }

  bool prefers_copy_;
  std::uint64_t remaining_;
  std::vector<std::uint64_t> lengths_;
  Bytes memory_;
  std::size_t index_ = 0, at_ = 0;
  std::uint64_t within_ = 0;
};

}  // namespace lapwing::net
