// Collectives between the two groups of an inter-communicator (MPI 5.0, section 6.2.3).
//
// Where every member needs everything, the groups work inside themselves first, their first ranks meet, and the result
// is spread inside the other group. Where data goes from rank to rank anyway, it goes directly.
#include "base/tuning.h"
#include "coll/algorithms.h"
#include "coll/compile.h"

namespace lapwing::coll {

namespace {

class InterCompiler {
 public:
  InterCompiler(const Call& call, const comm::Communicator& communicator, Schedule& schedule) noexcept
      : call_(call), communicator_(communicator), schedule_(schedule) {}

  void barrier();
  void bcast();
  void gather();
  void scatter();
  void allgather();
  void alltoall();
  void reduce();
  void allreduce();
  void reduce_scatter();

 private:
  bool leads() const noexcept { return communicator_.rank() == 0; }
  bool is_root() const noexcept { return call_.root == MPI_ROOT; }        // in the root's group: the root
  bool looks_on() const noexcept { return call_.root == MPI_PROC_NULL; }  // the others of the root's group
  void inside() { schedule_.set_team(comm::Plane::kLocalCollective, communicator_.rank(), communicator_.size()); }
  void across() { schedule_.set_team(comm::Plane::kCollective, communicator_.rank(), communicator_.remote_size()); }
  Block operand(std::uint64_t count) const noexcept {
    return block(call_.send.buffer, count, datatype::resolve(call_.receive.type));
  }
  void direct_exchange(const Blocks& out, const Blocks& in);
  Block remote_sum(std::uint64_t count);

  const Call& call_;
  const comm::Communicator& communicator_;
  Schedule& schedule_;
};

void InterCompiler::barrier() {
  const Block signal = bytes_block(nullptr, 0);
  inside();
  barrier_dissemination(schedule_, static_cast<int>(tuning().coll_barrier_radix));
  schedule_.fence();
  if (leads()) {
    across();
    schedule_.send(signal, 0);
    schedule_.receive(signal, 0);
    schedule_.fence();
    inside();
  }
  // Lanes apart from those of the barrier before: both go between the same ranks.
  const int size = schedule_.size();
  if (!leads()) {
    schedule_.receive(signal, 0, {}, 1);
  } else {
    for (int rank = 1; rank < size; ++rank) schedule_.send(signal, rank, {}, 1);
  }
}

void InterCompiler::bcast() {
  if (looks_on()) return;
  const Block data = call_.receive.block();
  if (is_root()) {
    across();
    schedule_.send(data, 0);
    return;
  }
  if (leads()) {
    across();
    schedule_.receive(data, call_.root);
    schedule_.fence();
  }
  inside();
  compile_bcast(schedule_, data, 0);
}

void InterCompiler::gather() {
  if (looks_on()) return;
  across();
  if (!is_root()) {
    const Block mine = call_.send.block();
    if (mine.bytes() > 0) schedule_.send(mine, call_.root);
    return;
  }
  const Blocks all = call_.receive.blocks(communicator_.remote_size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].bytes() > 0) schedule_.receive(all[i], static_cast<int>(i));
  }
}

void InterCompiler::scatter() {
  if (looks_on()) return;
  across();
  if (!is_root()) {
    const Block mine = call_.receive.block();
    if (mine.bytes() > 0) schedule_.receive(mine, call_.root);
    return;
  }
  const Blocks all = call_.send.blocks(communicator_.remote_size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].bytes() > 0) schedule_.send(all[i], static_cast<int>(i));
  }
}

// Starts at a partner of its own, so that not all of one group begin with the same rank of the other.
void InterCompiler::direct_exchange(const Blocks& out, const Blocks& in) {
  across();
  const int size = communicator_.remote_size();
  for (int i = 0; i < size; ++i) {
    const int peer = (communicator_.rank() + i) % size;
    const Block& incoming = in[static_cast<std::size_t>(peer)];
    const Block& outgoing = out[static_cast<std::size_t>(peer)];
    if (incoming.bytes() > 0) schedule_.receive(incoming, peer);
    if (outgoing.bytes() > 0) schedule_.send(outgoing, peer);
  }
}

void InterCompiler::allgather() {
  const int size = communicator_.remote_size();
  direct_exchange(Blocks(static_cast<std::size_t>(size), call_.send.block()), call_.receive.blocks(size));
}

void InterCompiler::alltoall() {
  const int size = communicator_.remote_size();
  direct_exchange(call_.send.blocks(size), call_.receive.blocks(size));
}

void InterCompiler::reduce() {
  if (looks_on()) return;
  const Block output = call_.receive.block();
  if (output.count == 0) return;
  if (is_root()) {
    across();
    schedule_.receive(output, 0);
    return;
  }
  const Block input = operand(call_.receive.count);
  inside();
  const Block sum = leads() ? schedule_.scratch_like(input) : Block{};
  compile_reduce(schedule_, input, sum, 0);
  if (!leads()) return;
  schedule_.fence();
  across();
  schedule_.send(sum, call_.root);
}

// The reduction of the other group's operands, at this group's first rank. Empty elsewhere.
Block InterCompiler::remote_sum(std::uint64_t count) {
  const Block input = operand(count);
  inside();
  const Block ours = leads() ? schedule_.scratch_like(input) : Block{};
  compile_reduce(schedule_, input, ours, 0);
  schedule_.fence();
  if (!leads()) return {};
  const Block theirs = schedule_.scratch_like(input);
  across();
  schedule_.send(ours, 0);
  schedule_.receive(theirs, 0);
  schedule_.fence();
  return theirs;
}

void InterCompiler::allreduce() {
  const Block output = call_.receive.block();
  if (output.count == 0) return;
  const Block sum = remote_sum(output.count);
  inside();
  if (leads()) {
    schedule_.copy(sum, output);
    schedule_.fence();
  }
  compile_bcast(schedule_, output, 0);
}

void InterCompiler::reduce_scatter() {
  // The groups may differ in size, but not in the sum of their counts.
  const std::vector<std::uint64_t> starts = reduce_scatter_starts(call_, communicator_.size());
  if (starts.back() == 0) return;
  const Block sum = remote_sum(starts.back());
  inside();
  const std::size_t rank = static_cast<std::size_t>(communicator_.rank());
  const Block output =
      block(call_.receive.buffer, starts[rank + 1] - starts[rank], datatype::resolve(call_.receive.type));
  Blocks all;
  if (leads()) {
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) all.push_back(sum.part(starts[i], starts[i + 1] - starts[i]));
  }
  scatter_linear(schedule_, all, output, 0);
}

}  // namespace

void compile_inter(const Call& call, const comm::Communicator& communicator, Schedule& schedule) {
  InterCompiler compiler(call, communicator, schedule);
  switch (call.what) {
    case Collective::kBarrier:
      return compiler.barrier();
    case Collective::kBcast:
      return compiler.bcast();
    case Collective::kGather:
    case Collective::kGatherv:
      return compiler.gather();
    case Collective::kScatter:
    case Collective::kScatterv:
      return compiler.scatter();
    case Collective::kAllgather:
    case Collective::kAllgatherv:
      return compiler.allgather();
    case Collective::kAlltoall:
    case Collective::kAlltoallv:
    case Collective::kAlltoallw:
      return compiler.alltoall();
    case Collective::kReduce:
      return compiler.reduce();
    case Collective::kAllreduce:
      return compiler.allreduce();
    case Collective::kReduceScatter:
    case Collective::kReduceScatterBlock:
      return compiler.reduce_scatter();
    default:
      return;  // scan and exscan are refused by check()
  }
}

}  // namespace lapwing::coll
