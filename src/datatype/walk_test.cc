#include "datatype/walk.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "datatype/elements.h"
#include "datatype/pack.h"
#include "datatype/reference_types_test.h"

namespace lapwing::datatype {
namespace {

using testing::adopt;
using testing::combine;
using testing::Reference;
using testing::TypeGenerator;

// Memory that holds `count` elements of a type, with a margin, and the address that is the user's buffer.
struct Memory {
  Memory(const Reference& reference, int count) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    for (int i = 0; i < count; ++i) {
      for (const auto& entry : reference.map) {
        const std::int64_t at = i * reference.extent() + entry.displacement;
        low = std::min(low, at);
        high = std::max(high, at + resolve(entry.basic)->size());
      }
    }
    bytes.resize(high - low + 1);
    origin = -low;
  }
  std::byte* buffer() { return bytes.data() + origin; }

  std::vector<std::byte> bytes;
  std::int64_t origin;
};

// The addresses of all data bytes in type-map order, relative to the buffer.
std::vector<std::int64_t> byte_order(const Reference& reference, int count) {
  std::vector<std::int64_t> order;
  for (int i = 0; i < count; ++i) {
    for (const auto& entry : reference.map) {
      for (std::int64_t b = 0; b < resolve(entry.basic)->size(); ++b) {
        order.push_back(i * reference.extent() + entry.displacement + b);
      }
    }
  }
  return order;
}

void fill(std::vector<std::byte>& bytes, unsigned seed) {
  std::mt19937 random(seed);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
}

std::vector<std::byte> packed_by_hand(Memory& memory, const std::vector<std::int64_t>& order) {
  std::vector<std::byte> packed;
  for (const std::int64_t at : order) packed.push_back(memory.buffer()[at]);
  return packed;
}

std::vector<std::int64_t> peeked_order(Walk& walk, const std::byte* buffer, std::size_t capacity) {
  std::vector<std::int64_t> order;
  std::vector<iovec> segments(capacity);
  while (walk.remaining() > 0) {
    const std::size_t filled = walk.peek(segments.data(), capacity);
    EXPECT_GT(filled, 0u);
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < filled; ++i) {
      const std::int64_t at = static_cast<std::byte*>(segments[i].iov_base) - buffer;
      for (std::size_t b = 0; b < segments[i].iov_len; ++b) order.push_back(at + static_cast<std::int64_t>(b));
      bytes += segments[i].iov_len;
    }
    walk.advance(bytes);
  }
  EXPECT_EQ(walk.peek(segments.data(), capacity), 0u);
  return order;
}

class RandomTypes : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomTypes, AgreeWithTheirTypeMap) {
  TypeGenerator generator(GetParam());
  for (int round = 0; round < 60; ++round) {
    const Reference reference = generator.any(generator.number(0, 5));
    if (reference.map.size() > 3000) continue;
    const Datatype& type = *reference.type;
    ASSERT_EQ(type.size(), reference.bytes());
    if (!reference.map.empty() || reference.explicit_bounds) {
      ASSERT_EQ(type.lb(), reference.lb);
      ASSERT_EQ(type.extent(), reference.extent());
    }
    ASSERT_EQ(type.signature()->elements(), reference.map.size());

    const int count = generator.number(0, 4);
    const std::vector<std::int64_t> order = byte_order(reference, count);
    Memory memory(reference, count);
    for (const std::size_t capacity : {1u, 3u, 64u}) {
      Walk walk(type, memory.buffer(), count);
      ASSERT_EQ(walk.total(), order.size());
      ASSERT_EQ(peeked_order(walk, memory.buffer(), capacity), order);
    }
  }
}

TEST_P(RandomTypes, GatherAndScatterInPieces) {
  TypeGenerator generator(GetParam() + 1000);
  for (int round = 0; round < 60; ++round) {
    const Reference reference = generator.any(generator.number(0, 4));
    if (reference.map.size() > 3000) continue;
    const int count = generator.number(1, 4);
    const std::vector<std::int64_t> order = byte_order(reference, count);
    Memory memory(reference, count);
    fill(memory.bytes, GetParam() + round);
    const std::vector<std::byte> expected = packed_by_hand(memory, order);

    std::vector<std::byte> packed(order.size());
    Walk walk(*reference.type, memory.buffer(), count);
    while (walk.remaining() > 0) {
      const std::size_t part = std::min<std::uint64_t>(walk.remaining(), generator.number(1, 100));
      walk.gather(packed.data() + walk.position(), part);
    }
    ASSERT_EQ(packed, expected);

    // A type may write one address twice: the later byte stays.
    Memory target(reference, count);
    Memory by_hand(reference, count);
    for (std::size_t i = 0; i < order.size(); ++i) by_hand.buffer()[order[i]] = expected[i];
    Walk writer(*reference.type, target.buffer(), count);
    while (writer.remaining() > 0) {
      const std::size_t part = std::min<std::uint64_t>(writer.remaining(), generator.number(1, 100));
      writer.scatter(expected.data() + writer.position(), part);
    }
    ASSERT_EQ(target.bytes, by_hand.bytes);
  }
}

