// A ring in shared memory whose other side is hostile: between the steps of an honest reader and an honest writer it stores what it
// likes into indices, stamps and bytes. No step may leave the ring, and what is impossible must be noticed.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/internal_error.h"
#include "net/shm/ring.h"

namespace {

using namespace lapwing;
using namespace lapwing::net::shm;

constexpr std::uint64_t kCapacity = 4096, kLap = 512;

struct Memory {
  RingHeader header{};
  // Exactly as large as the ring, so that a sanitizer sees each byte beyond.
  std::unique_ptr<std::byte[]> bytes{new (std::align_val_t{64}) std::byte[kCapacity]()};
  ~Memory() { ::operator delete[](bytes.release(), std::align_val_t{64}); }
};

std::uint64_t position(std::uint8_t kind, std::uint8_t value, std::uint64_t near) {
  switch (kind % 4) {
    case 0:
      return near + kRecordAlignment * value;
    case 1:
      return near - kRecordAlignment * value;
    case 2:
      return near + value;
    default:
      return std::uint64_t{value} << 56 | value;
  }
}

// Takes what is there as a transport does: a record's head on trust, the rest as it comes.
void read_some(RingReader& reader, std::uint64_t record, std::uint64_t& read) {
  if (record != 0) {
    if (!reader.record_here()) return;
    const bool wide = (reader.record_flags() & kWideHead) != 0;
    reader.trust(std::min(record, wide ? Layout::wide_head(kCapacity) : Layout::head_of_a_long_record(kCapacity)));
  }
  const std::uint64_t available = reader.available();
  LAPWING_CHECK(available <= kCapacity);
  for (std::uint64_t left = available; left > 0;) {
    const Piece piece = reader.next(left);
    LAPWING_CHECK(piece.bytes != 0 && piece.bytes <= left);
    std::byte copy[kCapacity];
    std::memcpy(copy, piece.data, piece.bytes);
    left -= piece.bytes;
    read += piece.bytes;
    (void)reader.advance(piece.bytes);
  }
}

void write_some(RingWriter& writer, std::uint64_t flags, std::uint64_t bytes, std::uint64_t& written) {
  bytes = bytes / kRecordAlignment * kRecordAlignment + kRecordAlignment;
  const std::uint64_t room = writer.room_to_begin(bytes);
  LAPWING_CHECK(room <= writer.capacity());
  if (room < bytes) return;
  std::memset(writer.begin(bytes, flags & kRecordFlags & ~kTurns), 1, kRecordAlignment);
  for (std::uint64_t left = bytes - kRecordAlignment; left > 0;) {
    const Piece piece = writer.next(left);
    LAPWING_CHECK(piece.bytes != 0 && piece.bytes <= left);
    std::memset(piece.data, 2, piece.bytes);
    writer.advance(piece.bytes);
    left -= piece.bytes;
  }
  writer.wipe_next();
  writer.publish_head();
  writer.publish();
  written += bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Memory to_us, from_us;
  RingReader reader;
  RingWriter writer;
  reader.attach(to_us.header, to_us.bytes.get(), kCapacity, kLap);
  writer.attach(from_us.header, from_us.bytes.get(), kCapacity, kLap);
  std::uint64_t read = 0, written = 0, in_cells = 0;
  for (std::size_t at = 0; at + 3 <= size && at < 3000; at += 3) {
    const std::uint8_t what = data[at], kind = data[at + 1], value = data[at + 2];
    switch (what % 7) {
      case 0:
        to_us.header.tail.store(position(kind, value, read));
        break;
      case 1:
        from_us.header.head.store(position(kind, value, written));
        break;
      case 6: {
        to_us.header.cells_filled.store(position(kind, value, in_cells));
        const std::uint64_t available = reader.available_in_cells();
        LAPWING_CHECK(available <= Layout::kMostInCells);
        reader.advance_in_cells(available);
        in_cells += available;
        break;
      }
      case 2:
        stamp_of(to_us.bytes.get() + value % (kCapacity / kRecordAlignment) * kRecordAlignment)
            .store(position(kind, value, read) + 1 + (kind & 12u));
        break;
      case 3:
        std::memset(to_us.bytes.get() + std::size_t{value} * 16, kind, 16);
        break;
      case 4:
        read_some(reader, kind % 2 == 0 ? 0 : std::uint64_t{value} * kRecordAlignment, read);
        break;
      default:
        write_some(writer, kind, std::uint64_t{value} * 16, written);
        break;
    }
  }
  return 0;
}
