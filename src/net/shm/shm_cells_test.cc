// Messages that lie in cells (base/handed_cells.h).
#include <gtest/gtest.h>

#include "net/shm/shm_transport_for_tests.h"
#include "wire/inline_frame.h"

namespace lapwing::net {
namespace {

class ShmCellsTest : public ShmTransportTest {
 protected:
  // Of a frame to `rank` of so many bytes: its cell, or kRing.
  static constexpr int kRing = -1;
  int cell_of_next(shm::RingReader& reader, std::uint32_t rank = 0, std::uint64_t bytes = 700) {
    payload_.assign(bytes, std::byte{9});
    CountedOp op;
    op.carry(payload_);
    if (transport_->post({rank}, op)) op.on_taken(op, Status());
    EXPECT_TRUE(reader.record_here());
    wire::FrameHeader header;
    wire::load_around_stamp(reader.next(wire::kHeaderBytes).data, header);
    const bool in_cell = (reader.record_flags() & shm::kInCell) != 0;
    (void)reader.advance(in_cell ? 64 : shm::Layout::record_bytes(bytes));
    return in_cell ? wire::take_place(header) : kRing;
  }
};

// Rank 0 sends from one of its cells, and this rank answers in it.
TEST_F(ShmCellsTest, WhatCameInACellIsAnsweredInIt) {
  open(2, 1, 32768);
  auto writer = writer_of(0);
  send_in_cell(writer, 0, 700);
  EXPECT_TRUE(transport_->poll());
  EXPECT_EQ(sink_.frames, 1);
  EXPECT_EQ(sink_.buffer[699], std::byte{7});
  EXPECT_EQ(transport_->paths().in_cells, 1u);
  auto reader = reader_of(0);
  EXPECT_EQ(cell_of_next(reader), 0);
  EXPECT_EQ(*segment_.cell(0), std::byte{9});
  for (unsigned own = 2 * shm::Layout::kCellsEach; own-- > shm::Layout::kCellsEach;) EXPECT_EQ(cell_of_next(reader), own);
  EXPECT_EQ(cell_of_next(reader), kRing) << "it has none any more";
}

TEST_F(ShmCellsTest, WhatCameFromOneGoesToAnother) {
  open(3, 1, 32768);
  auto writer = writer_of(0);
  send_in_cell(writer, 5, 700);
  EXPECT_TRUE(transport_->poll());
  auto reader = reader_of(2);
  EXPECT_EQ(cell_of_next(reader, 2), 5);
}

// What this rank is handed over beyond what it keeps, and what it has in the end, others take.
TEST_F(ShmCellsTest, WhatARankDoesNotKeepIsSpare) {
  open(4, 1, 32768);
  auto writer = writer_of(0);
  constexpr unsigned kEach = shm::Layout::kCellsEach;
  const auto is_spare = [&](unsigned cell) { return (segment_.spare_cells()[cell / 64].load() >> cell % 64 & 1) != 0; };
  for (unsigned cell = 2 * kEach; cell < 4 * kEach; ++cell) {
    send_in_cell(writer, cell, 700);
    EXPECT_TRUE(transport_->poll());
    EXPECT_EQ(is_spare(cell), cell >= HandedCells::kMost + kEach) << cell;
  }
  auto reader = reader_of(0);
  for (unsigned given = 0; given < HandedCells::kMost; ++given) EXPECT_NE(cell_of_next(reader), kRing);
  EXPECT_EQ(cell_of_next(reader), kRing) << "where nothing is answered, none that is spare is taken";
  EXPECT_TRUE(is_spare(3 * kEach));
  send_from(0, writer);
  EXPECT_TRUE(transport_->poll());
  EXPECT_EQ(cell_of_next(reader), static_cast<int>(3 * kEach));
  EXPECT_FALSE(is_spare(3 * kEach));
  send_in_cell(writer, 0, 700);
  EXPECT_TRUE(transport_->poll());
  transport_->close();
  EXPECT_TRUE(is_spare(0));
}

TEST_F(ShmCellsTest, AStreamUsesFewCells) {
  open(2, 1, 32768);
  auto reader = reader_of(0);
  for (unsigned sent = 0; sent < 5; ++sent) EXPECT_EQ(cell_of_next(reader) != kRing, sent < shm::Layout::kCellsAtFirst) << sent;
}

TEST_F(ShmCellsTest, ALongPayloadComesThroughACellInPieces) {
  constexpr std::uint64_t kCapacity = 32768, kBytes = 2 * kCapacity / shm::Layout::kCellsEach, kHead = shm::Layout::head_of_a_long_record(kCapacity) - 64;
  open(2, 1, kCapacity);
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
  open(5, 1, 32768);
  auto no_payload = writer_of(0), too_long = writer_of(2), too_much = writer_of(3), no_cell = writer_of(4);
  const auto lost_after = [&](shm::RingWriter& writer, std::uint32_t rank, std::uint64_t bytes, unsigned cell = 0) {
    send_in_cell(writer, cell, bytes, rank);
    transport_->poll();
    return sink_.lost;
  };
  EXPECT_EQ(lost_after(no_payload, 0, 0), 1);
  EXPECT_EQ(lost_after(too_long, 2, segment_.layout().cell_bytes() + 1), 2);
  EXPECT_EQ(lost_after(no_cell, 4, 100, segment_.layout().cells()), 3);
  EXPECT_EQ(lost_after(too_much, 3, 4000), 3);
  too_much.publish_in_cell(std::uint64_t{1} << 40);
  transport_->poll();
  EXPECT_EQ(sink_.lost, 4);
  EXPECT_EQ(sink_.frames, 0);
}

}  // namespace
}  // namespace lapwing::net
