// The walk over `count` elements of a datatype at a buffer, in type-map order.
//
// O(1) to start; no allocation unless a type nests more than kInlineDepth non-contiguous levels. It does not keep the
// datatype alive: its owner (the request) does.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/byte_walk.h"
#include "datatype/datatype.h"

namespace lapwing::datatype {

class Walk final : public ByteWalk {
 public:
  Walk() noexcept = default;
  // `buffer` is the user's address (MPI_BOTTOM included). The walk writes through it only in scatter().
  Walk(const Datatype& type, const void* buffer, std::uint64_t count) noexcept;
  Walk(Walk&&) noexcept = default;
  Walk& operator=(Walk&&) noexcept = default;

  std::uint64_t total() const noexcept { return total_; }
  std::uint64_t position() const noexcept override { return position_; }
  void seek(std::uint64_t position) noexcept override;
  std::uint64_t remaining() const noexcept override { return total_ - position_; }
  std::size_t peek(iovec* segments, std::size_t capacity) noexcept override;
  void advance(std::uint64_t bytes) noexcept override;
  void gather(void* destination, std::size_t bytes) noexcept override;
  void scatter(const void* source, std::size_t bytes) noexcept override;
  bool prefers_copy() const noexcept override { return short_segments_; }

  // The current run: always valid while remaining() > 0.
  std::byte* run() const noexcept { return run_; }
  std::uint64_t run_bytes() const noexcept { return run_bytes_; }

 private:
  // One level of the loop nest we are in. Addresses are integers: with MPI_BOTTOM they start from zero.
  struct Frame {
    const Node* node;
    std::uintptr_t base;  // origin of the node
    std::uint64_t iteration;
    std::size_t piece;
  };
  static constexpr int kInlineDepth = 4;

  template <typename Copy>
  void transfer(std::size_t bytes, Copy copy) noexcept;
  // Which loop begins an iteration here, of which so many bytes are the whole: the outermost one. Frames from the outside, after the loop over the
  // elements.
  enum : int { kNoLoop = -2, kElements = -1 };
  int whole_iterations_of(std::size_t bytes) noexcept;
  template <typename Copy>
  std::size_t transfer_elements(std::size_t bytes, Copy& copy) noexcept;
  template <typename Copy>
  std::size_t transfer_iterations(int level, std::size_t bytes, Copy& copy) noexcept;
  template <typename Copy>
  std::size_t transfer_list(std::size_t bytes, Copy& copy) noexcept;
  Frame* frames() noexcept { return deep_ ? deep_.get() : inline_.data(); }
  void enter(const Piece& piece, std::uintptr_t origin, std::uint64_t skip) noexcept;
  void next_run() noexcept;

  std::byte* run_ = nullptr;  // the rest of the run we are in
  std::uint64_t run_bytes_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t total_ = 0;
  Piece root_;  // one element
  std::uintptr_t buffer_ = 0;
  std::int64_t extent_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t element_ = 0;  // which of the `count_` elements we are in
  int depth_ = 0;              // frames in use
  bool short_segments_ = false;
  std::array<Frame, kInlineDepth> inline_;  // not initialized: only the first depth_ are ever read
  std::unique_ptr<Frame[]> deep_;
};

}  // namespace lapwing::datatype
