#include <vector>

#include "datatype/construct.h"
#include "datatype/construct_detail.h"

namespace lapwing::datatype {
namespace {

Status check_shape(int dimensions, int order) {
  if (dimensions < 1) return Status::error(MPI_ERR_ARG, "ndims is %d, an array has at least one dimension", dimensions);
  if (order == MPI_ORDER_C || order == MPI_ORDER_FORTRAN) return {};
  return Status::error(MPI_ERR_ARG, "order is %d, not MPI_ORDER_C or MPI_ORDER_FORTRAN", order);
}

// The dimension that is `step` steps away from the one whose elements are adjacent in memory.
int dimension_at(int step, int dimensions, int order) {
  return order == MPI_ORDER_FORTRAN ? step : dimensions - 1 - step;
}

Status too_large() {
  return Status::error(MPI_ERR_COUNT, "The array would span more than 2^63 bytes: check the sizes of its dimensions");
}

// Bytes of the whole array, and from each dimension's index to the next.
Status strides_of(int dimensions, CountArray sizes, int order, const Datatype& old_type,
                  std::vector<std::int64_t>* strides, std::int64_t* whole) {
  strides->resize(dimensions);
  std::int64_t stride = old_type.extent();
  for (int step = 0; step < dimensions; ++step) {
    const int dimension = dimension_at(step, dimensions, order);
    (*strides)[dimension] = stride;
    if (__builtin_mul_overflow(stride, sizes[dimension], &stride)) return too_large();
  }
  *whole = stride;
  return {};
}

// An array section is as large as the whole array, so that sections can follow each other.
Datatype* finish_section(Layout layout, std::int64_t whole, std::uint64_t elements, Datatype& old_type,
                         ContentsRecorder& recorder) {
  Description description;
  description.layout = std::move(layout);
  description.signature = repeated(old_type.signature(), elements);
  description.bounds = {0, whole, true, true};
  description.alignment = old_type.alignment();
  description.contents = recorder.type(old_type).finish();
  return new Datatype(std::move(description));
}

// What a process owns of one dimension: blocks of `block` indices from `first` on, every `step`, below `size`.
struct Share {
  std::int64_t first = 0;
  std::int64_t block = 0;
  std::int64_t step = 0;
  std::int64_t size = 0;

  // `inner` stands for one index of this dimension.
  Layout layout(const Layout& inner, std::int64_t stride) const {
    if (first >= size) return {};
    const std::int64_t whole_blocks = size - first < block ? 0 : (size - first - block) / step + 1;
    const std::int64_t next = first + whole_blocks * step;
    const std::int64_t rest = next < size ? size - next : 0;
    LayoutList list;
    list.append(inner.repeated(block, stride).repeated(whole_blocks, step * stride), first * stride);
    list.append(inner.repeated(rest, stride), next * stride);
    return list.finish();
  }