TEST_P(RandomTypes, SeekAnywhere) {
  TypeGenerator generator(GetParam() + 2000);
  for (int round = 0; round < 40; ++round) {
    const Reference reference = generator.any(4);
    if (reference.map.size() > 3000) continue;
    const std::vector<std::int64_t> order = byte_order(reference, 3);
    Memory memory(reference, 3);
    Walk walk(*reference.type, memory.buffer(), 3);
    for (int jump = 0; jump < 20; ++jump) {
      const std::uint64_t position = generator.number(0, static_cast<int>(order.size()));
      walk.seek(position);
      ASSERT_EQ(walk.remaining(), order.size() - position);
      if (position == order.size()) continue;
      iovec segment;
      ASSERT_EQ(walk.peek(&segment, 1), 1u);
      ASSERT_EQ(static_cast<std::byte*>(segment.iov_base) - memory.buffer(), order[position]);
    }
  }
}

TEST_P(RandomTypes, CopyBetweenTypedBuffers) {
  TypeGenerator generator(GetParam() + 3000);
  for (int round = 0; round < 40; ++round) {
    const Reference from = generator.any(3);
    const Reference to = generator.any(3);
    if (from.map.size() > 2000 || to.map.size() > 2000) continue;
    Memory source(from, 2);
    Memory target(to, 3);
    Memory by_hand(to, 3);
    fill(source.bytes, round);
    const std::vector<std::int64_t> from_order = byte_order(from, 2);
    const std::vector<std::int64_t> to_order = byte_order(to, 3);
    const std::size_t bytes = std::min(from_order.size(), to_order.size());
    for (std::size_t i = 0; i < bytes; ++i) by_hand.buffer()[to_order[i]] = source.buffer()[from_order[i]];
    ASSERT_EQ(copy(source.buffer(), 2, *from.type, target.buffer(), 3, *to.type), bytes);
    ASSERT_EQ(target.bytes, by_hand.bytes);
  }
}

