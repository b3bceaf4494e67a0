#include "datatype/layout.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/internal_error.h"

namespace lapwing::datatype {
namespace {

// A child list this short is copied into its parent instead of being referred to: one level less to walk.
constexpr std::size_t kSpliceLimit = 4;
// Bytes of a run that is short: a loop over runs of this one length takes less time than one over fewer runs of many lengths.
constexpr std::uint64_t kShortRun = 48;

// The lowest and highest address that `piece` touches.
void bounds_of(const Piece& piece, std::int64_t& low, std::int64_t& high) {
  low = piece.displacement + (piece.node ? piece.node->low : 0);
  high = piece.displacement + (piece.node ? piece.node->high : static_cast<std::int64_t>(piece.bytes));
}

void close(Node& node) {
  node.iteration_bytes = 0;
  node.depth = 1;
  node.runs = 0;
  node.flat = true;
  node.even = node.pieces.front().bytes;
  bool first = true;
  for (Piece& piece : node.pieces) {
    piece.start = node.iteration_bytes;
    node.iteration_bytes += piece.bytes;
    node.runs += piece.node ? piece.node->runs : 1;
    if (piece.node) node.depth = std::max(node.depth, piece.node->depth + 1);
    node.flat &= piece.node == nullptr;
    if (piece.node != nullptr || piece.bytes != node.even) node.even = 0;
    std::int64_t low = 0;
    std::int64_t high = 0;
    bounds_of(piece, low, high);
    node.low = first ? low : std::min(node.low, low);
    node.high = first ? high : std::max(node.high, high);
    first = false;
  }
  node.runs *= node.repeat;
  const std::int64_t span = static_cast<std::int64_t>(node.repeat - 1) * node.stride;
  node.low += std::min<std::int64_t>(span, 0);
  node.high += std::max<std::int64_t>(span, 0);
}

// Equal pieces at equal distances: an indexed type that is a vector in disguise.
bool is_regular(const std::vector<Piece>& pieces) {
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    if (pieces[i].bytes != pieces[0].bytes || pieces[i].node != pieces[0].node) return false;
    if (pieces[i].displacement - pieces[i - 1].displacement != pieces[1].displacement - pieces[0].displacement) {
      return false;
    }
  }
  return true;
}

bool touch(const Piece& first, const Piece& second) {
  return first.node == nullptr && second.node == nullptr && first.displacement + static_cast<std::int64_t>(first.bytes) == second.displacement;
}

// Makes one run of those that touch, but for short runs of one length of which more than half would stay.
void merge(std::vector<Piece>& pieces) {
  const bool even = std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) { return piece.node == nullptr && piece.bytes == pieces[0].bytes; });
  std::size_t vanish = 0;
  for (std::size_t i = 1; i < pieces.size(); ++i) vanish += touch(pieces[i - 1], pieces[i]);
  if (vanish == 0 || (even && pieces[0].bytes <= kShortRun && 2 * vanish < pieces.size())) return;
  std::size_t last = 0;
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    if (touch(pieces[last], pieces[i]))
      pieces[last].bytes += pieces[i].bytes;
    else
      pieces[++last] = pieces[i];
  }
  pieces.resize(last + 1);
}

std::shared_ptr<const Node> owner_of(const Node& parent, const Node* child) {
  for (const auto& owned : parent.children) {
    if (owned.get() == child) return owned;
  }
  LAPWING_CHECK(!"a piece refers to a node that its parent does not own");
  return nullptr;
}

std::size_t footprint_of(const Node& node) {
  std::size_t sum = sizeof(Node) + node.pieces.capacity() * sizeof(Piece);
  for (const auto& child : node.children) sum += sizeof(child) + footprint_of(*child);
  return sum;
}

}  // namespace

Layout Layout::run(std::int64_t displacement, std::uint64_t bytes) {
  Layout layout;
  layout.root_.displacement = displacement;
  layout.root_.bytes = bytes;
  return layout;
}

std::int64_t Layout::low() const noexcept {
  std::int64_t low = 0;
  std::int64_t high = 0;
  bounds_of(root_, low, high);
  return low;
}

std::int64_t Layout::high() const noexcept {
  std::int64_t low = 0;
  std::int64_t high = 0;
  bounds_of(root_, low, high);
  return high;
}

std::size_t Layout::footprint() const noexcept {
  return node_ ? footprint_of(*node_) : 0;
}

Layout Layout::shifted(std::int64_t displacement) const {
  Layout layout = *this;
  if (layout.root_.bytes != 0) layout.root_.displacement += displacement;
  return layout;
}

Layout Layout::repeated(std::uint64_t count, std::int64_t stride) const {
  if (count == 0 || root_.bytes == 0) return Layout();
  if (count == 1) return *this;
  if (root_.node == nullptr && stride == static_cast<std::int64_t>(root_.bytes)) {
    return run(root_.displacement, root_.bytes * count);
  }

  auto node = std::make_shared<Node>();
  node->repeat = count;
  node->stride = stride;
  const bool inner_continues = root_.node != nullptr && root_.node->repeat > 1 &&
                               stride == static_cast<std::int64_t>(root_.node->repeat) * root_.node->stride;
  if (inner_continues) {
    node->repeat = count * root_.node->repeat;
    node->stride = root_.node->stride;
    node->pieces = root_.node->pieces;
    node->children = root_.node->children;
  } else if (root_.node != nullptr && root_.node->repeat == 1 && root_.node->pieces.size() <= kSpliceLimit) {
    node->pieces = root_.node->pieces;
    node->children = root_.node->children;
  } else {
    node->pieces.push_back(root_);
    node->pieces.back().displacement = 0;
    if (node_) node->children.push_back(node_);
  }
  close(*node);

  Layout layout;
  layout.root_.displacement = root_.displacement;
  layout.root_.bytes = node->bytes();
  layout.root_.node = node.get();
  layout.node_ = std::move(node);
  return layout;
}

void LayoutList::append(const Layout& layout, std::int64_t displacement) {
  if (layout.bytes() == 0) return;
  const std::int64_t origin = layout.root_.displacement + displacement;
  const Node* child = layout.root_.node;
  if (child != nullptr && child->repeat == 1 && child->pieces.size() <= kSpliceLimit) {
    for (const Piece& piece : child->pieces) node_->pieces.push_back({piece.displacement + origin, 0, piece.bytes, piece.node});
    node_->children.insert(node_->children.end(), child->children.begin(), child->children.end());
    return;
  }
  node_->pieces.push_back({origin, 0, layout.bytes(), child});
  if (child != nullptr && (node_->children.empty() || node_->children.back() != layout.node_)) {
    node_->children.push_back(layout.node_);
  }
}

Layout LayoutList::finish() {
  auto node = std::exchange(node_, std::make_shared<Node>());
  auto& pieces = node->pieces;
  Layout layout;
  if (pieces.empty()) return layout;
  merge(pieces);
  if (is_regular(pieces)) {
    layout.root_ = pieces[0];
    if (layout.root_.node != nullptr) layout.node_ = owner_of(*node, layout.root_.node);
    const std::int64_t stride = pieces.size() > 1 ? pieces[1].displacement - pieces[0].displacement : 0;
    return layout.repeated(pieces.size(), stride);
  }
  node->pieces.shrink_to_fit();
  close(*node);
  layout.root_.bytes = node->bytes();
  layout.root_.node = node.get();
  layout.node_ = std::move(node);
  return layout;
}

}  // namespace lapwing::datatype
