#include "datatype/construct.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <vector>

#include "datatype/basic_type.h"
#include "datatype/reference_types_test.h"
#include "datatype/walk.h"

namespace lapwing::datatype {
namespace {

TEST(Predefined, EveryHandleResolves) {
  const BasicTypeTable table = basic_types();
  for (std::size_t i = 0; i < table.count; ++i) {
    const BasicType& row = table.rows[i];
    const Datatype* type = resolve(row.handle);
    ASSERT_NE(type, nullptr) << row.name;
    EXPECT_EQ(type->handle(), row.handle);
    EXPECT_EQ(type->name(), row.name);
    EXPECT_TRUE(type->is_predefined() && type->committed() && type->contiguous());
    // The ABI encodes the size of fixed-size types in the handle.
    const auto value = reinterpret_cast<std::uintptr_t>(row.handle);
    const bool fixed_size = (value >= 0x240 && value < 0x280) || value >= 0x2c0;
    if (fixed_size) {
      EXPECT_EQ(type->size(), std::int64_t{1} << ((value >> 3) & 7)) << row.name;
    }
  }
  EXPECT_EQ(table.count, 61u);
  EXPECT_EQ(resolve(MPI_DATATYPE_NULL), nullptr);
  EXPECT_EQ(resolve(reinterpret_cast<MPI_Datatype>(0x2ff)), nullptr);
  EXPECT_EQ(resolve(reinterpret_cast<MPI_Datatype>(0x100)), nullptr);
}

TEST(Predefined, PairsAreLaidOutAsStructs) {
  struct ShortInt {
    short value;
    int index;
  };
  struct LongDoubleInt {
    long double value;
    int index;
  };
  EXPECT_EQ(resolve(MPI_SHORT_INT)->size(), 6);
  EXPECT_EQ(resolve(MPI_SHORT_INT)->extent(), static_cast<std::int64_t>(sizeof(ShortInt)));
  EXPECT_EQ(resolve(MPI_LONG_DOUBLE_INT)->extent(), static_cast<std::int64_t>(sizeof(LongDoubleInt)));
  EXPECT_EQ(resolve(MPI_DOUBLE_INT)->extent(), 16);
  EXPECT_EQ(resolve(MPI_DOUBLE_INT)->size(), 12);
  EXPECT_EQ(resolve(MPI_DOUBLE_INT)->true_extent(), 12);
  EXPECT_TRUE(resolve(MPI_2INT)->contiguous());
  EXPECT_FALSE(resolve(MPI_DOUBLE_INT)->contiguous());
}

TEST(Construct, StructPadsToItsAlignment) {
  Datatype* type = nullptr;
  const int lengths[] = {1, 1};
  const MPI_Aint displacements[] = {0, 8};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_CHAR};
  ASSERT_TRUE(make_struct(2, lengths, displacements, types, &type).ok());
  EXPECT_EQ(type->size(), 9);
  EXPECT_EQ(type->extent(), 16);
  EXPECT_EQ(type->true_extent(), 9);
  free(type);
}

// As MPICH 5.0 and Open MPI 5.0 have it: the padding of a component counts, also where it is not at its alignment.
TEST(Construct, PaddingOfComponentsCounts) {
  Datatype* padded = nullptr;
  Datatype* type = nullptr;
  const int lengths[] = {1, 1};
  const MPI_Aint of_padded[] = {0, 4};
  const MPI_Datatype int_char[] = {MPI_INT, MPI_CHAR};
  ASSERT_TRUE(make_struct(2, lengths, of_padded, int_char, &padded).ok());
  EXPECT_EQ(padded->extent(), 8);
  const MPI_Aint displacements[] = {0, 2};
  const MPI_Datatype char_padded[] = {MPI_CHAR, handle_of(padded)};
  ASSERT_TRUE(make_struct(2, lengths, displacements, char_padded, &type).ok());
  EXPECT_EQ(type->extent(), 12);
  EXPECT_EQ(type->true_extent(), 7);
  free(type);
  free(padded);
}

// The same of a component without data: it is where it is put.
TEST(Construct, EmptyComponentsHaveAPlace) {
  Datatype* empty = nullptr;
  Datatype* type = nullptr;
  ASSERT_TRUE(make_contiguous(0, *resolve(MPI_DOUBLE), &empty).ok());
  const int lengths[] = {1, 1};
  const MPI_Aint behind[] = {40, 8};
  const MPI_Datatype types[] = {handle_of(empty), MPI_INT};
  ASSERT_TRUE(make_struct(2, lengths, behind, types, &type).ok());
  EXPECT_EQ(type->lb(), 8);
  EXPECT_EQ(type->extent(), 32);
  EXPECT_EQ(type->true_extent(), 4);
  free(type);
  const int no_blocks[] = {0, 1};
  ASSERT_TRUE(make_struct(2, no_blocks, behind, types, &type).ok());
  EXPECT_EQ(type->extent(), 4);
  free(type);
  free(empty);
}

TEST(Construct, ResizedBoundsWin) {
  Datatype* resized = nullptr;
  Datatype* type = nullptr;
  ASSERT_TRUE(make_resized(*resolve(MPI_INT), -4, 24, &resized).ok());
  EXPECT_EQ(resized->lb(), -4);
  EXPECT_EQ(resized->ub(), 20);
  EXPECT_EQ(resized->true_lb(), 0);
  EXPECT_EQ(resized->true_extent(), 4);
  const int lengths[] = {1, 1};
  const MPI_Aint displacements[] = {8, 1000};
  const MPI_Datatype types[] = {handle_of(resized), MPI_INT};
  ASSERT_TRUE(make_struct(2, lengths, displacements, types, &type).ok());
  EXPECT_EQ(type->lb(), 4);
  EXPECT_EQ(type->ub(), 28);
  EXPECT_EQ(type->true_ub(), 1004);
  free(resized);
  free(type);
}

TEST(Construct, TooLargeIsAnError) {
  Datatype* type = nullptr;
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max() / 4;
  EXPECT_EQ(make_contiguous(huge, *resolve(MPI_DOUBLE), &type).error_class(), MPI_ERR_COUNT);
  EXPECT_EQ(make_vector(huge, 2, 1, *resolve(MPI_INT), &type).error_class(), MPI_ERR_COUNT);
  EXPECT_EQ(make_vector(2, 1, huge, *resolve(MPI_DOUBLE), &type).error_class(), MPI_ERR_COUNT);
  EXPECT_EQ(make_resized(*resolve(MPI_INT), huge * 3, huge * 3, &type).error_class(), MPI_ERR_COUNT);
  const MPI_Count sizes[] = {huge, 16};
  const MPI_Count ones[] = {1, 1};
  const MPI_Count zeros[] = {0, 0};
  EXPECT_EQ(make_subarray(2, sizes, ones, zeros, MPI_ORDER_C, *resolve(MPI_INT), &type).error_class(), MPI_ERR_COUNT);
  EXPECT_EQ(type, nullptr);
}

TEST(Construct, LargeCountsAreNative) {
  Datatype* type = nullptr;
  ASSERT_TRUE(make_contiguous(std::int64_t{1} << 40, *resolve(MPI_DOUBLE), &type, true).ok());
  EXPECT_EQ(type->size(), std::int64_t{1} << 43);
  EXPECT_EQ(type->contents().counts, (std::vector<std::int64_t>{std::int64_t{1} << 40}));
  EXPECT_TRUE(type->contents().integers.empty());
  free(type);
}

TEST(Construct, ContentsAreTheArguments) {
  Datatype* type = nullptr;
  const int lengths[] = {3, 1};
  const MPI_Aint displacements[] = {16, 100};
  ASSERT_TRUE(make_hindexed(2, lengths, displacements, *resolve(MPI_INT), &type).ok());
  EXPECT_EQ(type->contents().combiner, MPI_COMBINER_HINDEXED);
  EXPECT_EQ(type->contents().integers, (std::vector<std::int64_t>{2, 3, 1}));
  EXPECT_EQ(type->contents().addresses, (std::vector<std::int64_t>{16, 100}));
  EXPECT_EQ(type->contents().datatypes, (std::vector<Datatype*>{resolve(MPI_INT)}));
  free(type);
  ASSERT_TRUE(make_hindexed(2, lengths, displacements, *resolve(MPI_INT), &type, true).ok());
  EXPECT_EQ(type->contents().counts, (std::vector<std::int64_t>{2, 3, 1, 16, 100}));
  EXPECT_TRUE(type->contents().integers.empty() && type->contents().addresses.empty());
  free(type);
}

TEST(Construct, ComponentsOutliveTheirHandle) {
  Datatype* inner = nullptr;
  Datatype* outer = nullptr;
  ASSERT_TRUE(make_vector(3, 1, 2, *resolve(MPI_INT), &inner).ok());
  ASSERT_TRUE(make_dup(*inner, &outer).ok());
  free(inner);
  EXPECT_EQ(outer->contents().datatypes[0]->kind(), ObjectKind::kDatatype);
  EXPECT_EQ(outer->contents().datatypes[0]->contents().combiner, MPI_COMBINER_VECTOR);
  free(outer);
}

TEST(Construct, RegularIndexedTypesBecomeLoops) {
  Datatype* type = nullptr;
  std::vector<int> displacements;
  for (int i = 0; i < 10000; ++i) displacements.push_back(3 * i);
  ASSERT_TRUE(make_indexed_block(10000, 1, displacements.data(), *resolve(MPI_INT), &type).ok());
  EXPECT_LT(type->layout().footprint(), 500u);
  free(type);
}

TEST(Construct, SubarrayOutsideItsArrayIsAnError) {
  Datatype* type = nullptr;
  const int sizes[] = {10};
  const int subsizes[] = {6};
  const int starts[] = {5};
  EXPECT_EQ(make_subarray(1, sizes, subsizes, starts, MPI_ORDER_C, *resolve(MPI_INT), &type).error_class(),
            MPI_ERR_ARG);
  const int inside[] = {4};
  EXPECT_EQ(make_subarray(1, sizes, subsizes, inside, 99, *resolve(MPI_INT), &type).error_class(), MPI_ERR_ARG);
}

// ---- darray against a loop over all global indices that asks of each one which rank owns it.

struct Dimension {
  int size;
  int kind;
  int argument;
  int grid;
};

int owner_of(const Dimension& dimension, int index) {
  switch (dimension.kind) {
    case MPI_DISTRIBUTE_BLOCK: {
      const int block = dimension.argument == MPI_DISTRIBUTE_DFLT_DARG
                            ? (dimension.size + dimension.grid - 1) / dimension.grid
                            : dimension.argument;
      return index / block;
    }
    case MPI_DISTRIBUTE_CYCLIC: {
      const int block = dimension.argument == MPI_DISTRIBUTE_DFLT_DARG ? 1 : dimension.argument;
      return index / block % dimension.grid;
    }
    default:
      return 0;
  }
}

std::vector<std::int64_t> owned_offsets(const std::vector<Dimension>& dimensions, int rank, bool c_order) {
  const int count = static_cast<int>(dimensions.size());
  std::vector<int> coordinates(count);
  for (int i = count - 1; i >= 0; --i) {
    coordinates[i] = rank % dimensions[i].grid;
    rank /= dimensions[i].grid;
  }
  std::int64_t total = 1;
  for (const Dimension& dimension : dimensions) total *= dimension.size;
  std::vector<std::int64_t> offsets;
  for (std::int64_t offset = 0; offset < total; ++offset) {
    std::int64_t rest = offset;
    bool owned = true;
    for (int step = 0; step < count; ++step) {
      const int i = c_order ? count - 1 - step : step;
      owned = owned && owner_of(dimensions[i], static_cast<int>(rest % dimensions[i].size)) == coordinates[i];
      rest /= dimensions[i].size;
    }
    if (owned) offsets.push_back(offset);
  }
  return offsets;
}

std::vector<std::int64_t> walked_offsets(const Datatype& type, int element_size) {
  std::vector<std::int64_t> offsets;
  Walk walk(type, nullptr, 1);
  while (walk.remaining() > 0) {
    const auto start = reinterpret_cast<std::intptr_t>(walk.run());
    for (std::uint64_t b = 0; b < walk.run_bytes(); b += element_size) offsets.push_back((start + b) / element_size);
    walk.advance(walk.run_bytes());
  }
  return offsets;
}

void check_darray(const std::vector<Dimension>& dimensions) {
  std::vector<int> sizes, kinds, arguments, grid;
  int processes = 1;
  std::int64_t total = 1;
  for (const Dimension& dimension : dimensions) {
    sizes.push_back(dimension.size);
    kinds.push_back(dimension.kind);
    arguments.push_back(dimension.argument);
    grid.push_back(dimension.grid);
    processes *= dimension.grid;
    total *= dimension.size;
  }
  for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN}) {
    for (int rank = 0; rank < processes; ++rank) {
      Datatype* type = nullptr;
      const Distribution distribution{processes,    rank,         static_cast<int>(sizes.size()),
                                      sizes.data(), kinds.data(), arguments.data(),
                                      grid.data(),  order};
      const Status status = make_darray(distribution, *resolve(MPI_DOUBLE), &type);
      ASSERT_TRUE(status.ok()) << status.text();
      const std::vector<std::int64_t> expected = owned_offsets(dimensions, rank, order == MPI_ORDER_C);
      EXPECT_EQ(walked_offsets(*type, 8), expected);
      EXPECT_EQ(type->size(), static_cast<std::int64_t>(expected.size()) * 8);
      EXPECT_EQ(type->signature()->bytes(), expected.size() * 8);
      EXPECT_EQ(type->lb(), 0);
      EXPECT_EQ(type->extent(), total * 8);
      free(type);
    }
  }
}

