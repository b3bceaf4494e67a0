#include "p2p/unexpected_message.h"

#include <bit>
#include <new>

namespace lapwing::p2p {

MessagePool::~MessagePool() {
  for (FreeBlock* block : free_) {
    while (block != nullptr) {
      FreeBlock* next = block->next;
      ::operator delete(block);
      block = next;
    }
  }
}

// Four classes for each power of two, from 256 bytes on.
std::size_t MessagePool::class_of(std::uint64_t block) noexcept {
  const std::uint64_t power = std::bit_floor(block);
  const auto order = static_cast<std::size_t>(std::bit_width(power) - std::bit_width(kBookkeepingBytes));
  return order * 4 + static_cast<std::size_t>((block - power) / (power / 4));
}

UnexpectedMessage& MessagePool::make(std::uint64_t payload_bytes) {
  const std::uint64_t bytes = block_bytes(payload_bytes);
  const std::size_t index = class_of(bytes);
  void* block;
  if (index < free_.size() && free_[index] != nullptr) {
    block = free_[index];
    free_[index] = free_[index]->next;
    cached_ -= bytes;
  } else {
    block = ::operator new(bytes);
  }
  in_use_ += bytes;
  if (in_use_ > peak_) peak_ = in_use_;
  auto* message = new (block) UnexpectedMessage;
  message->stored_bytes = payload_bytes;
  return *message;
}

void MessagePool::free(UnexpectedMessage& message) noexcept {
  const std::uint64_t bytes = block_bytes(message.stored_bytes);
  const std::size_t index = class_of(bytes);
  message.~UnexpectedMessage();
  in_use_ -= bytes;
  if (cached_ + bytes > cache_limit_) {
    ::operator delete(&message);
    return;
  }
  if (index >= free_.size()) free_.resize(index + 1, nullptr);
  auto* block = new (static_cast<void*>(&message)) FreeBlock{free_[index]};
  free_[index] = block;
  cached_ += bytes;
}

}  // namespace lapwing::p2p
