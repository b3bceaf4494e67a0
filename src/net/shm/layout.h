// What lies where in the segment that the ranks of one host share. All of it is plain memory, zero at birth.
//
//   0                SegmentHeader                     written once by the leader, before any other rank has the segment
//   4096             control block of local rank 0     one per rank: "I sleep" and which ranks have sent something
//   ...              control block of local rank n-1
//   cache line       spare cells                       one bit for each cell (cell_pool.h)
//   page boundary    ring 0 -> 0                       one per ordered pair, sender-major: RingHeader, the bytes.
//   ...              ring n-1 -> n-1                   Pages that no rank has touched cost nothing, so unused pairs are free.
//   page boundary    cell 0                            those with which rank 0 begins, and so on
//   ...              cell k n-1
//   page boundary    what a room above keeps here      (net/host_memory.h), as much as it wants
//
// Only the sizes in the header are trusted after one check against the size of the file, which is sealed against
// shrinking. Everything else a peer can scribble on is an index, and is checked at each use.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "base/tuning.h"
#include "net/shm/shared_pull.h"

namespace lapwing::net::shm {

inline constexpr std::uint64_t kSegmentMagic = 0x3147'4553'5057'414cull;  // "LAPWSEG1", little-endian
inline constexpr std::uint32_t kLayoutVersion = 13;
inline constexpr std::uint32_t kMaxLocalRanks = 4096;
// Everything in a ring is a multiple of this, so that a frame's header never wraps.
inline constexpr std::uint64_t kRecordAlignment = 64;
inline constexpr std::uint64_t kMinRingBytes = 4096;
// Where in a record's first line its stamp is (ring.h).
inline constexpr std::size_t kStampOffset = 8;
inline constexpr std::uint64_t kMaxRingBytes = std::uint64_t{1} << 30;

struct SegmentHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t local_ranks;
  std::uint64_t ring_bytes;
  std::uint64_t total_bytes;
};
// In the header's page: how many ranks have ended without a word (lookout.h). Every poll reads it, and it is hardly ever written.
inline constexpr std::uint64_t kEndsOffset = 64;
static_assert(sizeof(SegmentHeader) <= kEndsOffset);
// And whether the ranks go together (agreement.h).
inline constexpr std::uint64_t kAgreementOffset = 256;

// Written by two sides, so each side's words have their own pair of cache lines (x86 fetches lines in pairs).
struct RingHeader {
  alignas(128) std::atomic<std::uint64_t> tail;         // by the sender: bytes ever written
  std::atomic<std::uint64_t> filling;                   // likewise: ps that a byte of its last long record took it, where it has been told (copy_cost.h)
  std::atomic<std::uint64_t> cells_filled;              // likewise: bytes ever put into cells behind the heads of long payloads
  alignas(128) std::atomic<std::uint64_t> head;         // by the receiver: bytes ever read
  alignas(128) std::atomic<std::uint32_t> wants_space;  // by the sender: 1 when it may sleep with output for this ring
  alignas(128) PullWords pull;                          // by both: messages that do not go through the ring
};
static_assert(sizeof(RingHeader) == 512);

// Followed, one cache-line pair further, by the pending bitmap: bit s says that the ring from local rank s may hold data.
struct ControlBlock {
  alignas(128) std::atomic<std::uint32_t> sleeping;  // a Sleeper: write to my doorbell when you have work for it
  std::atomic<std::uint32_t> presence;               // a Presence
};
enum Presence : std::uint32_t {
  kHere = 0,   // or has not come yet
  kLeft = 1,   // has closed its transports: whatever becomes of the process
  kEnded = 2,  // the process has ended without that; another rank noticed (lookout.h)
};
enum Sleeper : std::uint32_t {
  kNoThread = 0,
  kWaiter = 1,    // a thread that waits: for anything
  kListener = 2,  // the event thread: not for what the application may as well find itself
  kAtRest = 3,    // the event thread, with nothing in flight: only for what cannot wait until the application calls
};

// Offsets for one job's numbers.
struct Layout {
  // What a frame takes in a ring: its header, then its payload, padded.
  static constexpr std::uint64_t record_bytes(std::uint64_t payload_bytes) noexcept {
    return kRecordAlignment + round_up(payload_bytes, kRecordAlignment);
  }

