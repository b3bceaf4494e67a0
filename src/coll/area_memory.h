// What lies where in the memory of one shared area (shared_area.h). All of it is plain memory, zero at first.
//
//   0               AreaHeader           first and last round of a use, members that have left
//   128             watching, gone, reaches    one byte per rank each
//   cache lines     done                 one per rank: the last round of which it has what it wants, plus one, and the last call in which the kernel
//                                        refused it a copy
//   cache lines     slots                of 64 rounds: one per rank, 128 bytes
//   page boundary   rings                one per rank, 2 MiB, for longer posts (post_ring.h)
//   behind them     cells                four of 264 KiB, for those between two ranks (base/handed_cells.h)
//
// A root that need not wait for the others runs ahead by as many rounds as there are slots, and as many bytes as its ring has room for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/handed_cells.h"
#include "coll/post_ring.h"

namespace lapwing::coll {

// Where a long post lies: in the ring of its rank, or in a cell, whose number is counted from the ring's end on.
struct RingPlace {
  std::uint64_t begin, bytes;

  static constexpr unsigned kCellsEach = 2, kCells = 2 * kCellsEach;  // that a rank begins with, and all

  static constexpr RingPlace in_cell(unsigned cell, std::uint64_t bytes) noexcept { return {PostRing::kBytes + cell, bytes}; }
  bool is_in_cell() const noexcept { return begin >= PostRing::kBytes && begin < PostRing::kBytes + kCells; }
  unsigned cell() const noexcept { return static_cast<unsigned>(begin - PostRing::kBytes); }
};

struct AreaSlot {
  static constexpr std::uint64_t kBytes = 112;
  // Beside the length: what is not posted comes as a message; or it lies in its rank's memory, and the post says where; or its reader is to claim
  // the lines in which it lies.
  static constexpr std::uint64_t kByMessage = 1u << 7, kInPlace = 1u << 8, kClaimed = 1u << 9, kFlags = kByMessage | kInPlace | kClaimed;
  static constexpr unsigned kRoundShift = 10;
  static constexpr std::uint64_t kLength = 127;  // of a short post; all bits are set where it is a longer one
  static_assert(kBytes < kLength);
  alignas(128) std::atomic<std::uint64_t> stamp;
  std::uint64_t what;
  std::byte data[kBytes];  // of a short post; or the RingPlace of a longer one

  void set_place(const RingPlace& place) noexcept { std::memcpy(data, &place, sizeof place); }
  RingPlace place() const noexcept {
    RingPlace place;
    std::memcpy(&place, data, sizeof place);
    return place;
  }
  static constexpr std::uint64_t stamp_of(std::uint64_t round, std::uint64_t bytes, std::uint64_t flags) noexcept {
    return (round + 1) << kRoundShift | flags | (bytes <= kBytes ? bytes : kLength);
  }
  static constexpr bool is_past(std::uint64_t stamp, std::uint64_t round) noexcept {
    return stamp >> kRoundShift > round;
  }
  // More than kBytes: it lies in the ring.
  static constexpr std::uint64_t length(std::uint64_t stamp) noexcept { return stamp & kLength; }
  static constexpr std::uint64_t flags(std::uint64_t stamp) noexcept { return stamp & kFlags; }
};
static_assert(sizeof(AreaSlot) == 128);

struct AreaHeader {
  alignas(128) std::atomic<std::uint64_t> first_round;  // of the use to come
  std::atomic<std::uint64_t> end_round;  // the last round of the members that have left this use, plus one
  std::atomic<std::uint64_t> direct_from;  // the round from which on ranks copy directly, or 0
  std::atomic<std::uint32_t> left;       // members that have given the area up
  std::atomic<std::uint32_t> opened;     // kOpened, kRetired; from claim to claim
  std::atomic<std::uint64_t> direct_until;  // the round from which on they no more copy directly, or 0
  // A member has opened its end; or the claimant has given the area back, and none does any more.
  static constexpr std::uint32_t kOpened = 1, kRetired = 2;
};

struct DoneLine {
  alignas(128) std::atomic<std::uint64_t> rounds;
  std::atomic<std::uint64_t> refused;
};

// Where the parts of one area lie. Pages that no rank has touched cost nothing.
struct AreaMemory {
  static constexpr std::uint64_t kPage = 4096;
  static constexpr unsigned kSlotRounds = PostRing::kRounds;
  // Of long operands, where each rank has a core for itself.
  static constexpr std::uint64_t kPieceBytes = 64 * 1024;
  static constexpr std::uint64_t kCellBytes = PostRing::kPiece;

