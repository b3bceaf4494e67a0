#include "net/ether/packet_socket.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/own_descriptors.h"
#include "net/ether/steering_maps.h"

// In the options of a place in a ring: the packet goes on in the next one. Linux 6.6; headers may be older.
#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD 1
#endif

namespace lapwing::net::ether {
namespace {

Status failed(const char* what) {
  return Status::error(MPI_ERR_OTHER, "%s: %s", what, std::strerror(errno));
}

}  // namespace

Status PacketSocket::open(SocketSource& source, const QueueOrder& order, bool in_pieces) {
  in_pieces_ = in_pieces;
  if (in_pieces) whole_.resize(kMostFrameBytes);
  MadeSocket made;
  LAPWING_TRY(source.make(made));
  LAPWING_TRY(adopt(made));
  LAPWING_TRY(bind(source, order));
  if (place_ != 0) return {};
  for (std::uint64_t chunk = 0; chunk < kReceiveChunks; ++chunk) fill_.put(chunk * kChunkBytes);
  fill_.publish();
  return {};
}

Status PacketSocket::adopt(const MadeSocket& made) {
  made_ = made;
  memory_ = made.memory;
  fd_ = made.fd;
  own_descriptor(fd_);
  mappings_.push_back({made.memory, made.bytes});
  return map_rings();
}

// All rings are mapped by the own socket, also those that are another's as well (Linux 6.4): so that one is closed when its rank ends.
Status PacketSocket::take_joined(const JoinedQueue& joined) {
  close();
  queue_ = joined.queue;
  endpoint_ = joined.number;
  place_ = joined.place;
  in_pieces_ = joined.made.shared->in_pieces();
  if (in_pieces_) whole_.resize(kMostFrameBytes);
  LAPWING_TRY(adopt(joined.made));
  copies_ = is_copied();
  return {};
}

void PacketSocket::begin() noexcept {
  if (made_.shared == nullptr) return;
  ranks_ = made_.shared->close();
  if (ranks_ == 1) return;
  first_chunk_ = place_ * send_chunks();
  looked_at_.reserve(kReceiveChunks);
  left_.reserve(kSendChunks);
}

Status PacketSocket::map_rings() {
  xdp_mmap_offsets offsets{};
  socklen_t length = sizeof offsets;
  if (getsockopt(fd_, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &length) != 0 || length != sizeof offsets)
    return failed("the kernel does not tell where the rings of an AF_XDP socket are");
  RingPlace fill, done, receive, send;
  LAPWING_TRY(map_ring(XDP_UMEM_PGOFF_FILL_RING, offsets.fr, kReceiveChunks * sizeof(std::uint64_t), fill));
  LAPWING_TRY(map_ring(XDP_UMEM_PGOFF_COMPLETION_RING, offsets.cr, kSendChunks * sizeof(std::uint64_t), done));
  LAPWING_TRY(map_ring(XDP_PGOFF_RX_RING, offsets.rx, kReceiveChunks * sizeof(xdp_desc), receive));
  LAPWING_TRY(map_ring(XDP_PGOFF_TX_RING, offsets.tx, kSendChunks * sizeof(xdp_desc), send));
  fill_ = {fill, kReceiveChunks};
  done_ = {done, kSendChunks};
  receive_ = {receive, kReceiveChunks};
  send_ = {send, kSendChunks};
  return {};
}

Status PacketSocket::map_ring(std::uint64_t page, const xdp_ring_offset& offsets, std::size_t entries_bytes, RingPlace& place) {
  const std::size_t bytes = offsets.desc + entries_bytes;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, static_cast<off_t>(page));
  if (memory == MAP_FAILED) return failed("cannot map a ring of an AF_XDP socket");
  madvise(memory, bytes, MADV_DONTFORK);
  place = {static_cast<std::byte*>(memory), offsets.producer, offsets.consumer, offsets.flags, offsets.desc};
  mappings_.push_back({place.memory, bytes});
  return {};
}