  // What of a record is there when its stamp is (ring.h): the whole of one up to 3 KiB of payload, because what comes later costs the reader a
  // second cache line and a second look; of a longer one 2 KiB, which the reader copies out while the writer copies in, or a wide head of 8 KiB
  // where records follow each other and the reader has others to copy. Never more than the quarter of a ring, which comes free sooner or later.
  static constexpr std::uint64_t most_of_a_small_record(std::uint64_t ring_bytes) noexcept {
    return std::min(record_bytes(3 * 1024), quarter_of(ring_bytes));
  }
  static constexpr std::uint64_t head_of_a_long_record(std::uint64_t ring_bytes) noexcept {
    return std::min(record_bytes(2 * 1024), quarter_of(ring_bytes));
  }
  static constexpr std::uint64_t wide_head(std::uint64_t ring_bytes) noexcept {
    return std::min(record_bytes(8 * 1024), quarter_of(ring_bytes));
  }
  static constexpr std::uint64_t quarter_of(std::uint64_t ring_bytes) noexcept {
    return (ring_bytes - kRecordAlignment) / 4 / kRecordAlignment * kRecordAlignment;
  }

  std::uint32_t local_ranks = 0;
  std::uint64_t ring_bytes = 0;
  std::uint64_t user_bytes = 0;

  static constexpr std::uint64_t kPage = 4096;
  static constexpr std::uint64_t kRingHeaderBytes = 512;
  static constexpr std::uint64_t kMostCellBytes = 512 * 1024;
  // With which a rank begins. Windows of eight messages in both directions, 8 to 64 KiB, take 0.8 of the time that they take with two. Until
  // something has come in a cell only some are used, because a stream would touch the memory of the others for nothing.
  static constexpr unsigned kCellsEach = 8, kCellsAtFirst = 2;
  static constexpr std::uint64_t kMostInCells = kMaxLocalRanks * kCellsEach * kMostCellBytes;  // of a host
  static_assert(kMaxLocalRanks * kCellsEach <= 1 << 16, "a record names a cell in 16 bits");

  std::uint64_t pending_words() const noexcept { return (local_ranks + 63) / 64; }
  std::uint64_t control_stride() const noexcept { return round_up(sizeof(ControlBlock) + pending_words() * 8, 128); }
  std::uint64_t control_offset(std::uint32_t rank) const noexcept { return kPage + rank * control_stride(); }
  std::uint32_t cells() const noexcept { return local_ranks * kCellsEach; }
  std::uint64_t spare_words() const noexcept { return (cells() + 63) / 64; }
  std::uint64_t spare_offset() const noexcept { return control_offset(local_ranks); }
  std::uint64_t ring_stride() const noexcept { return round_up(kRingHeaderBytes + ring_bytes, kPage); }
  std::uint64_t rings_offset() const noexcept { return round_up(spare_offset() + spare_words() * sizeof(std::uint64_t), kPage); }
  std::uint64_t ring_offset(std::uint32_t sender, std::uint32_t receiver) const noexcept {
    return rings_offset() + (std::uint64_t{sender} * local_ranks + receiver) * ring_stride();
  }
  // Of a cell: those of a rank are no more than twice the rings to it.
  std::uint64_t cell_bytes() const noexcept { return std::min(kMostCellBytes, 2 * (local_ranks - 1) * ring_bytes / kCellsEach); }
  std::uint64_t cells_offset() const noexcept { return ring_offset(local_ranks, 0); }
  std::uint64_t cell_offset(std::uint32_t cell) const noexcept { return cells_offset() + cell * cell_bytes(); }
  std::uint64_t user_offset() const noexcept { return round_up(cell_offset(cells()), kPage); }
  std::uint64_t total_bytes() const noexcept { return user_offset() + user_bytes; }

  // Of a ring, where no size is set: no line that comes up again after a whole lap shall be in a core's own cache any more (base/ring_trial.h).
  static std::uint64_t usual_ring_bytes(std::uint32_t local_ranks, std::uint64_t own_cache) noexcept {
    const std::uint64_t each = tuning().shm_all_rings / (std::uint64_t{local_ranks} * local_ranks);
    const std::uint64_t large = std::max(tuning().shm_large_ring, std::bit_ceil(2 * own_cache));
    return std::bit_floor(std::max(std::min(each, large), tuning().shm_small_ring));
  }

  static constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) noexcept {
    return (value + unit - 1) / unit * unit;
  }
};

}  // namespace lapwing::net::shm
