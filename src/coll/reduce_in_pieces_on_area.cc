// Reductions on an area of operands that are longer than one post: piece by piece, each in shares (on_area.cc), of which each rank combines one. What a
// rank posts in a round is its operand of one piece and its share of the result of the piece before; so k pieces take k + 1 rounds, and as many waits,
// where each by itself would take two.
//
//   reduce, allreduce      (k + 1) (p l + W) + 3 n G + n y (p - 1)/p
//   between two ranks      (k + 1) (2 l + W) + 2 n G + n/2 y     each posts only the half that the other one combines
#include "coll/algorithms.h"
#include "coll/area_parts.h"

namespace lapwing::coll {
namespace {

class Pieces {
 public:
  // `longest`: bytes of a post.
  Pieces(const Schedule& schedule, const Block& input, std::uint64_t longest)
      : ranks_(schedule.size()), halves_(combines_where_it_lies(schedule, input)) {
    constexpr std::uint64_t kTable = 4 * kLine;  // and what is left between parts
    const auto ranks = static_cast<std::uint64_t>(ranks_), size = static_cast<std::uint64_t>(input.type->size());
    const std::uint64_t fit = std::max<std::uint64_t>(2, (longest - kTable) / std::max<std::uint64_t>(1, size));  // elements
    const bool only_operands = halves_ || input.count <= fit;  // a half and the other one's result are as long; one piece has no result before it
    const std::uint64_t each = only_operands ? fit : std::max<std::uint64_t>(1, fit * ranks / (ranks + 1));
    starts_ = even_starts(input.count, static_cast<int>((input.count + each - 1) / each));
  }

  bool halves() const noexcept { return halves_; }
  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(starts_.size() - 1); }
  Block share(const Block& whole, std::uint32_t piece, int rank) const {
    const Block all = piece_of(whole, piece);
    const std::vector<std::uint64_t> starts = even_starts(all.count, ranks_);
    const auto i = static_cast<std::size_t>(rank);
    return all.part(starts[i], starts[i + 1] - starts[i]);
  }
  // What `rank` posts of its operand in the round of that number; nothing in the last one.
  Block operand(const Block& whole, std::uint32_t round, int rank) const {
    if (round == count()) return bytes_block(nullptr, 0);
    return halves_ ? share(whole, round, 1 - rank) : piece_of(whole, round);
  }
  // Where the share of `rank` begins in such an operand, and in a post behind that the result, of which there is one after the first round.
  std::uint64_t operand_begin(const Block& whole, std::uint32_t round, int poster, int rank) const {
    const std::uint64_t begin = part_begin(parts_table_bytes(2), operand(whole, round, poster).bytes());
    if (halves_) return begin;
    const Block all = piece_of(whole, round);
    return begin + even_starts(all.count, ranks_)[static_cast<std::size_t>(rank)] * static_cast<std::uint64_t>(all.type->size());
  }
  std::uint64_t result_begin(const Block& whole, std::uint32_t round, int poster) const {
    const std::uint64_t bytes = operand(whole, round, poster).bytes();
    return part_begin(part_begin(parts_table_bytes(2), bytes) + bytes, share(whole, round - 1, poster).bytes());
  }

 private:
  Block piece_of(const Block& whole, std::uint32_t piece) const {
    return whole.part(starts_[piece], starts_[piece + 1] - starts_[piece]);
  }

  const int ranks_;
  const bool halves_;
  std::vector<std::uint64_t> starts_;
};

// `output`: null where this rank does not get the result.
void reduce_by_rounds(Schedule& schedule, const Block& input, const Block* output, std::uint64_t longest) {
  const Pieces pieces(schedule, input, longest);
  const int me = schedule.rank();
  const Block aside = output == nullptr ? schedule.scratch_like(pieces.share(input, 0, 0)) : Block{};  // no share is longer
  const auto result = [&](std::uint32_t piece) {
    return output != nullptr ? pieces.share(*output, piece, me) : aside.part(0, pieces.share(input, piece, me).count);
  };
  for (std::uint32_t round = 0; round <= pieces.count(); ++round) {
    const Block before = round == 0 ? bytes_block(nullptr, 0) : result(round - 1);
    const StepId posted = schedule.post_both(pieces.operand(input, round, me), before, round);
    if (round == pieces.count() && output == nullptr) return;
    const StepId there = schedule.await(AwaitStep::kAll, round, {posted});
    if (round < pieces.count()) {
      const std::uint64_t begin = pieces.operand_begin(input, round, pieces.halves() ? 1 - me : me, me);
      if (pieces.halves())
        schedule.fold_onto(1 - me, round, begin, pieces.share(input, round, me), result(round), {there});
      else
        combine_share(schedule, round, begin, result(round), there);
    }
    for (int distance = 1; round > 0 && output != nullptr && distance < schedule.size(); ++distance) {
      const int rank = (me + distance) % schedule.size();
      const Block target = pieces.share(*output, round - 1, rank);
      if (target.count != 0) schedule.take(rank, round, pieces.result_begin(input, round, rank), target, {there});
    }
    schedule.fence();
  }
}

}  // namespace

void reduce_in_pieces_on_area(Schedule& schedule, const Block& input, const Block& output, int root, std::uint64_t longest) {
  reduce_by_rounds(schedule, input, schedule.rank() == root ? &output : nullptr, longest);
}

void allreduce_in_pieces_on_area(Schedule& schedule, const Block& input, const Block& output, std::uint64_t longest) {
  reduce_by_rounds(schedule, input, &output, longest);
}

}  // namespace lapwing::coll
