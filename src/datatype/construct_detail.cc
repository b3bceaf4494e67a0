#include "datatype/construct_detail.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

namespace lapwing::datatype {
namespace {

constexpr Int128 kLargest = std::numeric_limits<std::int64_t>::max();
constexpr Int128 kSmallest = std::numeric_limits<std::int64_t>::min();

bool fits(Int128 value) {
  return value >= kSmallest && value <= kLargest;
}

Status too_large() {
  return Status::error(MPI_ERR_COUNT,
                       "The datatype would span more than 2^63 bytes: check its counts, strides and displacements");
}

}  // namespace

template <typename Better>
void BoundsCollector::improve(Edge& edge, Int128 value, bool is_explicit, Better better) {
  if (edge.present && edge.is_explicit && !is_explicit) return;
  const bool replaces = !edge.present || is_explicit != edge.is_explicit || better(value, edge.value);
  if (replaces) edge = {value, true, is_explicit};
}

void BoundsCollector::add_block(Int128 displacement, Int128 block_length, const Datatype& type) {
  if (block_length == 0) return;
  const Bounds& bounds = type.bounds();
  const Int128 span = (block_length - 1) * type.extent();
  improve(lower_, displacement + bounds.lb + std::min<Int128>(span, 0), bounds.lb_explicit, std::less<>());
  improve(upper_, displacement + bounds.ub + std::max<Int128>(span, 0), bounds.ub_explicit, std::greater<>());
  bytes_ += block_length * type.size();
  alignment_ = std::max(alignment_, type.alignment());
}

Status BoundsCollector::finish(Bounds* bounds, std::int64_t* alignment) const {
  Int128 upper = upper_.value;
  if (!upper_.is_explicit) {
    const Int128 excess = (upper - lower_.value) % alignment_;
    if (excess > 0) upper += alignment_ - excess;
  }
  if (!fits(lower_.value) || !fits(upper) || !fits(upper - lower_.value)) return too_large();
  LAPWING_TRY(check_bytes(bytes_));
  bounds->lb = static_cast<std::int64_t>(lower_.value);
  bounds->ub = static_cast<std::int64_t>(upper);
  bounds->lb_explicit = lower_.is_explicit;
  bounds->ub_explicit = upper_.is_explicit;
  *alignment = alignment_;
  return {};
}

Status check_bytes(Int128 bytes) {
  return fits(bytes) ? Status() : too_large();
}

ContentsRecorder& ContentsRecorder::counts(CountArray values, std::int64_t number) {
  return add_all(large_ ? contents_.counts : contents_.integers, values, number);
}

ContentsRecorder& ContentsRecorder::addresses(CountArray values, std::int64_t number) {
  return add_all(large_ ? contents_.counts : contents_.addresses, values, number);
}

ContentsRecorder& ContentsRecorder::add_all(std::vector<std::int64_t>& list, CountArray values, std::int64_t number) {
  list.reserve(list.size() + static_cast<std::size_t>(number));
  for (std::int64_t i = 0; i < number; ++i) list.push_back(values[i]);
  return *this;
}

ContentsRecorder& ContentsRecorder::integers(const int* values, int number) {
  for (int i = 0; i < number; ++i) integer(values[i]);
  return *this;
}

}  // namespace lapwing::datatype