// The kernel gives the queue of a socket that is closed, that of a job that has just ended say, free some milliseconds later. So a rank waits a
// moment for those that are served where it runs, before it takes another.
Status PacketSocket::bind(SocketSource& source, const QueueOrder& order) {
  constexpr int kTries = 25, kTriesForOwn = 5;
  constexpr timespec kPause{0, 20'000'000};
  Status not_shared;
  for (int tried = 0; tried < kTries; ++tried) {
    const bool only_own = tried < kTriesForOwn && order.own != 0;
    bool taken = false;
    Status bound = bind_to_free(source, std::span(order.queues).first(only_own ? order.own : order.queues.size()), taken);
    if (!taken) return bound;
    JoinedQueue joined;
    if (!only_own) not_shared = source.join(order.queues, joined);
    if (!only_own && not_shared.ok()) return take_joined(joined);
    nanosleep(&kPause, nullptr);
  }
  return Status::error(MPI_ERR_OTHER, "all %zu receive queues are taken, and none is to be shared: %s", order.queues.size(), not_shared.text());
}

// `taken`: all of them are.
Status PacketSocket::bind_to_free(SocketSource& source, std::span<const std::uint32_t> queues, bool& taken) {
  for (const std::uint32_t queue : queues) {
    if (queue >= LAPWING_MOST_ENDPOINTS) continue;
    Status bound = bind_to(source, queue, taken);
    if (taken) continue;
    if (!bound.ok()) return bound;
    queue_ = endpoint_ = queue;
    copies_ = is_copied();
    return {};
  }
  taken = true;
  return {};
}

bool PacketSocket::is_copied() const noexcept {
  xdp_options options{};
  socklen_t length = sizeof options;
  return getsockopt(fd_, SOL_XDP, XDP_OPTIONS, &options, &length) != 0 || (options.flags & XDP_OPTIONS_ZEROCOPY) == 0;
}

// A kernel that does not know packets in pieces refuses to bind the socket with them.
Status PacketSocket::bind_to(SocketSource& source, std::uint32_t queue, bool& taken) {
  Status bound = source.bind(made_, queue, in_pieces_, taken);
  if (bound.ok() || taken || !in_pieces_) return bound;
  in_pieces_ = false;
  return source.bind(made_, queue, in_pieces_, taken);
}

void PacketSocket::close() noexcept {
  if (fd_ >= 0) close_own_descriptor(fd_);
  fd_ = -1;
  for (const Mapping& mapping : mappings_) munmap(mapping.memory, mapping.bytes);
  mappings_.clear();
}

// ---- sending --------------------------------------------------------------------------------------------------------

std::uint32_t PacketSocket::queue_send(Chunk chunk, std::uint32_t offset, std::uint32_t bytes) noexcept {
  std::uint64_t address = address_of(chunk) + offset;
  std::uint32_t chunks = 0;
  for (std::uint32_t room = kChunkBytes - offset; bytes != 0; room = kChunkBytes, ++chunks) {
    const std::uint32_t piece = std::min(bytes, room);
    bytes -= piece;
    send_.put({address, piece, bytes != 0 ? std::uint32_t{XDP_PKT_CONTD} : 0});
    address += piece;
  }
  unsent_ = true;
  return chunks;
}

// The kernel sends some 30 packets per call where it copies, and none when too many of this socket's are in the network's queues.
int PacketSocket::flush() noexcept {
  send_.publish();
  if (!copies_ && !send_.wants_call()) {
    unsent_ = false;
    return 0;
  }
  for (std::uint32_t before = send_.consumed();;) {
    const int error = ::sendto(fd_, nullptr, 0, MSG_DONTWAIT, nullptr, 0) < 0 ? errno : 0;
    if (error != 0 && error != EAGAIN && error != EBUSY && error != ENOBUFS) return error;
    if (!copies_ || send_.drained()) {
      unsent_ = false;
      return 0;
    }
    if (send_.consumed() == before) return EAGAIN;
    before = send_.consumed();
  }
}