  // What a waiter for all says, and one for a single rank: another rank of the same value notifies it in vain, now and then.
  static constexpr std::uint8_t kWatchesAll = 255;
  static constexpr std::uint8_t watched(int rank) noexcept { return static_cast<std::uint8_t>(1 + rank % 254); }

  std::byte* base = nullptr;
  std::uint64_t ranks = 0;  // the most that an area may have

  AreaHeader& header() const noexcept { return *reinterpret_cast<AreaHeader*>(base); }
  // Whether a rank may sleep until another one posts, and for whose post it waits: one byte per rank, 0 or watched().
  std::atomic<std::uint8_t>& watching(std::uint64_t rank) const noexcept {
    return reinterpret_cast<std::atomic<std::uint8_t>*>(base + sizeof(AreaHeader))[rank];
  }
  // Whether a rank has left: one byte per rank, 0 or one of these. The second says that it has left because a member was lost.
  static constexpr std::uint8_t kLeft = 1, kLeftAfterLoss = 2;
  std::atomic<std::uint8_t>& gone(std::uint64_t rank) const noexcept {
    return reinterpret_cast<std::atomic<std::uint8_t>*>(base + sizeof(AreaHeader) + ranks)[rank];
  }
  // Whether a rank can read and write the memory of all others: one byte per rank.
  std::atomic<std::uint8_t>& reaches(std::uint64_t rank) const noexcept {
    return reinterpret_cast<std::atomic<std::uint8_t>*>(base + sizeof(AreaHeader) + 2 * ranks)[rank];
  }
  // So many rounds are behind a rank that has said so (SharedArea::acknowledge()).
  std::atomic<std::uint64_t>& done(std::uint64_t rank) const noexcept {
    return reinterpret_cast<DoneLine*>(base + done_offset(ranks))[rank].rounds;
  }
  // The first round of the last call, plus one, in which the kernel refused the rank a copy (SharedArea::refuse()).
  std::atomic<std::uint64_t>& refused(std::uint64_t rank) const noexcept {
    return reinterpret_cast<DoneLine*>(base + done_offset(ranks))[rank].refused;
  }
  AreaSlot& slot(std::uint64_t rank, std::uint64_t round) const noexcept {
    return reinterpret_cast<AreaSlot*>(base + slots_offset(ranks))[round % kSlotRounds * ranks + rank];
  }
  std::byte* ring(std::uint64_t rank) const noexcept { return base + rings_offset(ranks) + rank * PostRing::kBytes; }
  std::byte* cell(unsigned number) const noexcept { return base + cells_offset(ranks) + number * kCellBytes; }

  static constexpr std::uint64_t done_offset(std::uint64_t ranks) noexcept {
    return sizeof(AreaHeader) + (3 * ranks + 127) / 128 * 128;
  }
  static constexpr std::uint64_t slots_offset(std::uint64_t ranks) noexcept {
    return done_offset(ranks) + ranks * sizeof(DoneLine);
  }
  static constexpr std::uint64_t rings_offset(std::uint64_t ranks) noexcept {
    return (slots_offset(ranks) + kSlotRounds * ranks * sizeof(AreaSlot) + kPage - 1) / kPage * kPage;
  }
  static constexpr std::uint64_t cells_offset(std::uint64_t ranks) noexcept { return rings_offset(ranks) + ranks * PostRing::kBytes; }
  static constexpr std::uint64_t stride(std::uint64_t ranks) noexcept { return cells_offset(ranks) + RingPlace::kCells * kCellBytes; }
  static_assert(kCellBytes % kPage == 0);
};

}  // namespace lapwing::coll
