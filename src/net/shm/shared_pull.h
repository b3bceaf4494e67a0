// A message that both sides copy from the sender's memory to the receiver's: the receiver takes pieces from the front
// (process_vm_readv), the sender from the back (process_vm_writev), until they meet. The receiver needs no help: a sender that computes or
// sleeps is not woken, and then all pieces are the receiver's.
//
//   pieces   | how many there are | claimed by the receiver | claimed by the sender |   16 bits each, in one word
//
//   receiver   writes from, to and bytes, then opens: pieces with nothing claimed. Both sides claim by compare-and-exchange. With all
//              claimed the word is closed; the receiver waits until `pushed` says that the sender's pieces are whole, and may open again.
//   sender     reads from, to and bytes after a claim has succeeded: until it has finished that piece nothing changes there.
//
// There is one such message at a time for each ordered pair of ranks. The sender gives up for good when a piece fails (kFailed): the
// receiver copies what is missing. What a peer may scribble here is checked: impossible numbers are a failure as well.
#pragma once

#include <atomic>
#include <cstdint>

namespace lapwing::net::shm {

// In the segment, for each ordered pair of ranks. All zero at first: closed.
struct PullWords {
  static constexpr std::uint64_t kFailed = std::uint64_t{1} << 63;

  std::atomic<std::uint64_t> pieces;
  std::atomic<std::uint64_t> pushed;  // by the sender: how many pieces are whole, and kFailed
  std::atomic<std::uint64_t> from;    // by the receiver, as the rest: an address in the sender's memory,
  std::atomic<std::uint64_t> to;      // in the receiver's,
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t>
      paths;  // what messages of each size are to take, as the receiver has found out, and more (pulls.h);
  std::atomic<std::uint64_t> copies;  // and how frames are to be copied into the ring (streaming.h)
};

struct Range {
  std::uint64_t offset = 0, bytes = 0;
};

// So that there are some pieces to share, and a system call for a piece costs little beside its bytes.
std::uint64_t piece_bytes(std::uint64_t message_bytes) noexcept;

// The receiver's end.
class PullTaker {
 public:
  void attach(PullWords& words) noexcept { words_ = &words; }
  void open(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) noexcept;
  // The next piece to copy; of 0 bytes when there is none, now or at all.
  Range claim() noexcept;
  // Everything is there.
  bool complete() const noexcept { return taken_ + theirs_ == count_; }
  // The sender has failed, or written what cannot be.
  bool failed() const noexcept { return failed_; }

 private:
  Range piece(std::uint64_t index) const noexcept;
  void look_at_sender() noexcept;

  PullWords* words_ = nullptr;
  std::uint64_t bytes_ = 0, piece_ = 0;
  std::uint64_t count_ = 0;   // pieces
  std::uint64_t taken_ = 0;   // by this side, from the front
  std::uint64_t theirs_ = 0;  // whole, from the back
  bool closed_ = false;
  bool failed_ = false;
};

// The sender's end.
class PullHelper {
 public:
  struct Piece {
    std::uint64_t from = 0, to = 0, bytes = 0;
  };

  void attach(PullWords& words) noexcept { words_ = &words; }
  // Whether there may be a piece: one read of a word that is seldom written.
  bool open() const noexcept;
  // A piece to copy, of 0 bytes when there is none; finish() is to follow.
  Piece claim() noexcept;
  void finish(bool whole) noexcept;

 private:
  PullWords* words_ = nullptr;
  bool failed_ = false;
};

}  // namespace lapwing::net::shm
