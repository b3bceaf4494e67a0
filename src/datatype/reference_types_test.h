// For tests: random nested types, each with the type map that its constructors mean, spelled out entry by entry.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include "datatype/construct.h"
#include "datatype/datatype.h"

namespace lapwing::datatype::testing {

struct MapEntry {
  MPI_Datatype basic;
  std::int64_t displacement;
};

// A type and what we expect of it.
struct Reference {
  TypeRef type;
  std::vector<MapEntry> map;
  std::int64_t lb = 0;
  std::int64_t ub = 0;
  bool explicit_bounds = false;

  std::int64_t extent() const { return ub - lb; }
  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const MapEntry& entry : map) sum += resolve(entry.basic)->size();
    return sum;
  }
};

inline Reference basic_reference(MPI_Datatype handle) {
  Datatype* type = resolve(handle);
  return {TypeRef(*type), {{handle, 0}}, 0, type->extent(), false};
}

// Takes over the creator's reference.
inline TypeRef adopt(Datatype* type) {
  TypeRef reference(*type);
  free(type);
  return reference;
}

// Rounds an extent that no marker gives up to the strictest alignment in the map.
inline void pad(Reference& reference) {
  std::int64_t alignment = 1;
  for (const MapEntry& entry : reference.map) alignment = std::max(alignment, resolve(entry.basic)->alignment());
  const std::int64_t excess = (reference.ub - reference.lb) % alignment;
  if (excess != 0) reference.ub += alignment - excess;
}

struct Block {
  const Reference* of;
  std::int64_t displacement;
  std::int64_t length;
};

// The map of blocks one after the other. Bounds are those of the components, padding included; where some of them have
// markers, of these alone.
inline Reference combine(const std::vector<Block>& blocks) {
  Reference result;
  for (const Block& block : blocks) result.explicit_bounds |= block.length > 0 && block.of->explicit_bounds;
  bool first = true;
  for (const Block& block : blocks) {
    for (std::int64_t i = 0; i < block.length; ++i) {
      const std::int64_t origin = block.displacement + i * block.of->extent();
      for (const MapEntry& entry : block.of->map) result.map.push_back({entry.basic, origin + entry.displacement});
      if (result.explicit_bounds != block.of->explicit_bounds) continue;
      result.lb = first ? origin + block.of->lb : std::min(result.lb, origin + block.of->lb);
      result.ub = first ? origin + block.of->ub : std::max(result.ub, origin + block.of->ub);
      first = false;
    }
  }
  if (!result.explicit_bounds) pad(result);
  return result;
}

class TypeGenerator {
 public:
  explicit TypeGenerator(unsigned seed) : random_(seed) {}

  int number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  Reference basic() {
    static const MPI_Datatype kinds[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_BYTE};
    return basic_reference(kinds[number(0, 5)]);
  }

  Reference any(int depth) {
    if (depth == 0) return basic();
    const Reference inner = any(depth - 1);
    switch (number(0, 6)) {
      case 0:
        return contiguous(inner);
      case 1:
        return vector(inner);
      case 2:
        return hvector(inner);
      case 3:
        return indexed(inner);
      case 4:
        return structure(inner, any(number(0, depth - 1)));
      case 5:
        return resized(inner);
      default:
        return subarray(inner);
    }
  }

 private:
  static Reference finish(Reference reference, Status status, Datatype* type) {
    if (!status.ok()) std::abort();
    reference.type = adopt(type);
    return reference;
  }

  Reference contiguous(const Reference& inner) {
    const int count = number(0, 4);
    Datatype* type = nullptr;
    Status status = make_contiguous(count, *inner.type, &type);
    return finish(combine({{&inner, 0, count}}), std::move(status), type);
  }

  Reference strided(const Reference& inner, int count, int length, std::int64_t stride, Status status, Datatype* type) {
    std::vector<Block> blocks;
    for (int i = 0; i < count; ++i) blocks.push_back({&inner, i * stride, length});
    return finish(combine(blocks), std::move(status), type);
  }

  Reference vector(const Reference& inner) {
    const int count = number(0, 4);
    const int length = number(0, 3);
    const int stride = number(-5, 5);
    Datatype* type = nullptr;
    Status status = make_vector(count, length, stride, *inner.type, &type);
    return strided(inner, count, length, stride * inner.extent(), std::move(status), type);
  }

  Reference hvector(const Reference& inner) {
    const int count = number(1, 4);
    const int length = number(1, 3);
    const int stride = number(-100, 100);
    Datatype* type = nullptr;
    Status status = make_hvector(count, length, stride, *inner.type, &type);
    return strided(inner, count, length, stride, std::move(status), type);
  }

  Reference indexed(const Reference& inner) {
    const int count = number(0, 5);
    std::vector<int> lengths;
    std::vector<int> displacements;
    std::vector<Block> blocks;
    for (int i = 0; i < count; ++i) {
      lengths.push_back(number(0, 3));
      displacements.push_back(number(-6, 6));
      blocks.push_back({&inner, displacements[i] * inner.extent(), lengths[i]});
    }
    Datatype* type = nullptr;
    Status status = make_indexed(count, lengths.data(), displacements.data(), *inner.type, &type);
    return finish(combine(blocks), std::move(status), type);
  }

  Reference structure(const Reference& first, const Reference& second) {
    const Reference* parts[] = {&first, &second, &first};
    int lengths[3];
    MPI_Aint displacements[3];
    MPI_Datatype types[3];
    std::vector<Block> blocks;
    for (int i = 0; i < 3; ++i) {
      lengths[i] = number(0, 2);
      displacements[i] = number(-200, 200);
      types[i] = handle_of(parts[i]->type.get());
      blocks.push_back({parts[i], displacements[i], lengths[i]});
    }
    Datatype* type = nullptr;
    Status status = make_struct(3, lengths, displacements, types, &type);
    return finish(combine(blocks), std::move(status), type);
  }

  Reference resized(const Reference& inner) {
    const int lb = number(-20, 20);
    const int extent = number(0, 100);
    Datatype* type = nullptr;
    Status status = make_resized(*inner.type, lb, extent, &type);
    Reference result = inner;
    result.lb = lb;
    result.ub = lb + extent;
    result.explicit_bounds = true;
    return finish(std::move(result), std::move(status), type);
  }

  Reference subarray(const Reference& inner) {
    const int sizes[2] = {number(1, 4), number(1, 4)};
    const int subsizes[2] = {number(1, sizes[0]), number(1, sizes[1])};
    const int starts[2] = {number(0, sizes[0] - subsizes[0]), number(0, sizes[1] - subsizes[1])};
    const bool c_order = number(0, 1) == 1;
    const int fast = c_order ? 1 : 0;
    const int slow = 1 - fast;
    std::vector<Block> blocks;
    for (int i = 0; i < subsizes[slow]; ++i) {
      const std::int64_t index = std::int64_t{starts[slow] + i} * sizes[fast] + starts[fast];
      blocks.push_back({&inner, index * inner.extent(), subsizes[fast]});
    }
    Datatype* type = nullptr;
    Status status =
        make_subarray(2, sizes, subsizes, starts, c_order ? MPI_ORDER_C : MPI_ORDER_FORTRAN, *inner.type, &type);
    Reference result = combine(blocks);
    result.lb = 0;
    result.ub = sizes[0] * sizes[1] * inner.extent();
    result.explicit_bounds = true;
    return finish(std::move(result), std::move(status), type);
  }

  std::mt19937 random_;
};

}  // namespace lapwing::datatype::testing