TEST_P(RandomTypes, CountTheirElements) {
  TypeGenerator generator(GetParam() + 4000);
  for (int round = 0; round < 40; ++round) {
    const Reference reference = generator.any(4);
    if (reference.map.empty() || reference.map.size() > 1000) continue;
    std::uint64_t bytes = 0;
    std::int64_t elements = 0;
    EXPECT_EQ(elements_of(*reference.type, 0), 0);
    for (int copy = 0; copy < 2; ++copy) {
      for (const auto& entry : reference.map) {
        const std::int64_t size = resolve(entry.basic)->size();
        if (size > 1) {
          ASSERT_EQ(elements_of(*reference.type, bytes + 1), MPI_UNDEFINED);
        }
        bytes += size;
        ++elements;
        ASSERT_EQ(elements_of(*reference.type, bytes), elements);
        ASSERT_EQ(bytes_of_elements(*reference.type, elements), bytes);
      }
    }
    EXPECT_EQ(count_of(*reference.type, bytes), 2);
    if (reference.bytes() > 1) {
      EXPECT_EQ(count_of(*reference.type, bytes - 1), MPI_UNDEFINED);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTypes, ::testing::Range(1u, 21u));

TEST(Walk, MergesWhatTouches) {
  Datatype* type = nullptr;
  const int lengths[] = {2, 3, 1};
  const int displacements[] = {0, 2, 5};
  ASSERT_TRUE(make_indexed(3, lengths, displacements, *resolve(MPI_INT), &type).ok());
  EXPECT_TRUE(type->contiguous());
  int data[60];
  Walk walk(*type, data, 10);
  iovec segments[2];
  ASSERT_EQ(walk.peek(segments, 2), 1u);
  EXPECT_EQ(segments[0].iov_len, sizeof data);
  free(type);
}

// Where few would vanish, short runs of one length are kept as they are; what is sent from where they lie is merged all the same.
TEST(Walk, LeavesShortRunsOfOneLength) {
  Datatype* type = nullptr;
  const int displacements[] = {0, 1, 4, 9, 10, 20};
  ASSERT_TRUE(make_indexed_block(6, 1, displacements, *resolve(MPI_DOUBLE), &type).ok());
  EXPECT_EQ(type->layout().runs(), 6u);
  double data[21];
  Walk walk(*type, data, 1);
  iovec segments[6];
  EXPECT_EQ(walk.peek(segments, 6), 4u);
  free(type);
}

TEST(Walk, ManyBlocksNeedNoMemory) {
  Datatype* column = nullptr;
  Datatype* matrix = nullptr;
  constexpr std::int64_t kRows = 300'000'000;
  ASSERT_TRUE(make_vector(kRows, 1, 7, *resolve(MPI_DOUBLE), &column).ok());
  ASSERT_TRUE(make_hvector(1000, 1, 8, *column, &matrix).ok());
  EXPECT_EQ(matrix->size(), kRows * 1000 * 8);
  EXPECT_LT(matrix->layout().footprint(), 1000u);
  // Addresses only; nothing is read.
  Walk walk(*matrix, reinterpret_cast<void*>(std::uintptr_t{1} << 40), 3);
  walk.seek(kRows * 8 * 1000 + kRows * 8 * 5 + 16 + 3);
  iovec segment;
  ASSERT_EQ(walk.peek(&segment, 1), 1u);
  const std::uint64_t expected = (std::uint64_t{1} << 40) + matrix->extent() + 5 * 8 + 2 * 56 + 3;
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(segment.iov_base), expected);
  EXPECT_EQ(segment.iov_len, 5u);
  free(column);
  free(matrix);
}

TEST(Walk, SubarrayOfManyBlocksNeedsNoMemory) {
  Datatype* type = nullptr;
  const MPI_Count sizes[] = {100'000, 100'000, 64};
  const MPI_Count subsizes[] = {90'000, 90'000, 16};
  const MPI_Count starts[] = {5, 6, 7};
  ASSERT_TRUE(make_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, *resolve(MPI_FLOAT), &type).ok());
  EXPECT_EQ(type->size(), 90'000LL * 90'000 * 16 * 4);
  EXPECT_EQ(type->extent(), 100'000LL * 100'000 * 64 * 4);
  EXPECT_LT(type->layout().footprint(), 1000u);
  free(type);
}

