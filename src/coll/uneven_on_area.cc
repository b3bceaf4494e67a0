// Algorithms on an area for blocks of different lengths (the v and w forms). Only the two ranks of a block know how long it is, so the rank that
// posts decides for each of its blocks how it goes, its post says so, and the other rank follows it (area_parts.h): through the area; as a message,
// if it is longer than `longest`; or, where ranks reach each other's memory, left in place, from where the other rank copies it once. In a
// gather it is the other way round: the root posts where blocks are to be put, and a rank that leaves its block in place puts it
// there, so that all cores copy at the same time; where the root's block is no run of bytes, the root copies.
//
// A rank that has left blocks in place waits until those that copy them have acknowledged that. No other rank waits longer for it than where
// everything is posted.
//
//     Why not rounds in which all say that they are done, as where all blocks are alike (direct_on_area.cc): only the two ranks of a block know that
//     it is left in place, so every call would have such a round, those of a few bytes too.
//
// In an all-to-all blocks that are too long for one post may go in several, in rounds, as where all blocks are alike (pieces_on_area.cc). How many that
// takes no rank knows beforehand; so each says in its post how many it would have needed, and the next call has as many as the most of them
// (uneven_rounds.h), or goes by messages. What needs more rounds than there are goes as a message then as ever. A program's calls come again and are
// alike.
//
// Where the kernel refuses a rank to copy what lies in place, it says so before it acknowledges, and the block goes as a message after all, as in
// direct_on_area.cc.
//
// Costs: those of the even forms (on_area.cc), and p words of a table; a long block costs a message, L + 2 o + n G, besides, and one in
// place c + n D instead of 2 n C, and a line for the acknowledgement.
#include <algorithm>

#include "base/tuning.h"
#include "coll/algorithms.h"
#include "coll/uneven_rounds.h"

namespace lapwing::coll {
namespace {

using Copies = Schedule::Copies;
using Wakes = Schedule::Wakes;
using What = AwaitStep::What;

std::size_t index(int rank) noexcept {
  return static_cast<std::size_t>(rank);
}

// Those of the other ranks: ours stays as an empty part.
Blocks of_others(const Blocks& all, int me) {
  Blocks parts = all;
  parts[index(me)] = bytes_block(nullptr, 0);
  return parts;
}

// How blocks are posted in an all-to-all.
class Pieces {
 public:
  explicit Pieces(const UnevenRules& uneven) noexcept : rules_(uneven.rules), rounds_(std::max(uneven.rounds, 1u)), asks_(uneven.rounds != 0), as_messages_(uneven.as_messages) {}

  std::uint32_t rounds() const noexcept { return rounds_; }
  // Of this rank's blocks: those that are too long for one post, and are runs of bytes.
  bool is_cut(const Block& block) const noexcept { return may_be_cut(block) && fits(block); }
  bool by_message(const Block& block) const noexcept { return rules_.by_message(block) && !is_cut(block); }
  // What is posted of them in a round: of one that goes otherwise, each time that it does.
  Blocks posted(const Blocks& all, int me, std::uint32_t round) const {
    Blocks parts = of_others(all, me);
    for (Block& part : parts) {
      if (is_cut(part)) {
        part = piece(part, round);
      } else if (round != 0 && !rules_.by_message(part) && !rules_.in_place(part)) {
        part = bytes_block(nullptr, 0);
      }
    }
    return parts;
  }
  PartRules rules(const Blocks& all, int me) const noexcept {
    PartRules rules = rules_;
    if (asks_) rules.need = need(of_others(all, me)).bits();
    return rules;
  }
  // Of blocks that come to this rank.
  bool fits(const Block& block) const noexcept { return block.bytes() <= rounds_ * rules_.longest; }
  std::uint32_t piece_of(const Block& block) const noexcept { return asks_ && fits(block) ? static_cast<std::uint32_t>(rules_.longest) : TakeStep::kAll; }
  std::uint64_t begin(const Block& block, std::uint32_t round) const noexcept { return std::min(block.bytes(), round * rules_.longest); }

