#include "datatype/walk.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/bulk_copy.h"
#include "base/internal_error.h"
#include "base/tuning.h"

namespace lapwing::datatype {
namespace {

std::byte* at(std::uintptr_t address) noexcept {
  return reinterpret_cast<std::byte*>(address);
}

// The piece that holds byte `skip` of an iteration.
std::size_t find_piece(const std::vector<Piece>& pieces, std::uint64_t skip) noexcept {
  const auto after = std::upper_bound(pieces.begin(), pieces.end(), skip,
                                      [](std::uint64_t value, const Piece& piece) { return value < piece.start; });
  return static_cast<std::size_t>(after - pieces.begin()) - 1;
}

// Calls `with` with the length as a constant, where runs are often so long: numbers, small structs of them, pixels.
template <typename With>
bool with_length(std::uint64_t bytes, With with) {
  switch (bytes) {
    case 1:
      return with(std::integral_constant<std::size_t, 1>()), true;
    case 2:
      return with(std::integral_constant<std::size_t, 2>()), true;
    case 3:
      return with(std::integral_constant<std::size_t, 3>()), true;
    case 4:
      return with(std::integral_constant<std::size_t, 4>()), true;
    case 5:
      return with(std::integral_constant<std::size_t, 5>()), true;
    case 6:
      return with(std::integral_constant<std::size_t, 6>()), true;
    case 7:
      return with(std::integral_constant<std::size_t, 7>()), true;
    case 8:
      return with(std::integral_constant<std::size_t, 8>()), true;
    case 12:
      return with(std::integral_constant<std::size_t, 12>()), true;
    case 16:
      return with(std::integral_constant<std::size_t, 16>()), true;
    case 24:
      return with(std::integral_constant<std::size_t, 24>()), true;
    case 32:
      return with(std::integral_constant<std::size_t, 32>()), true;
    case 40:
      return with(std::integral_constant<std::size_t, 40>()), true;
    case 48:
      return with(std::integral_constant<std::size_t, 48>()), true;
    default:
      return false;
  }
}

// Numbers are the most frequent runs: they need no call.
inline void copy_run(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (!with_length(bytes, [&](auto length) { std::memcpy(to, from, length()); })) plain_copy(to, from, bytes);
}

// The two directions. Runs of one length are copied by a loop over a constant size, which compiles to plain moves.
class Gather {
 public:
  explicit Gather(void* destination) noexcept : next_(static_cast<std::byte*>(destination)) {}
  void run(std::byte* memory, std::size_t bytes) noexcept {
    copy_run(next_, memory, bytes);
    next_ += bytes;
  }
  template <std::size_t kBytes>
  void strided(std::uintptr_t memory, std::int64_t stride, std::uint64_t runs) noexcept {
    std::byte* next = next_;  // which no store can change, as it could a member
    for (std::uint64_t i = 0; i < runs; ++i, memory += stride, next += kBytes) std::memcpy(next, at(memory), kBytes);
    next_ = next;
  }
  template <std::size_t kBytes>
  void listed(std::uintptr_t origin, const Piece* pieces, std::uint64_t runs) noexcept {
    std::byte* next = next_;
    for (std::uint64_t i = 0; i < runs; ++i, next += kBytes) std::memcpy(next, at(origin + pieces[i].displacement), kBytes);
    next_ = next;
  }

 private:
  std::byte* next_;
};

class Scatter {
 public:
  explicit Scatter(const void* source) noexcept : next_(static_cast<const std::byte*>(source)) {}
  void run(std::byte* memory, std::size_t bytes) noexcept {
    copy_run(memory, next_, bytes);
    next_ += bytes;
  }
  template <std::size_t kBytes>
  void strided(std::uintptr_t memory, std::int64_t stride, std::uint64_t runs) noexcept {
    const std::byte* next = next_;
    for (std::uint64_t i = 0; i < runs; ++i, memory += stride, next += kBytes) std::memcpy(at(memory), next, kBytes);
    next_ = next;
  }
  template <std::size_t kBytes>
  void listed(std::uintptr_t origin, const Piece* pieces, std::uint64_t runs) noexcept {
    const std::byte* next = next_;
    for (std::uint64_t i = 0; i < runs; ++i, next += kBytes) std::memcpy(at(origin + pieces[i].displacement), next, kBytes);
    next_ = next;
  }