bool PacketSocket::reclaim(Chunk& chunk) noexcept {
  return ranks_ == 1 ? reclaim_alone(chunk) : reclaim_shared(chunk);
}

bool PacketSocket::reclaim_alone(Chunk& chunk) noexcept {
  if (!done_.has_entry()) return false;
  chunk = static_cast<Chunk>(done_.front() / kChunkBytes) - kReceiveChunks;
  done_.pop();
  done_.release();
  return true;
}

// An entry is taken out of the ring before its chunk is noted: a rank that is killed between the two loses a chunk, and tells of none twice.
bool PacketSocket::reclaim_shared(Chunk& chunk) noexcept {
  if (left_.empty()) {
    const SharedQueue::Turn turn(*made_.shared);
    if (!turn.taken()) return false;
    for (done_.take_over_consuming(); done_.has_entry();) {
      const auto left = static_cast<Chunk>(done_.front() / kChunkBytes) - kReceiveChunks;
      done_.pop();
      done_.release();
      if (left < kSendChunks) made_.shared->note_left(left);
    }
    made_.shared->take_left(first_chunk_, send_chunks(), left_);
  }
  if (left_.empty()) return false;
  chunk = left_.back() - first_chunk_;
  left_.pop_back();
  return true;
}

// ---- receiving ------------------------------------------------------------------------------------------------------

Status PacketSocket::begin_busy_poll() {
  int context = 0;
  socklen_t length = sizeof context;
  if (copies_ && (getsockopt(fd_, SOL_SOCKET, SO_INCOMING_NAPI_ID, &context, &length) != 0 || context == 0))
    return Status::error(MPI_ERR_OTHER, "its driver tells nothing that could be run");
  LAPWING_TRY(ask_for_busy_poll(fd_));
  busy_polls_ = true;
  return {};
}

void PacketSocket::run_driver() noexcept {
  ::recvfrom(fd_, nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
}

std::span<const std::byte> PacketSocket::received() noexcept {
  const xdp_desc& first = receive_.front();
  if ((first.options & XDP_PKT_CONTD) != 0) return put_together();
  return {memory_ + first.addr, first.len};
}

// What is longer than any packet of ours is a stranger's, and is cut off.
std::span<const std::byte> PacketSocket::put_together() noexcept {
  std::size_t bytes = 0;
  xdp_desc piece{};
  for (std::uint32_t i = 0; receive_.behind(i, piece); ++i) {
    const std::size_t count = std::min<std::size_t>(piece.len, whole_.size() - bytes);
    std::memcpy(whole_.data() + bytes, memory_ + piece.addr, count);
    bytes += count;
    if ((piece.options & XDP_PKT_CONTD) == 0) break;
  }
  return {whole_.data(), bytes};
}

void PacketSocket::pop() noexcept {
  bool goes_on = true;
  for (xdp_desc piece{}; goes_on && receive_.behind(0, piece); pop_piece()) goes_on = (piece.options & XDP_PKT_CONTD) != 0;
}

void PacketSocket::pop_piece() noexcept {
  const std::uint64_t chunk = receive_.front().addr / kChunkBytes * kChunkBytes;
  if (ranks_ == 1)
    fill_.put(chunk);  // it has as many places as there are chunks
  else
    looked_at_.push_back(chunk);
  receive_.pop();
}

void PacketSocket::return_memory() noexcept {
  receive_.release();
  if (ranks_ == 1)
    fill_.publish();
  else
    give_back_shared();
  if (!copies_ && fill_.wants_call()) ::recvfrom(fd_, nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
}

// What is published in one store is told once; a rank that is killed before it loses its chunks.
void PacketSocket::give_back_shared() noexcept {
  const SharedQueue::Turn turn(*made_.shared);
  if (!turn.taken()) return;
  fill_.take_over_producing();
  for (const std::uint64_t chunk : looked_at_) fill_.put(chunk);
  fill_.publish();
  looked_at_.clear();
}

}  // namespace lapwing::net::ether
