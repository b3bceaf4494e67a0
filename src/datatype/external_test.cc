#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include "datatype/basic_type.h"
#include "datatype/construct.h"
#include "datatype/pack.h"
#include "datatype/reference_types_test.h"

namespace lapwing::datatype {
namespace {

using testing::TypeGenerator;

template <typename T>
std::vector<int> external(MPI_Datatype type, const T& value, std::uint64_t count = 1) {
  std::vector<unsigned char> bytes(external_size(*resolve(type), count));
  EXPECT_TRUE(pack_external(&value, count, *resolve(type), bytes.data()).ok());
  return {bytes.begin(), bytes.end()};
}

using Bytes = std::vector<int>;

TEST(External32, KnownBytes) {
  EXPECT_EQ(external(MPI_INT, 0x01020304), (Bytes{1, 2, 3, 4}));
  EXPECT_EQ(external(MPI_SHORT, short{-2}), (Bytes{0xff, 0xfe}));
  EXPECT_EQ(external(MPI_CHAR, 'A'), (Bytes{65}));
  EXPECT_EQ(external(MPI_FLOAT, 1.0f), (Bytes{0x3f, 0x80, 0, 0}));
  EXPECT_EQ(external(MPI_DOUBLE, -2.0), (Bytes{0xc0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(external(MPI_LONG_LONG, 0x0102030405060708LL), (Bytes{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(external(MPI_AINT, MPI_Aint{5}), (Bytes{0, 0, 0, 0, 0, 0, 0, 5}));
  EXPECT_EQ(external(MPI_LONG, -3L), (Bytes{0xff, 0xff, 0xff, 0xfd}));
  EXPECT_EQ(external(MPI_WCHAR, L'z'), (Bytes{0, 'z'}));
  EXPECT_EQ(external(MPI_C_BOOL, true), (Bytes{1}));
}

TEST(External32, ComplexPartsKeepTheirOrder) {
  const float value[2] = {1.0f, -2.0f};
  EXPECT_EQ(external(MPI_C_FLOAT_COMPLEX, value), (Bytes{0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0}));
}

TEST(External32, LongDoubleIsBinary128) {
  EXPECT_EQ(external(MPI_LONG_DOUBLE, 1.5L), (Bytes{0x3f, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(external(MPI_LONG_DOUBLE, -0.0L), (Bytes{0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(External32, LongComesBackWithItsSign) {
  const long values[] = {-7, 7, 2'000'000'000, -2'000'000'000};
  unsigned char bytes[16];
  long result[4] = {};
  ASSERT_TRUE(pack_external(values, 4, *resolve(MPI_LONG), bytes).ok());
  unpack_external(bytes, result, 4, *resolve(MPI_LONG));
  EXPECT_EQ(std::memcmp(values, result, sizeof values), 0);
}

TEST(External32, WideCharactersComeBackWithoutASign) {
  const wchar_t text[] = {L'A', 0x7fff, 0x8000, 0x9999, 0xffff};
  unsigned char bytes[10];
  wchar_t result[5] = {};
  ASSERT_TRUE(pack_external(text, 5, *resolve(MPI_WCHAR), bytes).ok());
  unpack_external(bytes, result, 5, *resolve(MPI_WCHAR));
  EXPECT_EQ(std::memcmp(text, result, sizeof text), 0);
}

template <typename T>
int error_of_packing(MPI_Datatype type, const T& value) {
  unsigned char bytes[sizeof(T)];
  return pack_external(&value, 1, *resolve(type), bytes).error_class();
}

TEST(External32, WhatDoesNotFitIsToldAndNotLostUnnoticed) {
  EXPECT_EQ(error_of_packing(MPI_WCHAR, wchar_t{0x1f600}), MPI_ERR_CONVERSION);
  if (sizeof(long) == 4) return;
  EXPECT_EQ(error_of_packing(MPI_LONG, 0x7fffffffL), MPI_SUCCESS);
  EXPECT_EQ(error_of_packing(MPI_LONG, 0x80000000L), MPI_ERR_CONVERSION);
  EXPECT_EQ(error_of_packing(MPI_LONG, -0x80000000L), MPI_SUCCESS);
  EXPECT_EQ(error_of_packing(MPI_LONG, -0x80000001L), MPI_ERR_CONVERSION);
  EXPECT_EQ(error_of_packing(MPI_UNSIGNED_LONG, 0xffffffffUL), MPI_SUCCESS);
  EXPECT_EQ(error_of_packing(MPI_UNSIGNED_LONG, 0x100000000UL), MPI_ERR_CONVERSION);
}

TEST(External32, StructsAreConvertedInTypeMapOrder) {
  struct Record {
    char tag;
    double values[2];
    short codes[3];
  };
  Datatype* type = nullptr;
  const int lengths[] = {1, 2, 3};
  const MPI_Aint displacements[] = {offsetof(Record, tag), offsetof(Record, values), offsetof(Record, codes)};
  const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
  ASSERT_TRUE(make_struct(3, lengths, displacements, types, &type).ok());
  ASSERT_EQ(type->extent(), static_cast<std::int64_t>(sizeof(Record)));
  ASSERT_EQ(external_size(*type, 2), 2 * (1 + 16 + 6u));
  const Record records[2] = {{'a', {1.0, 2.0}, {1, 2, 3}}, {'b', {4.0, 8.0}, {4, 5, 6}}};
  std::vector<unsigned char> bytes(46);
  ASSERT_TRUE(pack_external(records, 2, *type, bytes.data()).ok());
  EXPECT_EQ(bytes[0], 'a');
  EXPECT_EQ(bytes[1], 0x3f);
  EXPECT_EQ(bytes[2], 0xf0);
  EXPECT_EQ(bytes[18], 1);
  EXPECT_EQ(bytes[23], 'b');
  EXPECT_EQ(bytes[45], 6);
  Record result[2] = {};
  unpack_external(bytes.data(), result, 2, *type);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(result[i].tag, records[i].tag);
    EXPECT_EQ(result[i].values[1], records[i].values[1]);
    EXPECT_EQ(result[i].codes[2], records[i].codes[2]);
  }
  free(type);
}

TEST(External32, RoundTripsOfRandomTypes) {
  TypeGenerator generator(77);
  for (int round = 0; round < 100; ++round) {
    const auto reference = generator.any(3);
    if (reference.map.size() > 1000) continue;
    // Bytes of small magnitude everywhere, so that every long double is a normal number: all exponent bits alike.
    std::vector<std::byte> stream(reference.type->size() * 2);
    std::size_t at = 0;
    std::uint64_t expected_size = 0;
    for (int copy = 0; copy < 2; ++copy) {
      for (const auto& entry : reference.map) {
        if (entry.basic == MPI_LONG_DOUBLE) {
          const long double value = generator.number(-1000, 1000) / 8.0L;
          std::memcpy(&stream[at], &value, 10);
        } else {
          for (int b = 0; b < resolve(entry.basic)->size(); ++b) {
            stream[at + b] = static_cast<std::byte>(generator.number(0, 100));
          }
        }
        at += resolve(entry.basic)->size();
        expected_size += resolve(entry.basic)->size();
      }
    }
    // Through memory of that type: the stream, spread over fresh memory, packed, unpacked, gathered again. A type that
    // writes an address twice keeps the later value, so the comparison is between the memories.
    const std::int64_t low = std::min(reference.type->true_lb(), reference.type->true_lb() + reference.extent());
    const std::int64_t high = std::max(reference.type->true_ub(), reference.type->true_ub() + reference.extent());
    std::vector<std::byte> memory(high - low + 1);
    std::vector<std::byte> result(high - low + 1);
    unpack(stream.data(), memory.data() - low, 2, *reference.type);
    ASSERT_EQ(external_size(*reference.type, 2), expected_size);
    std::vector<std::byte> bytes(expected_size);
    const bool overlaps = [&] {
      std::vector<std::byte> again(stream.size());
      pack(memory.data() - low, 2, *reference.type, again.data());
      return again != stream;
    }();
    if (overlaps) continue;
    ASSERT_TRUE(pack_external(memory.data() - low, 2, *reference.type, bytes.data()).ok());
    unpack_external(bytes.data(), result.data() - low, 2, *reference.type);
    ASSERT_EQ(memory, result);
  }
}

// More than is converted at a time, in an array and with gaps.
TEST(External32, LongArraysComeBack) {
  constexpr int kLength = 5000;
  const BasicTypeTable table = basic_types();
  for (std::size_t row = 0; row < table.count; ++row) {
    Datatype& basic = *resolve(table.rows[row].handle);
    Datatype* vector = nullptr;
    ASSERT_TRUE(make_vector(kLength / 2, 1, 2, basic, &vector).ok());
    std::vector<std::byte> values(kLength * basic.size());
    for (int i = 0; i < kLength; ++i) values[i * basic.size()] = static_cast<std::byte>(i % 100);
    for (const auto& [count, type] : {std::pair{kLength, &basic}, std::pair{1, vector}}) {
      std::vector<std::byte> bytes(external_size(*type, count)), packed(type->size() * count), result(packed.size());
      pack(values.data(), count, *type, packed.data());
      std::vector<std::byte> memory(values.size());
      ASSERT_TRUE(pack_external(values.data(), count, *type, bytes.data()).ok());
      unpack_external(bytes.data(), memory.data(), count, *type);
      pack(memory.data(), count, *type, result.data());
      EXPECT_EQ(packed, result) << basic.name();
    }
    free(vector);
  }
}

TEST(External32, EveryBasicTypeComesBack) {
  const BasicTypeTable table = basic_types();
  for (std::size_t row = 0; row < table.count; ++row) {
    const Datatype& type = *resolve(table.rows[row].handle);
    std::byte value[32] = {};
    std::byte external_bytes[32] = {};
    std::byte result[32] = {};
    value[0] = std::byte{1};
    if (type.size() >= 32) value[16] = std::byte{1};
    EXPECT_TRUE(pack_external(value, 1, type, external_bytes).ok());
    unpack_external(external_bytes, result, 1, type);
    EXPECT_EQ(std::memcmp(value, result, type.size()), 0) << type.name();
  }
}

}  // namespace
}  // namespace lapwing::datatype
