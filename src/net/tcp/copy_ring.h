// Memory for copies of small frames, given out and given back in order, each copy in one piece. Of its pages only those exist that were written to;
// while all copies are given back before the next is made, always the same ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lapwing::net::tcp {

class CopyRing {
 public:
  // While nothing is in it.
  void set_capacity(std::size_t bytes) noexcept {
    if (bytes == capacity_) return;
    memory_.reset();
    capacity_ = bytes;
  }
  std::size_t capacity() const noexcept { return capacity_; }

  static constexpr std::size_t kNoRoom = static_cast<std::size_t>(-1);
  // The place of the next copy, or kNoRoom.
  std::size_t take(std::size_t bytes) noexcept {
    if (used_ == 0) begin_ = end_ = 0, wrapped_ = false;
    if (!memory_) memory_ = std::make_unique_for_overwrite<std::byte[]>(capacity_);
    if (wrapped_ ? begin_ - end_ < bytes : capacity_ - end_ < bytes) {
      if (wrapped_ || begin_ < bytes) return kNoRoom;
      wrapped_ = true;
      last_ = end_;
      end_ = 0;
    }
    const std::size_t place = end_;
    end_ += bytes;
    used_ += bytes;
    return place;
  }
  // The oldest copy.
  void give_back(std::size_t bytes) noexcept {
    begin_ += bytes;
    used_ -= bytes;
    if (!wrapped_ || begin_ != last_) return;
    begin_ = 0;
    wrapped_ = false;
  }
  std::byte* at(std::size_t place) const noexcept { return &memory_[place]; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0, end_ = 0;  // of what is given out
  std::size_t last_ = 0;             // its end before it went on at 0
  std::size_t used_ = 0;
  bool wrapped_ = false;
};

}  // namespace lapwing::net::tcp
