// Recursive halving: each rank exchanges with the one half the ranks away, gives it the half of the operand that is its side's, and combines what
// it gets with the half that it keeps; then within that half, and so on.
//
// Cost: log2 p (L + 2o) + n (p - 1) / p (G + y) + n / p C, and where p is no power of two an exchange of a whole operand and of a share more
// (fold.h). For commutative operations: far partners come first, because the halves are then runs of shares, and so what is combined are not runs
// of ranks. (Near ones first, as in allreduce_halving.cc, would leave each rank with the share of another.)
#include "coll/algorithms.h"
#include "coll/fold.h"

namespace lapwing::coll {
namespace {

// Elements of the operand.
struct Range {
  std::uint64_t begin, end;
  std::uint64_t count() const noexcept { return end - begin; }
};

// A run of the operand, as far as it is combined by now.
struct Value {
  Block block;
  std::uint64_t begin;  // its first element's number
  Block part(const Range& range) const noexcept { return block.part(range.begin - begin, range.count()); }
};

}  // namespace

void reduce_scatter_halving(Schedule& schedule, const Block& input, const Block& output,
                            const std::vector<std::uint64_t>& starts) {
  const Fold fold(schedule);
  const int rank = schedule.rank();
  const auto share_of = [&](int of) {
    return Range{starts[static_cast<std::size_t>(of)], starts[static_cast<std::size_t>(of) + 1]};
  };
  // Where the shares of the remaining ranks begin, each with that of the rank that gave its operand to it.
  const auto begin_of = [&](int core) {
    return starts[static_cast<std::size_t>(core < fold.excess ? 2 * core : core + fold.excess)];
  };
  if (fold.gives()) {
    schedule.send(input, rank + 1);
    schedule.fence();  // the output may lie in the input
    if (output.bytes() > 0) schedule.receive(output, rank + 1);
    return;
  }
  Value value{input, 0};
  StepId ready = kNoStep;
  if (fold.takes()) {
    const Block both = schedule.scratch_like(input);
    ready = schedule.reduce(input, both, {schedule.receive(both, rank - 1)});
    value.block = both;
  }
  for (int mask = fold.power / 2; mask > 0; mask /= 2) {
    const int core = fold.core(), first = core & ~(2 * mask - 1);
    const int peer = fold.rank_of(core ^ mask);
    Range keep{begin_of(first), begin_of(first + mask)}, give{keep.end, begin_of(first + 2 * mask)};
    if ((core & mask) != 0) std::swap(keep, give);
    if (give.count() > 0) schedule.send(value.part(give), peer, {ready});
    if (keep.count() == 0) continue;
    const Block arrived = schedule.scratch_like(value.part(keep));
    ready = schedule.reduce(value.part(keep), arrived, {schedule.receive(arrived, peer), ready});
    value = {arrived, keep.begin};
  }
  schedule.fence();  // the output may lie in the input
  if (fold.takes() && share_of(rank - 1).count() > 0) schedule.send(value.part(share_of(rank - 1)), rank - 1);
  schedule.copy(value.part(share_of(rank)), output);
}

}  // namespace lapwing::coll