constexpr int kDefault = MPI_DISTRIBUTE_DFLT_DARG;

TEST(Darray, OneDimension) {
  check_darray({{10, MPI_DISTRIBUTE_BLOCK, kDefault, 3}});
  check_darray({{10, MPI_DISTRIBUTE_BLOCK, 5, 4}});
  check_darray({{10, MPI_DISTRIBUTE_CYCLIC, kDefault, 3}});
  check_darray({{23, MPI_DISTRIBUTE_CYCLIC, 4, 3}});
  check_darray({{3, MPI_DISTRIBUTE_CYCLIC, 2, 4}});
  check_darray({{7, MPI_DISTRIBUTE_NONE, kDefault, 1}});
}

TEST(Darray, SeveralDimensions) {
  check_darray({{10, MPI_DISTRIBUTE_BLOCK, kDefault, 2}, {9, MPI_DISTRIBUTE_CYCLIC, 2, 3}});
  check_darray({{6, MPI_DISTRIBUTE_CYCLIC, kDefault, 2},
                {5, MPI_DISTRIBUTE_NONE, kDefault, 1},
                {7, MPI_DISTRIBUTE_BLOCK, 4, 2}});
  check_darray({{5, MPI_DISTRIBUTE_CYCLIC, 3, 2}, {4, MPI_DISTRIBUTE_CYCLIC, 1, 2}, {3, MPI_DISTRIBUTE_BLOCK, 1, 3}});
}

TEST(Darray, BadArgumentsAreErrors) {
  Datatype* type = nullptr;
  const int sizes[] = {10};
  const int arguments[] = {2};
  const int grid[] = {3};
  const int block[] = {MPI_DISTRIBUTE_BLOCK};
  const int none[] = {MPI_DISTRIBUTE_NONE};
  EXPECT_EQ(make_darray({3, 0, 1, sizes, block, arguments, grid, MPI_ORDER_C}, *resolve(MPI_INT), &type).error_class(),
            MPI_ERR_ARG);
  EXPECT_EQ(make_darray({3, 0, 1, sizes, none, arguments, grid, MPI_ORDER_C}, *resolve(MPI_INT), &type).error_class(),
            MPI_ERR_ARG);
  EXPECT_EQ(make_darray({4, 0, 1, sizes, block, arguments, grid, MPI_ORDER_C}, *resolve(MPI_INT), &type).error_class(),
            MPI_ERR_ARG);
}

}  // namespace
}  // namespace lapwing::datatype
