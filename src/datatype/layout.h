// Where the bytes of one element of a datatype lie, in type-map order, in a form whose size follows the *description*
// of the type and not its number of blocks: a vector of 10^8 blocks is one node.
//
//   Node   = `repeat` times, `stride` bytes apart, a list of pieces
//   Piece  = a run of bytes, or another node, at a displacement
//
// Nodes are immutable once built and shared between the types made from each other, so a type keeps its layout alive
// after the types it was made from are freed. Adjacent runs are merged while building (layout.cc, merge); the order is never changed,
// because the order of the type map is the order on the wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace lapwing::datatype {

struct Node;

struct Piece {
  std::int64_t displacement = 0;  // from the origin of the enclosing iteration
  std::uint64_t start = 0;        // bytes of data before this piece in the enclosing iteration
  std::uint64_t bytes = 0;        // of data, all repetitions included
  const Node* node = nullptr;     // null: a single run of `bytes`
};

struct Node {
  std::uint64_t repeat = 1;
  std::int64_t stride = 0;
  std::uint64_t iteration_bytes = 0;
  std::vector<Piece> pieces;                          // never empty, none of them without bytes
  std::vector<std::shared_ptr<const Node>> children;  // keeps alive what the pieces point to
  std::uint64_t runs = 1;                             // in all repetitions
  int depth = 1;                                      // nodes on the longest way down, this one included
  bool flat = false;                                  // the pieces are runs
  std::uint64_t even = 0;                             // their length, where they are runs of one length
  std::int64_t low = 0;                               // lowest and highest address touched, from the node's origin
  std::int64_t high = 0;

  std::uint64_t bytes() const noexcept { return repeat * iteration_bytes; }
};

// One piece with a share in its node: what a datatype holds, and what the builders take and return.
class Layout {
 public:
  Layout() noexcept = default;  // no bytes at all
  static Layout run(std::int64_t displacement, std::uint64_t bytes);

  const Piece& root() const noexcept { return root_; }
  std::uint64_t bytes() const noexcept { return root_.bytes; }
  bool single_run() const noexcept { return root_.node == nullptr; }
  std::uint64_t runs() const noexcept { return root_.node ? root_.node->runs : 1; }
  int depth() const noexcept { return root_.node ? root_.node->depth : 0; }
  std::int64_t low() const noexcept;
  std::int64_t high() const noexcept;
  // Total bytes of memory of the description itself; the tests pin that it does not grow with the data.
  std::size_t footprint() const noexcept;

  Layout shifted(std::int64_t displacement) const;
  // `count` copies, `stride` bytes apart.
  Layout repeated(std::uint64_t count, std::int64_t stride) const;

 private:
  friend class LayoutList;
  Piece root_;
  std::shared_ptr<const Node> node_;
};

// Collects layouts one after the other (indexed and struct types).
class LayoutList {
 public:
  void reserve(std::size_t pieces) { node_->pieces.reserve(pieces); }
  void append(const Layout& layout, std::int64_t displacement);
  Layout finish();

 private:
  std::shared_ptr<Node> node_ = std::make_shared<Node>();
};

}  // namespace lapwing::datatype