TEST(Walk, SharesTheBlocksOfAnIndexedType) {
  Datatype* inner = nullptr;
  Datatype* outer = nullptr;
  std::vector<int> lengths(1000, 1);
  std::vector<int> displacements;
  for (int i = 0; i < 1000; ++i) displacements.push_back(i * (i + 3));
  ASSERT_TRUE(make_indexed(1000, lengths.data(), displacements.data(), *resolve(MPI_INT), &inner).ok());
  ASSERT_TRUE(make_indexed(1000, lengths.data(), displacements.data(), *inner, &outer).ok());
  EXPECT_EQ(outer->size(), 4'000'000);
  EXPECT_LT(outer->layout().footprint(), 200'000u);
  free(inner);
  std::vector<int> expected;
  Walk walk(*outer, nullptr, 1);
  walk.seek(4000 + 8);
  const auto at = reinterpret_cast<std::intptr_t>(walk.run());
  EXPECT_EQ(at, outer->contents().datatypes[0]->extent() * 4 + 10 * 4);
  free(outer);
}

// Of one length or of several, in the loop over the elements and in one of their own.
TEST(Walk, ListsOfRunsAreCutAnywhere) {
  const Reference number = testing::basic_reference(MPI_SHORT);
  const int displacements[] = {0, 3, 9, 15};
  for (const auto& lengths : {std::array{1, 1, 1, 1}, std::array{1, 3, 2, 1}}) {
    Datatype* list = nullptr;
    ASSERT_TRUE(make_indexed(4, lengths.data(), displacements, *resolve(MPI_SHORT), &list).ok());
    std::vector<testing::Block> blocks;
    for (int i = 0; i < 4; ++i) blocks.push_back({&number, displacements[i] * std::int64_t{sizeof(short)}, lengths[i]});
    Reference once = combine(blocks);
    once.type = adopt(list);
    Datatype* loop = nullptr;
    const std::int64_t stride = once.extent() + 6;
    ASSERT_TRUE(make_hvector(3, 1, stride, *once.type, &loop).ok());
    Reference thrice = combine({{&once, 0, 1}, {&once, stride, 1}, {&once, 2 * stride, 1}});
    thrice.type = adopt(loop);
    for (const Reference* reference : {&once, &thrice}) {
      Memory memory(*reference, 3);
      fill(memory.bytes, 1);
      const std::vector<std::byte> expected = packed_by_hand(memory, byte_order(*reference, 3));
      for (std::size_t cut = 0; cut <= expected.size(); ++cut) {
        std::vector<std::byte> packed(expected.size());
        Walk out(*reference->type, memory.buffer(), 3);
        out.gather(packed.data(), cut);
        out.gather(packed.data() + cut, expected.size() - cut);
        ASSERT_EQ(packed, expected) << cut;
        Memory other(*reference, 3);
        Walk in(*reference->type, other.buffer(), 3);
        in.scatter(packed.data(), cut);
        in.scatter(packed.data() + cut, expected.size() - cut);
        ASSERT_EQ(packed_by_hand(other, byte_order(*reference, 3)), expected) << cut;
      }
    }
  }
}

// Some lengths have loops of their own: no byte beside a run is read or written.
TEST(Walk, RunsOfEveryShortLength) {
  constexpr int kRuns = 9, kLongest = 50;
  for (int length = 1; length <= kLongest; ++length) {
    const int step = length + 1;
    std::array<int, kRuns> places{};
    for (int i = 0; i < kRuns; ++i) places[i] = i * step + (i == kRuns - 1);
    Datatype *strided = nullptr, *listed = nullptr;
    ASSERT_TRUE(make_vector(kRuns, length, step, *resolve(MPI_BYTE), &strided).ok());
    ASSERT_TRUE(make_indexed_block(kRuns, length, places.data(), *resolve(MPI_BYTE), &listed).ok());
    for (Datatype* type : {strided, listed}) {
      std::vector<std::byte> memory(kRuns * step + 1), packed(kRuns * length), expected(memory.size()), result(memory.size());
      fill(memory, length);
      pack(memory.data(), 1, *type, packed.data());
      unpack(packed.data(), result.data(), 1, *type);
      for (int i = 0; i < kRuns; ++i) {
        const int place = type == listed ? places[i] : i * step;
        ASSERT_EQ(std::memcmp(&packed[i * length], &memory[place], length), 0) << length;
        std::memcpy(&expected[place], &memory[place], length);
      }
      EXPECT_EQ(result, expected) << length;
      free(type);
    }
  }
}

TEST(Walk, DeepNestsWork) {
  Reference reference = testing::basic_reference(MPI_CHAR);
  for (int level = 0; level < 12; ++level) {
    Datatype* type = nullptr;
    const std::int64_t stride = reference.extent() + 1 + level % 3;
    ASSERT_TRUE(make_hvector(2, 1, stride, *reference.type, &type).ok());
    Reference next = combine({{&reference, 0, 1}, {&reference, stride, 1}});
    next.type = adopt(type);
    reference = std::move(next);
  }
  Memory memory(reference, 2);
  Walk walk(*reference.type, memory.buffer(), 2);
  EXPECT_GT(reference.type->layout().depth(), 4);
  EXPECT_EQ(peeked_order(walk, memory.buffer(), 7), byte_order(reference, 2));
}

TEST(Walk, StartsWithoutTouchingMemoryAtAbsoluteAddresses) {
  int value = 42;
  Datatype* type = nullptr;
  const int length = 1;
  const MPI_Aint address = reinterpret_cast<MPI_Aint>(&value);
  const MPI_Datatype old_type = MPI_INT;
  ASSERT_TRUE(make_struct(1, &length, &address, &old_type, &type).ok());
  int result = 0;
  pack(MPI_BOTTOM, 1, *type, &result);
  EXPECT_EQ(result, 42);
  free(type);
}

TEST(Pack, PartsOfTheStream) {
  Datatype* type = nullptr;
  ASSERT_TRUE(make_vector(4, 1, 2, *resolve(MPI_SHORT), &type).ok());
  const std::int16_t data[] = {1, 0, 2, 0, 3, 0, 4};
  std::int16_t part[2] = {};
  EXPECT_EQ(pack(data, 1, *type, 2, part, 4), 4u);
  EXPECT_EQ(part[0], 2);
  EXPECT_EQ(part[1], 3);
  EXPECT_EQ(pack(data, 1, *type, 6, part, 4), 2u);
  EXPECT_EQ(pack(data, 1, *type, 8, part, 4), 0u);
  std::int16_t target[7] = {};
  EXPECT_EQ(unpack(part, 4, target, 1, *type, 4), 4u);
  EXPECT_EQ(target[4], 4);
  free(type);
}

}  // namespace
}  // namespace lapwing::datatype