 private:
  bool may_be_cut(const Block& block) const noexcept { return asks_ && rules_.by_message(block) && block.type->contiguous(); }
  Block piece(const Block& block, std::uint32_t round) const noexcept {
    const Block run = bytes_block(Block::at(block.address, block.type->true_lb()), block.bytes());
    const std::uint64_t first = begin(run, round);
    return run.part(first, std::min(rules_.longest, run.bytes() - first));
  }
  // So that none of those that may be cut goes as a message, but for very long ones.
  UnevenNeed need(const Blocks& blocks) const noexcept {
    std::uint64_t rounds = 1, longest = 0;
    for (const Block& block : blocks) {
      if (!rules_.in_place(block)) longest = std::max(longest, block.bytes());
      const std::uint64_t own = may_be_cut(block) && rules_.longest != 0 ? (block.bytes() + rules_.longest - 1) / rules_.longest : 1;
      if (own <= UnevenRounds::most(blocks.size())) rounds = std::max(rounds, own);
    }
    const auto in_rounds = static_cast<std::uint32_t>(rounds);
    return as_messages_.has(longest) ? UnevenNeed::as_messages(in_rounds) : UnevenNeed::on_area(in_rounds);
  }

  const PartRules rules_;
  const std::uint32_t rounds_;
  const bool asks_;
  const ByteRange as_messages_;
};

void send_long_ones(Schedule& schedule, const Blocks& all, const Pieces& pieces) {
  for (int distance = 1; distance < schedule.size(); ++distance) {
    const int to = (schedule.rank() + distance) % schedule.size();
    if (pieces.by_message(all[index(to)])) schedule.send(all[index(to)], to);
  }
}

// Of all that copy from here; those to which the kernel refuses it get messages. Each posts before, which tells whether it is in this call at all.
void await_acknowledgements(Schedule& schedule, const Blocks& all, const PartRules& rules, StepId last) {
  for (int distance = 1; distance < schedule.size(); ++distance) {
    const int to = (schedule.rank() + distance) % schedule.size();
    if (!rules.in_place(all[index(to)])) continue;
    last = schedule.await(to, 0, {last});
    last = schedule.await(to, 0, {last}, What::kAcknowledgement);
    schedule.send_if_refused(Copies::kPeer, all[index(to)], to, {last});
  }
}

void put_in_place(Schedule& schedule, const Block& mine, int root) {
  const StepId posted = schedule.post_as(AreaSlot::kInPlace, mine, 0);
  StepId last = schedule.await(root, 0, {posted});
  const Block run = bytes_block(Block::at(mine.address, mine.type->true_lb()), mine.bytes());
  const std::uint64_t bytes = run.bytes(), most = tuning().shm_pull_call;
  for (std::uint64_t offset = 0; offset < bytes; offset += most)
    last = schedule.write_directly(root, 0, schedule.rank(), bytes, offset, run.part(offset, std::min(most, bytes - offset)), {last}, true);
  last = schedule.acknowledge(0, true, {last});
  schedule.send_if_refused(Copies::kThisRank, mine, root, {last});
  last = schedule.await(root, 0, {last}, What::kUnlessPlaced);
  schedule.send_if_refused(Copies::kPeer, mine, root, {last}, last);
}

void give_to_root(Schedule& schedule, const Block& mine, int root, const UnevenRules& uneven) {
  if (uneven.rules.in_place(mine)) return put_in_place(schedule, mine, root);
  if (uneven.rules.by_message(mine)) {
    schedule.post_as(AreaSlot::kByMessage, mine, 0);
    schedule.send(mine, root);
  } else {
    schedule.post(mine, 0);
  }
}

// Where the other ranks may put blocks that they leave in place; none where all are short.
Blocks places(const Blocks& all, int root, std::uint64_t least) {
  PartRules rules;
  rules.least_place = least;
  Blocks given = of_others(all, root);
  std::size_t none = 0;
  for (Block& each : given) {
    if (rules.in_place(each)) continue;
    each = bytes_block(nullptr, 0);
    ++none;
  }
  return none < given.size() ? given : Blocks{};
}

// Whether one of the blocks that others have may be left in place.
bool some_in_place(const Blocks& all, int me, std::uint64_t least) noexcept {
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (rank != index(me) && all[rank].bytes() >= least) return true;
  return false;
}

// When all of `taken` are done.
StepId acknowledge(Schedule& schedule, const std::vector<StepId>& taken) {
  const StepId done = schedule.acknowledge(0, false, {});
  for (const StepId take : taken) schedule.add_dependency(done, take);
  return done;
}

// What is behind the pieces of the rounds before.
void exchange_pieces(Schedule& schedule, const Blocks& out, const Blocks& in, const Pieces& pieces, const PartRules& rules, std::uint32_t round) {
  schedule.next_piece();
  const int me = schedule.rank();
  const StepId there = schedule.await(AwaitStep::kAll, 0, {schedule.post_parts(pieces.posted(out, me, round), 0, rules)});
  for (int distance = 1; distance < schedule.size(); ++distance) {
    const int from = (me + distance) % schedule.size();
    const Block& block = in[index(from)];
    if (pieces.fits(block)) schedule.take_piece(from, 0, block, pieces.begin(block, round), pieces.piece_of(block), {there});
  }
}

}  // namespace

void gatherv_on_area(Schedule& schedule, const Block& mine, const Blocks& all, int root, const UnevenRules& uneven) {
  const int me = schedule.rank();
  if (me != root) return give_to_root(schedule, mine, root, uneven);
  const Blocks given = places(all, root, uneven.least_place);
  const StepId posted = given.empty() ? schedule.post(bytes_block(nullptr, 0), 0) : schedule.post_places(given, 0, Wakes::kEach);
  if (mine.bytes() != 0) schedule.copy(mine, all[index(me)], {posted});
  const StepId there = schedule.await(AwaitStep::kAll, 0, {posted});
  std::vector<StepId> taken(all.size(), kNoStep);
  const auto is_placed = [&](int rank) { return !given.empty() && given[index(rank)].bytes() != 0; };
  for (int rank = 0; rank < schedule.size(); ++rank)
    if (rank != me) taken[index(rank)] = schedule.take_gathered(rank, 0, all[index(rank)], is_placed(rank), {there});
  if (!some_in_place(all, me, uneven.least_place)) return;
  const StepId acknowledged = acknowledge(schedule, taken);
  StepId last = acknowledged;
  for (int rank = 0; rank < schedule.size(); ++rank) {
    if (is_placed(rank)) {
      last = schedule.await(rank, 0, {last}, What::kIfInPlace);
      schedule.receive_if_refused(Copies::kPeer, all[index(rank)], rank, {last}, last);
    } else if (rank != me) {
      schedule.receive_if_refused(Copies::kThisRank, all[index(rank)], rank, {acknowledged}, taken[index(rank)]);
    }
  }
}

void scatterv_on_area(Schedule& schedule, const Blocks& all, const Block& mine, int root, const UnevenRules& uneven) {
  if (schedule.rank() == root) {
    const StepId posted = schedule.post_parts(of_others(all, root), 0, uneven.rules, Wakes::kEach);
    send_long_ones(schedule, all, Pieces(uneven));
    if (mine.bytes() != 0) schedule.copy(all[index(root)], mine, {posted});
    return await_acknowledgements(schedule, all, uneven.rules, posted);
  }
  const bool may_lie_in_place = mine.bytes() >= uneven.least_place;
  const StepId posted = schedule.post(bytes_block(nullptr, 0), 0, {}, may_lie_in_place ? Wakes::kEach : Wakes::kAll);
  if (mine.bytes() == 0) return;
  const StepId taken = schedule.take_part(root, 0, mine, {schedule.await(root, 0, {posted})});
  if (!may_lie_in_place) return;
  schedule.receive_if_refused(Copies::kThisRank, mine, root, {schedule.acknowledge(0, false, {taken})}, taken);
}

void alltoallv_on_area(Schedule& schedule, const Blocks& out, const Blocks& in, const UnevenRules& uneven) {
  const int me = schedule.rank();
  const Pieces pieces(uneven);
  const PartRules rules = pieces.rules(out, me);
  const StepId posted = schedule.post_parts(pieces.posted(out, me, 0), 0, rules);
  send_long_ones(schedule, out, pieces);
  if (out[index(me)].bytes() != 0 && out[index(me)] != in[index(me)]) schedule.copy(out[index(me)], in[index(me)], {posted});
  const StepId there = schedule.await(AwaitStep::kAll, 0, {posted});
  std::vector<StepId> taken(in.size(), kNoStep);
  for (int distance = 1; distance < schedule.size(); ++distance) {
    const int from = (me + distance) % schedule.size();
    taken[index(from)] = schedule.take_part(from, 0, in[index(from)], {there}, pieces.piece_of(in[index(from)]));
  }
  StepId last = there;
  if (some_in_place(in, me, uneven.least_place)) {
    last = acknowledge(schedule, taken);
    for (int from = 0; from < schedule.size(); ++from)
      if (from != me && in[index(from)].bytes() >= uneven.least_place)
        schedule.receive_if_refused(Copies::kThisRank, in[index(from)], from, {last}, taken[index(from)]);
  }
  await_acknowledgements(schedule, out, uneven.rules, last);
  for (std::uint32_t round = 1; round < pieces.rounds(); ++round) exchange_pieces(schedule, out, in, pieces, rules, round);
}

}  // namespace lapwing::coll