 private:
  const std::byte* next_;
};

template <typename Copy>
void copy_strided(Copy& copy, std::uintptr_t memory, std::int64_t stride, std::uint64_t runs, std::uint64_t bytes) {
  if (with_length(bytes, [&](auto length) { copy.template strided<length()>(memory, stride, runs); })) return;
  for (std::uint64_t i = 0; i < runs; ++i, memory += stride) copy.run(at(memory), bytes);
}

// `even`: the length of all the runs, or 0.
template <typename Copy>
void copy_listed(Copy& copy, std::uintptr_t origin, const Piece* pieces, std::uint64_t runs, std::uint64_t even) {
  if (with_length(even, [&](auto length) { copy.template listed<length()>(origin, pieces, runs); })) return;
  for (std::uint64_t i = 0; i < runs; ++i) copy.run(at(origin + pieces[i].displacement), pieces[i].bytes);
}

template <typename Copy>
void copy_iterations(Copy& copy, const Node& node, std::uintptr_t origin, std::uint64_t iterations) noexcept;

template <typename Copy>
void copy_piece(Copy& copy, const Piece& piece, std::uintptr_t origin) noexcept {
  if (piece.node != nullptr)
    copy_iterations(copy, *piece.node, origin + piece.displacement, piece.node->repeat);
  else
    copy.run(at(origin + piece.displacement), piece.bytes);
}

template <typename Copy>
void copy_iterations(Copy& copy, const Node& node, std::uintptr_t origin, std::uint64_t iterations) noexcept {
  const std::vector<Piece>& pieces = node.pieces;
  if (pieces.size() == 1 && node.flat) return copy_strided(copy, origin + pieces[0].displacement, node.stride, iterations, pieces[0].bytes);
  for (std::uint64_t i = 0; i < iterations; ++i, origin += node.stride) {
    if (node.flat) {
      copy_listed(copy, origin, pieces.data(), pieces.size(), node.even);
    } else {
      for (const Piece& piece : pieces) copy_piece(copy, piece, origin);
    }
  }
}

}  // namespace

Walk::Walk(const Datatype& type, const void* buffer, std::uint64_t count) noexcept
    : root_(type.layout().root()),
      buffer_(reinterpret_cast<std::uintptr_t>(buffer)),
      extent_(type.extent()),
      count_(count) {
  total_ = root_.bytes * count;
  if (total_ == 0) return;
  if (type.contiguous()) {
    root_.bytes = total_;
    count_ = 1;
  } else {
    short_segments_ = root_.bytes / type.layout().runs() < tuning().datatype_short_run;
  }
  if (type.layout().depth() > kInlineDepth) deep_ = std::make_unique<Frame[]>(type.layout().depth());
  enter(root_, buffer_, 0);
}

// Descends to the run that holds byte `skip` of `piece`.
void Walk::enter(const Piece& top, std::uintptr_t origin, std::uint64_t skip) noexcept {
  const Piece* piece = &top;
  while (piece->node != nullptr) {
    const Node& node = *piece->node;
    Frame& frame = frames()[depth_++];
    frame = {&node, origin + piece->displacement, 0, 0};
    if (skip != 0) {
      frame.iteration = skip / node.iteration_bytes;
      skip %= node.iteration_bytes;
      frame.piece = find_piece(node.pieces, skip);
    }
    origin = frame.base + frame.iteration * node.stride;
    piece = &node.pieces[frame.piece];
    skip -= piece->start;
  }
  run_ = at(origin + piece->displacement + skip);
  run_bytes_ = piece->bytes - skip;
}

// Called with position_ at the end of the current run.
void Walk::next_run() noexcept {
  if (position_ == total_) {
    run_bytes_ = 0;
    return;
  }
  while (depth_ > 0) {
    Frame& frame = frames()[depth_ - 1];
    if (++frame.piece == frame.node->pieces.size()) {
      frame.piece = 0;
      if (++frame.iteration == frame.node->repeat) {
        --depth_;
        continue;
      }
    }
    return enter(frame.node->pieces[frame.piece], frame.base + frame.iteration * frame.node->stride, 0);
  }
  ++element_;
  enter(root_, buffer_ + element_ * extent_, 0);
}

void Walk::seek(std::uint64_t position) noexcept {
  position_ = position;
  depth_ = 0;
  if (position == total_) {
    run_bytes_ = 0;
    return;
  }
  element_ = position / root_.bytes;
  enter(root_, buffer_ + element_ * extent_, position % root_.bytes);
}

std::size_t Walk::peek(iovec* segments, std::size_t capacity) noexcept {
  if (position_ == total_ || capacity == 0) return 0;
  if (run_bytes_ == remaining()) {
    segments[0] = {run_, run_bytes_};
    return 1;
  }
  const std::uint64_t here = position_;
  std::size_t filled = 0;
  while (position_ != total_) {
    iovec* last = filled > 0 ? &segments[filled - 1] : nullptr;
    if (last != nullptr && static_cast<std::byte*>(last->iov_base) + last->iov_len == run_) {
      last->iov_len += run_bytes_;
    } else if (filled == capacity) {
      break;
    } else {
      segments[filled++] = {run_, run_bytes_};
    }
    position_ += run_bytes_;
    next_run();
  }
  seek(here);
  return filled;
}

void Walk::advance(std::uint64_t bytes) noexcept {
  if (bytes < run_bytes_) {
    run_ += bytes;
    run_bytes_ -= bytes;
    position_ += bytes;
  } else if (bytes == run_bytes_) {
    position_ += bytes;
    next_run();
  } else {
    seek(position_ + bytes);
  }
}

int Walk::whole_iterations_of(std::size_t bytes) noexcept {
  const Frame* const frame = frames();
  const Piece& piece = depth_ > 0 ? frame[depth_ - 1].node->pieces[frame[depth_ - 1].piece] : root_;
  if (run_bytes_ != piece.bytes) return kNoLoop;  // within a run
  int found = kNoLoop;
  for (int level = depth_ - 1; level >= 0; --level) {
    if (frame[level].piece != 0 || bytes < frame[level].node->iteration_bytes) return found;
    found = level;
    if (frame[level].iteration != 0) return found;
  }
  return bytes >= root_.bytes ? kElements : found;
}

template <typename Copy>
std::size_t Walk::transfer_elements(std::size_t bytes, Copy& copy) noexcept {
  const std::uint64_t elements = std::min<std::uint64_t>(count_ - element_, bytes / root_.bytes);
  const std::uintptr_t origin = buffer_ + element_ * extent_;
  if (root_.node == nullptr)
    copy_strided(copy, origin + root_.displacement, extent_, elements, root_.bytes);
  else
    for (std::uint64_t i = 0; i < elements; ++i) copy_piece(copy, root_, origin + i * extent_);
  element_ += elements - 1;
  depth_ = 0;
  position_ += elements * root_.bytes;
  next_run();
  return elements * root_.bytes;
}

template <typename Copy>
std::size_t Walk::transfer_iterations(int level, std::size_t bytes, Copy& copy) noexcept {
  Frame& frame = frames()[level];
  const Node& node = *frame.node;
  const std::uint64_t iterations = std::min<std::uint64_t>(node.repeat - frame.iteration, bytes / node.iteration_bytes);
  copy_iterations(copy, node, frame.base + frame.iteration * node.stride, iterations);
  frame.iteration += iterations - 1;
  frame.piece = node.pieces.size() - 1;
  depth_ = level + 1;
  position_ += iterations * node.iteration_bytes;
  next_run();
  return iterations * node.iteration_bytes;
}

// Copies the whole runs that follow each other in the innermost list.
template <typename Copy>
std::size_t Walk::transfer_list(std::size_t bytes, Copy& copy) noexcept {
  if (depth_ == 0) return 0;
  Frame& frame = frames()[depth_ - 1];
  const std::vector<Piece>& pieces = frame.node->pieces;
  if (run_bytes_ != pieces[frame.piece].bytes) return 0;

  const std::size_t first = frame.piece;
  std::size_t moved = 0, piece = first;
  for (; piece < pieces.size() && pieces[piece].node == nullptr && pieces[piece].bytes <= bytes - moved; ++piece) moved += pieces[piece].bytes;
  if (moved == 0) return 0;
  copy_listed(copy, frame.base + frame.iteration * frame.node->stride, &pieces[first], piece - first, frame.node->even);
  frame.piece = piece - 1;
  position_ += moved;
  next_run();
  return moved;
}

template <typename Copy>
void Walk::transfer(std::size_t bytes, Copy copy) noexcept {
  LAPWING_CHECK(bytes <= remaining());
  while (bytes > 0) {
    const int level = whole_iterations_of(bytes);
    std::size_t moved = 0;
    if (level == kElements)
      moved = transfer_elements(bytes, copy);
    else if (level != kNoLoop)
      moved = transfer_iterations(level, bytes, copy);
    else
      moved = transfer_list(bytes, copy);
    if (moved == 0) {
      moved = std::min<std::uint64_t>(bytes, run_bytes_);
      copy.run(run_, moved);
      advance(moved);
    }
    bytes -= moved;
  }
}

void Walk::gather(void* destination, std::size_t bytes) noexcept {
  transfer(bytes, Gather(destination));
}
void Walk::scatter(const void* source, std::size_t bytes) noexcept {
  transfer(bytes, Scatter(source));
}

}  // namespace lapwing::datatype
