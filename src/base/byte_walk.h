// A walk through the bytes of a user's message in their order on the wire, whatever their layout in memory.
//
// The transports move messages with it and know nothing of datatypes: a transport either asks for the next memory
// segments (and hands them to readv/writev), or lets the walk copy through a small buffer when the segments are short.
// A walk is used by one thread at a time, the one that holds the endpoint's lock.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

namespace lapwing {

class ByteWalk {
 public:
  virtual ~ByteWalk() = default;

  // Bytes walked, and bytes not yet walked.
  virtual std::uint64_t position() const noexcept = 0;
  virtual std::uint64_t remaining() const noexcept = 0;
  // Continues at byte `position` of the message, at most position() + remaining().
  virtual void seek(std::uint64_t position) noexcept = 0;

  // Describes the next segments without moving: fills at most `capacity` entries and returns how many. Zero only at the end.
  virtual std::size_t peek(iovec* segments, std::size_t capacity) noexcept = 0;

  // Moves forward by `bytes`, at most remaining().
  virtual void advance(std::uint64_t bytes) noexcept = 0;

  // Gathers the next `bytes` into `destination` and advances.
  virtual void gather(void* destination, std::size_t bytes) noexcept = 0;

  // Scatters `bytes` from `source` to the next positions and advances.
  virtual void scatter(const void* source, std::size_t bytes) noexcept = 0;

  // True when the segments are so short that gathering through a buffer beats an iovec.
  virtual bool prefers_copy() const noexcept = 0;
};

// The walk over one contiguous piece of memory.
class ContiguousWalk final : public ByteWalk {
 public:
  ContiguousWalk() noexcept = default;
  ContiguousWalk(void* base, std::uint64_t bytes) noexcept : base_(static_cast<std::byte*>(base)), total_(bytes) {}

  std::uint64_t position() const noexcept override { return position_; }
  std::uint64_t remaining() const noexcept override { return total_ - position_; }
  void seek(std::uint64_t position) noexcept override { position_ = position; }
  std::size_t peek(iovec* segments, std::size_t capacity) noexcept override;
  void advance(std::uint64_t bytes) noexcept override;
  void gather(void* destination, std::size_t bytes) noexcept override;
  void scatter(const void* source, std::size_t bytes) noexcept override;
  bool prefers_copy() const noexcept override { return false; }

 private:
  std::byte* base_ = nullptr;
  std::uint64_t total_ = 0;
  std::uint64_t position_ = 0;
};

}  // namespace lapwing
