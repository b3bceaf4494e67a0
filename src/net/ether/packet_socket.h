// An AF_XDP socket on one receive queue of an interface, and the memory that it shares with the kernel (UMEM): chunks of 2 KiB, the first half to
// receive into, the second to send from. Packets are received without a system call; to send some takes one for all. Where it comes from is a
// SocketSource's matter.
//
// Several ranks may share a queue (shared_queue.h): each has a PacketSocket of its own, and a part of the chunks to send from.
//
// A packet that is longer than a chunk (jumbo frames) leaves from chunks that follow each other, and comes in pieces, in chunks of the kernel's choice.
//
// Where the driver can, packets are not copied between its memory and the UMEM; else the kernel copies them (any Ethernet interface).
#pragma once

#include <linux/if_xdp.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "net/ether/queue_choice.h"
#include "net/ether/ring.h"
#include "net/ether/socket_source.h"
#include "net/ether/xdp_socket.h"

namespace lapwing::net::ether {

class PacketSocket {
 public:
  using Chunk = std::uint32_t;
  static constexpr std::uint32_t kChunkBytes = ether::kChunkBytes;
  static constexpr std::uint32_t kReceiveChunks = ether::kReceiveChunks;
  // What the kernel leaves of a chunk for what is received.
  static constexpr std::uint32_t kMostPieceBytes = kChunkBytes - 256;
  // A frame: of so many chunks that it leaves from.
  static constexpr std::uint32_t kMostChunks = 5, kMostFrameBytes = kMostChunks * kChunkBytes;

  PacketSocket() noexcept = default;
  ~PacketSocket() { close(); }
  PacketSocket(const PacketSocket&) = delete;
  PacketSocket& operator=(const PacketSocket&) = delete;

  // On a queue that no socket has: the first in this order; else on one that another rank of the job shares. `in_pieces`: packets of several chunks
  // are wished for.
  Status open(SocketSource& source, const QueueOrder& order, bool in_pieces);
  // No other rank shares the queue that does not do so by now. Before this, nothing is sent or received where others may.
  void begin() noexcept;
  void close() noexcept;
  int fd() const noexcept { return fd_; }
  std::uint32_t queue() const noexcept { return queue_; }
  std::uint32_t endpoint() const noexcept { return endpoint_; }
  // How many ranks have the queue, and how many of them before this one.
  std::uint32_t ranks() const noexcept { return ranks_; }
  std::uint32_t place() const noexcept { return place_; }
  bool copies() const noexcept { return copies_; }
  // Packets may be of several chunks. Not where the driver receives without a copy: what it takes then is not told.
  bool in_pieces() const noexcept { return in_pieces_ && copies_; }

  // ---- sending ----

  // So many are this rank's.
  std::uint32_t send_chunks() const noexcept { return ranks_ == 1 ? kSendChunks : send_chunks_of_each(ranks_); }
  // A chunk to send from; its memory is this process's until queue_send(), and again from reclaim() on.
  std::byte* chunk(Chunk chunk) noexcept { return memory_ + address_of(chunk); }
  // False: as many wait to leave as there are places.
  bool can_queue() noexcept { return send_.has_room(kMostChunks); }
  // From this chunk on, and those that follow it. Returns of how many it is.
  std::uint32_t queue_send(Chunk chunk, std::uint32_t offset, std::uint32_t bytes) noexcept;
  // Lets the kernel send what is queued. An errno value: 0, or what is wrong with the interface; EAGAIN: not all could leave now.
  int flush() noexcept;
  bool unsent() const noexcept { return unsent_; }
  // Chunks that have left, one by one; false: no more.
  bool reclaim(Chunk& chunk) noexcept;

  // ---- receiving ----

  bool has_received() noexcept { return receive_.has_entry(); }
  // From now on run_driver() has this thread look in the driver for packets to which the queue's interrupt has not come yet. After some have come, by
  // which it is known what would be run.
  Status begin_busy_poll();
  bool busy_polls() const noexcept { return busy_polls_; }
  void run_driver() noexcept;
  // In one piece; until pop().
  std::span<const std::byte> received() noexcept;
  // That one has been looked at; its memory goes back to the kernel by return_memory().
  void pop() noexcept;
  void return_memory() noexcept;

 private:
  struct Mapping {
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
  };
  std::uint64_t address_of(Chunk chunk) const noexcept { return std::uint64_t{kReceiveChunks + first_chunk_ + chunk} * kChunkBytes; }
  Status adopt(const MadeSocket& made);
  Status map_rings();
  Status bind(SocketSource& source, const QueueOrder& order);
  Status bind_to_free(SocketSource& source, std::span<const std::uint32_t> queues, bool& taken);
  Status bind_to(SocketSource& source, std::uint32_t queue, bool& taken);
  Status take_joined(const JoinedQueue& joined);
  bool is_copied() const noexcept;
  bool reclaim_alone(Chunk& chunk) noexcept;
  bool reclaim_shared(Chunk& chunk) noexcept;
  void give_back_shared() noexcept;
  std::span<const std::byte> put_together() noexcept;
  void pop_piece() noexcept;
  Status map_ring(std::uint64_t page, const xdp_ring_offset& offsets, std::size_t entries_bytes, RingPlace& place);

  MadeSocket made_;
  int fd_ = -1;
  std::uint32_t queue_ = 0, endpoint_ = 0;
  std::uint32_t ranks_ = 1, place_ = 0;
  std::uint32_t first_chunk_ = 0;  // of those to send from
  bool copies_ = true, in_pieces_ = false, busy_polls_ = false;
  bool unsent_ = false;
  std::byte* memory_ = nullptr;
  std::vector<Mapping> mappings_;
  Ring<std::uint64_t> fill_, done_;
  Ring<xdp_desc> receive_, send_;
  std::vector<std::byte> whole_;  // the packet that has come in pieces
  // Where the queue is shared: chunks that were looked at, and those that have left, until their turn.
  std::vector<std::uint64_t> looked_at_;
  std::vector<Chunk> left_;
};

}  // namespace lapwing::net::ether
