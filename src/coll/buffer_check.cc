// Buffers that cannot be right: data at a null pointer, and the same memory on both sides (MPI 5.0, section 2.3: an
// argument that is written is no alias of another one).
//
// Both are told by the lowest byte that the data of a side touches, types and displacements included: so MPI_BOTTOM,
// which is NULL too, is right with types of absolute addresses, and one base address on both sides is right where the
// data lies apart. Two sides with the same lowest byte certainly overlap. Only arguments that count on this rank are
// looked at.
//
// Cost: a few comparisons per call. The closer look, of the order of the number of ranks, is taken when these find
// something.
#include "coll/buffer_check.h"

#include <algorithm>
#include <cstdint>

#include "comm/topology.h"

namespace lapwing::coll {

namespace {

constexpr std::intptr_t kFirstPage = 4096;  // never mapped, as what lies below it and wraps around
constexpr std::uintptr_t kNowhere = UINTPTR_MAX;

bool is_neighborhood(Collective what) noexcept {
  return what >= Collective::kNeighborAllgather;
}

bool is_scatter(Collective what) noexcept {
  return what == Collective::kScatter || what == Collective::kScatterv;
}

bool is_gather(Collective what) noexcept {
  return what == Collective::kGather || what == Collective::kGatherv;
}

bool is_reduction(const Call& call) noexcept {
  return call.op != nullptr;
}

bool send_side_counts(const Call& call, int rank) noexcept {
  if (call.what == Collective::kBcast || call.send.in_place()) return false;
  return !is_scatter(call.what) || call.root == rank;
}

bool receive_side_counts(const Call& call, int rank) noexcept {
  if (call.receive.in_place()) return false;
  if (call.what == Collective::kExscan) return rank != 0;
  return !(is_gather(call.what) || call.what == Collective::kReduce) || call.root == rank;
}

std::uintptr_t lowest_byte(const Block& block) noexcept {
  if (block.bytes() == 0) return kNowhere;
  const std::int64_t span = static_cast<std::int64_t>(block.count - 1) * block.type->extent();
  const std::int64_t offset = block.type->true_lb() + std::min<std::int64_t>(span, 0);
  return reinterpret_cast<std::uintptr_t>(Block::at(block.address, offset));
}

std::uintptr_t lowest_byte(const Blocks& blocks) noexcept {
  std::uintptr_t lowest = kNowhere;
  for (const Block& each : blocks) lowest = std::min(lowest, lowest_byte(each));
  return lowest;
}

bool is_empty(const Side& side) noexcept {
  return side.count == 0 && !side.counts;
}

std::uint64_t sum_of(CountArray counts, int ranks) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(ranks); ++i) sum += static_cast<std::uint64_t>(counts[i]);
  return sum;
}

// The operand of a reduction, in the send buffer.
Blocks operand(const Call& call, int ranks) {
  std::uint64_t count = call.receive.count;
  if (call.what == Collective::kReduceScatter) count = sum_of(call.receive.counts, ranks);
  if (call.what == Collective::kReduceScatterBlock) count *= static_cast<std::uint64_t>(ranks);
  return {block(call.send.buffer, count, datatype::resolve(call.receive.type))};
}

// What a neighbourhood exchanges with MPI_PROC_NULL is not touched.
Blocks with_neighbours(const Side& side, bool one_for_all, const std::vector<int>& neighbours) {
  Blocks blocks;
  if (one_for_all) {
    const bool some = std::any_of(neighbours.begin(), neighbours.end(), [](int rank) { return rank != MPI_PROC_NULL; });
    if (some) blocks.push_back(side.block());
    return blocks;
  }
  blocks = side.blocks(static_cast<int>(neighbours.size()));
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    if (neighbours[i] == MPI_PROC_NULL) blocks[i].count = 0;
  }
  return blocks;
}

Blocks sent(const Call& call, const comm::Communicator& communicator) {
  const int ranks = communicator.size();
  if (is_reduction(call)) return operand(call, ranks);
  if (is_empty(call.send)) return {};
  switch (call.what) {
    case Collective::kAllgather:
    case Collective::kAllgatherv:
    case Collective::kGather:
    case Collective::kGatherv:
      return {call.send.block()};
    case Collective::kNeighborAllgather:
    case Collective::kNeighborAllgatherv:
      return with_neighbours(call.send, true, comm::neighbours_out(communicator));
    default:
      if (is_neighborhood(call.what)) return with_neighbours(call.send, false, comm::neighbours_out(communicator));
      return call.send.blocks(ranks);
  }
}

