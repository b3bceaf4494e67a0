// Cuts the frames that leave over one connection into records (wire/record.h), in a buffer from which they are sent.
//
// What is short is gathered, so that small frames, and the headers of long ones, share a record. What is long becomes records of its own, which
// are written straight from where it lies: one pass over each byte. A reader lands such records in the same way (record_reader.h).
//
// Pure: no socket. Of the buffer's pages only those exist that were written to.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "wire/record.h"

namespace lapwing::net::tcp {

class RecordWriter {
 public:
  // `most_body`: bytes of frames in one record; `most_waiting`: of records that wait at a time, of which there is always room for one.
  RecordWriter(wire::RecordGuard guard, std::size_t most_body, std::size_t most_waiting);

  // Makes records of these bytes, as far as there is room. Only while none waits.
  void write(std::span<const iovec> pieces) noexcept;
  // What is to be sent.
  std::span<const std::byte> waiting() const noexcept { return {&buffer_[sent_], end_ - sent_}; }
  // So many of those bytes have left. How many bytes of frames have left by that, in records that have left whole: of no other can
  // the peer know anything.
  std::uint64_t left(std::size_t bytes) noexcept;
  const char* protection() const noexcept { return guard_.describe(); }

 private:
  static constexpr std::size_t kLong = 4096;  // to copy less than this costs less than a record of its own

  struct Written {
    std::size_t end;
    std::size_t body_bytes;
  };
  bool take(const std::byte* piece, std::size_t bytes) noexcept;
  std::size_t room_for_body() const noexcept;
  void gather(const std::byte* from, std::size_t bytes) noexcept;
  void close_gathered() noexcept;
  void close(const std::byte* body, std::size_t bytes) noexcept;

  wire::RecordGuard guard_;
  const std::size_t most_body_, capacity_;
  const std::unique_ptr<std::byte[]> buffer_;
  std::size_t sent_ = 0, end_ = 0;  // what waits
  std::size_t gathered_ = 0;        // bytes of a body behind its end
  std::vector<Written> records_;    // that wait
  std::size_t first_ = 0;           // of those
};

}  // namespace lapwing::net::tcp
