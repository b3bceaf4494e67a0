// Rabenseifner: recursive halving reduces ever smaller parts, recursive doubling puts the result together again.
//
// Cost: 2 log2 p (L + 2o) + n (p - 1) / p (2G + y), and one exchange of everything more when p is no power of two. Near
// partners come first, with the largest parts: so what is combined are always runs of ranks, in order. Each element of
// the result is computed by one rank and handed on, hence the same bits everywhere.
#include "coll/algorithms.h"
#include "coll/fold.h"

namespace lapwing::coll {

namespace {

struct Range {
  std::uint64_t begin;
  std::uint64_t end;
  Block of(const Block& whole) const noexcept { return whole.part(begin, end - begin); }
};

// `arrived` is the operand of another rank for `value`.
void combine(Schedule& schedule, const Block& arrived, const Block& value, bool lower) {
  if (lower || schedule.commutative()) {
    schedule.reduce(arrived, value);
    return;
  }
  const StepId reduced = schedule.reduce(value, arrived);
  schedule.copy(arrived, value, {reduced});
}

}  // namespace

void allreduce_halving(Schedule& schedule, const Block& input, const Block& output) {
  const Fold fold(schedule);
  const int rank = schedule.rank();
  if (fold.gives()) {
    schedule.send(input, rank + 1);
    schedule.fence();  // the input may lie where the result goes
    schedule.receive(output, rank + 1);
    return;
  }
  const Block arrived = schedule.scratch_like(output);
  if (input.address != output.address) schedule.copy(input, output);
  if (fold.takes()) {
    schedule.receive(arrived, rank - 1);
    schedule.fence();
    combine(schedule, arrived, output, true);
  }

  std::vector<Range> before;
  Range mine{0, output.count};
  for (int mask = 1; mask < fold.power; mask *= 2) {
    const int peer = fold.rank_of(fold.core() ^ mask);
    const std::uint64_t middle = mine.begin + (mine.end - mine.begin) / 2;
    Range keep{mine.begin, middle};
    Range give{middle, mine.end};
    if ((fold.core() & mask) != 0) std::swap(keep, give);
    schedule.fence();
    schedule.send(give.of(output), peer);
    schedule.receive(keep.of(arrived), peer);
    schedule.fence();
    combine(schedule, keep.of(arrived), keep.of(output), peer < rank);
    before.push_back(mine);
    mine = keep;
  }
  for (int mask = fold.power / 2; mask > 0; mask /= 2) {
    const int peer = fold.rank_of(fold.core() ^ mask);
    const Range whole = before.back();
    before.pop_back();
    const Range theirs = mine.begin == whole.begin ? Range{mine.end, whole.end} : Range{whole.begin, mine.begin};
    schedule.fence();
    schedule.send(mine.of(output), peer);
    schedule.receive(theirs.of(output), peer);
    mine = whole;
  }
  schedule.fence();
  if (fold.takes()) schedule.send(output, rank - 1);
}

}  // namespace lapwing::coll