Blocks received(const Call& call, const comm::Communicator& communicator) {
  if (is_empty(call.receive)) return {};
  if (call.what == Collective::kReduceScatter) {
    const auto own = static_cast<std::uint64_t>(call.receive.counts[static_cast<std::size_t>(communicator.rank())]);
    return {block(call.receive.buffer, own, datatype::resolve(call.receive.type))};
  }
  if (is_reduction(call) || is_scatter(call.what) || call.what == Collective::kBcast) return {call.receive.block()};
  if (is_neighborhood(call.what)) return with_neighbours(call.receive, false, comm::neighbours_in(communicator));
  return call.receive.blocks(communicator.size());
}

Status check_not_null(const Call& call, const char* buffer, std::uintptr_t lowest) {
  if (lowest == kNowhere || static_cast<std::intptr_t>(lowest) >= kFirstPage) return {};
  return Status::error(MPI_ERR_BUFFER,
                       "%s is %s, but there is data to be %s there (NULL is MPI_BOTTOM: right only with a datatype of "
                       "absolute addresses)",
                       buffer, lowest == 0 ? "a null pointer" : "close to a null pointer",
                       buffer[0] == 's'                  ? "read from"
                       : call.what == Collective::kBcast ? "read or written"
                                                         : "written");
}

Status aliased(const Call& call) {
  const bool scatter = is_scatter(call.what);
  const bool at_root = scatter || is_gather(call.what) || call.what == Collective::kReduce;
  if (is_neighborhood(call.what))
    return Status::error(MPI_ERR_BUFFER,
                         "sendbuf and recvbuf are the same memory: the send buffer must be another one");
  return Status::error(MPI_ERR_BUFFER, "sendbuf and recvbuf are the same memory: give MPI_IN_PLACE as %s instead%s",
                       scatter ? "recvbuf" : "sendbuf", at_root ? ", at the root" : "");
}

// Of the side that has a block for each rank, where the own one begins; the other side must not be there either.
const void* own_block(const Call& call, int rank) noexcept {
  const bool scatter = is_scatter(call.what);
  if (!scatter && !is_gather(call.what) && call.what != Collective::kAllgather && call.what != Collective::kAllgatherv)
    return nullptr;
  const Side& many = scatter ? call.send : call.receive;
  const datatype::Datatype* type = datatype::resolve(many.type);
  if (type == nullptr) return nullptr;  // there is no data
  const std::int64_t elements =
      many.counts ? many.displacements[static_cast<std::size_t>(rank)] : rank * static_cast<std::int64_t>(many.count);
  return Block::at(const_cast<void*>(many.buffer), elements * type->extent());
}

Status look_closer(const Call& call, const comm::Communicator& communicator, bool sends, bool receives) {
  const Blocks from = sends ? sent(call, communicator) : Blocks();
  const Blocks into = receives ? received(call, communicator) : Blocks();
  const std::uintptr_t lowest_sent = lowest_byte(from), lowest_received = lowest_byte(into);
  LAPWING_TRY(check_not_null(call, "sendbuf", lowest_sent));
  LAPWING_TRY(check_not_null(call, call.what == Collective::kBcast ? "buffer" : "recvbuf", lowest_received));
  if (!sends || !receives || lowest_sent == kNowhere || lowest_received == kNowhere) return {};
  if (lowest_sent == lowest_received) return aliased(call);
  if (own_block(call, communicator.rank()) == nullptr) return {};
  const auto rank = static_cast<std::size_t>(communicator.rank());
  const bool same =
      is_scatter(call.what) ? lowest_byte(from[rank]) == lowest_received : lowest_byte(into[rank]) == lowest_sent;
  return same ? aliased(call) : Status();
}

}  // namespace

Status check_buffers(const Call& call, const comm::Communicator& communicator) {
  if (call.what == Collective::kBarrier || communicator.is_inter()) return {};
  const int rank = communicator.rank();
  const bool sends = send_side_counts(call, rank), receives = receive_side_counts(call, rank);
  const auto low = [](const Side& side) { return reinterpret_cast<std::intptr_t>(side.buffer) < kFirstPage; };
  if ((sends && low(call.send)) || (receives && low(call.receive)))
    return look_closer(call, communicator, sends, receives);
  if (!sends || !receives) return {};
  const void* other_side = is_scatter(call.what) ? call.receive.buffer : call.send.buffer;
  const bool same = call.send.buffer == call.receive.buffer || own_block(call, rank) == other_side;
  return same ? look_closer(call, communicator, true, true) : Status();
}

}  // namespace lapwing::coll