  std::int64_t indices() const {
    if (first >= size) return 0;
    const std::int64_t whole_blocks = size - first < block ? 0 : (size - first - block) / step + 1;
    const std::int64_t next = first + whole_blocks * step;
    return whole_blocks * block + (next < size ? size - next : 0);
  }
};

Status share_of(const Distribution& distribution, int dimension, int coordinate, Share* share) {
  const std::int64_t size = distribution.global_sizes[dimension];
  const std::int64_t processes = distribution.grid[dimension];
  std::int64_t block = distribution.arguments[dimension];
  const bool by_default = block == MPI_DISTRIBUTE_DFLT_DARG;
  share->size = size;
  switch (distribution.kinds[dimension]) {
    case MPI_DISTRIBUTE_NONE:
      if (processes != 1) {
        return Status::error(MPI_ERR_ARG, "Dimension %d is not distributed, yet the grid gives it %lld processes",
                             dimension, static_cast<long long>(processes));
      }
      block = size;
      break;
    case MPI_DISTRIBUTE_BLOCK:
      if (by_default) block = (size + processes - 1) / processes;
      if (block <= 0 || Int128{block} * processes < size) {
        return Status::error(MPI_ERR_ARG, "%lld blocks of %lld do not cover the %lld elements of dimension %d",
                             static_cast<long long>(processes), static_cast<long long>(block),
                             static_cast<long long>(size), dimension);
      }
      break;
    case MPI_DISTRIBUTE_CYCLIC:
      if (by_default) block = 1;
      if (block <= 0) {
        return Status::error(MPI_ERR_ARG, "The cyclic block of dimension %d is %lld, it must be positive", dimension,
                             static_cast<long long>(block));
      }
      break;
    default:
      return Status::error(MPI_ERR_ARG, "Entry %d of array_of_distribs is %d, not one of MPI_DISTRIBUTE_*", dimension,
                           distribution.kinds[dimension]);
  }
  share->block = block;
  share->first = coordinate * block;
  share->step = processes * block;
  return {};
}

// The grid is numbered by rows whatever the array's order.
Status coordinates_of(const Distribution& distribution, std::vector<int>* coordinates) {
  Int128 product = 1;
  for (int i = 0; i < distribution.dimensions; ++i) {
    if (distribution.grid[i] <= 0 || distribution.global_sizes[i] <= 0) {
      return Status::error(MPI_ERR_ARG, "Dimension %d has a size that is not positive", i);
    }
    product *= distribution.grid[i];
    if (product > distribution.processes) break;
  }
  if (product != distribution.processes) {
    return Status::error(MPI_ERR_ARG, "The product of array_of_psizes is not the %d processes of size",
                         distribution.processes);
  }
  if (distribution.rank < 0 || distribution.rank >= distribution.processes) {
    return Status::error(MPI_ERR_RANK, "Rank %d is not one of the %d processes of size", distribution.rank,
                         distribution.processes);
  }
  coordinates->resize(distribution.dimensions);
  int rest = distribution.rank;
  for (int i = distribution.dimensions - 1; i >= 0; --i) {
    (*coordinates)[i] = rest % distribution.grid[i];
    rest /= distribution.grid[i];
  }
  return {};
}

}  // namespace

Status make_subarray(int dimensions, CountArray sizes, CountArray subsizes, CountArray starts, int order,
                     Datatype& old_type, Datatype** result, bool large_form) {
  LAPWING_TRY(check_shape(dimensions, order));
  for (int i = 0; i < dimensions; ++i) {
    const bool inside =
        subsizes[i] >= 1 && sizes[i] >= subsizes[i] && starts[i] >= 0 && starts[i] <= sizes[i] - subsizes[i];
    if (!inside) {
      return Status::error(MPI_ERR_ARG, "Dimension %d: a section of %lld elements from %lld on is not inside %lld", i,
                           static_cast<long long>(subsizes[i]), static_cast<long long>(starts[i]),
                           static_cast<long long>(sizes[i]));
    }
  }
  std::vector<std::int64_t> strides;
  std::int64_t whole = 0;
  LAPWING_TRY(strides_of(dimensions, sizes, order, old_type, &strides, &whole));

  Layout layout = old_type.layout();
  std::int64_t origin = 0;
  std::uint64_t elements = 1;
  for (int step = 0; step < dimensions; ++step) {
    const int i = dimension_at(step, dimensions, order);
    layout = layout.repeated(subsizes[i], strides[i]);
    origin += starts[i] * strides[i];
    elements *= subsizes[i];
  }
  ContentsRecorder recorder(MPI_COMBINER_SUBARRAY, large_form);
  recorder.integer(dimensions).counts(sizes, dimensions).counts(subsizes, dimensions).counts(starts, dimensions);
  recorder.integer(order);
  *result = finish_section(layout.shifted(origin), whole, elements, old_type, recorder);
  return {};
}

Status make_darray(const Distribution& distribution, Datatype& old_type, Datatype** result, bool large_form) {
  const int dimensions = distribution.dimensions;
  LAPWING_TRY(check_shape(dimensions, distribution.order));
  std::vector<int> coordinates;
  LAPWING_TRY(coordinates_of(distribution, &coordinates));
  std::vector<std::int64_t> strides;
  std::int64_t whole = 0;
  LAPWING_TRY(strides_of(dimensions, distribution.global_sizes, distribution.order, old_type, &strides, &whole));

  Layout layout = old_type.layout();
  std::uint64_t elements = 1;
  for (int step = 0; step < dimensions; ++step) {
    const int i = dimension_at(step, dimensions, distribution.order);
    Share share;
    LAPWING_TRY(share_of(distribution, i, coordinates[i], &share));
    layout = share.layout(layout, strides[i]);
    elements *= share.indices();
  }
  ContentsRecorder recorder(MPI_COMBINER_DARRAY, large_form);
  recorder.integer(distribution.processes).integer(distribution.rank).integer(dimensions);
  recorder.counts(distribution.global_sizes, dimensions).integers(distribution.kinds, dimensions);
  recorder.integers(distribution.arguments, dimensions).integers(distribution.grid, dimensions);
  recorder.integer(distribution.order);
  *result = finish_section(std::move(layout), whole, elements, old_type, recorder);
  return {};
}

}  // namespace lapwing::datatype
