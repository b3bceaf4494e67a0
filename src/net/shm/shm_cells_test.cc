// Messages that lie in cells (base/handed_cells.h).
#include <gtest/gtest.h>

#include "net/shm/shm_transport_for_tests.h"
#include "wire/inline_frame.h"

namespace lapwing::net {
namespace {

using ShmCellsTest = ShmTransportTest;

// Rank 0, which begins with the first half of the pair's, sends from one of them, and this rank answers in it.
TEST_F(ShmCellsTest, WhatCameInACellIsAnsweredInIt) {
  open(2, 1, 32768);
  auto writer = writer_of(0);
  send_in_cell(writer, 0, 700);
  EXPECT_TRUE(transport_->poll());
  EXPECT_EQ(sink_.frames, 1);
  EXPECT_EQ(sink_.buffer[699], std::byte{7});
  EXPECT_EQ(transport_->paths().in_cells, 1u);
  auto reader = reader_of(0);
  payload_.assign(700, std::byte{9});
  const auto cell_of_next = [&]() -> int {
    CountedOp op;
    op.carry(payload_);
    post(op);
    EXPECT_TRUE(reader.record_here());
    const std::uint64_t flags = reader.record_flags();
    (void)reader.advance((flags & shm::kInCell) != 0 ? 64 : shm::Layout::record_bytes(700));
    return (flags & shm::kInCell) != 0 ? static_cast<int>(shm::cell_of(flags)) : -1;
  };
  EXPECT_EQ(cell_of_next(), 0);
  EXPECT_EQ(*segment_.cell(0, 1, 0), std::byte{9});
  for (unsigned own = shm::Layout::kCells; own-- > shm::Layout::kCellsEach;) EXPECT_EQ(cell_of_next(), own);
  EXPECT_EQ(cell_of_next(), -1) << "it has none any more: through the ring";
}

TEST_F(ShmCellsTest, AStreamUsesFewCells) {
  open(2, 1, 32768);
  payload_.assign(700, std::byte{9});
  auto reader = reader_of(0);
  for (unsigned sent = 0; sent < 5; ++sent) {
    CountedOp op;
    op.carry(payload_);
    post(op);
    ASSERT_TRUE(reader.record_here());
    EXPECT_EQ((reader.record_flags() & shm::kInCell) != 0, sent < shm::Layout::kCellsAtFirst) << sent;
    (void)reader.advance(sent < shm::Layout::kCellsAtFirst ? 64 : shm::Layout::record_bytes(700));
  }
}

TEST_F(ShmCellsTest, ALongPayloadComesThroughACellInPieces) {
  constexpr std::uint64_t kRing = 32768, kBytes = kRing / shm::Layout::kCellsEach, kHead = shm::Layout::head_of_a_long_record(kRing) - 64;
  open(2, 1, kRing);
  auto writer = writer_of(0);
  send_in_cell(writer, 1, kBytes);
  transport_->poll();
  EXPECT_EQ(sink_.headers, 1);
  for (const std::uint64_t bytes : {500u, 500u}) {
    EXPECT_EQ(sink_.frames, 0);
    EXPECT_TRUE(transport_->arm()) << "nothing more is there";
    transport_->disarm();
    writer.publish_in_cell(bytes);
    EXPECT_FALSE(transport_->arm());
    transport_->disarm();
    transport_->poll();
  }
  writer.publish_in_cell(kBytes - kHead - 1000);
  transport_->poll();
  EXPECT_EQ(sink_.frames, 1);
  EXPECT_EQ(sink_.buffer[kBytes - 1], std::byte{7});
}

TEST_F(ShmCellsTest, APeerThatSaysTheImpossibleOfCellsIsLost) {
  open(4, 1, 32768);
  auto no_payload = writer_of(0), too_long = writer_of(2), too_much = writer_of(3);
  const auto lost_after = [&](shm::RingWriter& writer, std::uint32_t rank, std::uint64_t bytes) {
    send_in_cell(writer, 0, bytes, rank);
    transport_->poll();
    return sink_.lost;
  };
  EXPECT_EQ(lost_after(no_payload, 0, 0), 1);
  EXPECT_EQ(lost_after(too_long, 2, segment_.layout().cell_bytes() + 1), 2);
  EXPECT_EQ(lost_after(too_much, 3, 4000), 2);
  too_much.publish_in_cell(std::uint64_t{1} << 40);
  transport_->poll();
  EXPECT_EQ(sink_.lost, 3);
  EXPECT_EQ(sink_.frames, 0);
}

}  // namespace
}  // namespace lapwing::net
