// Pipelined chain: segment by segment, each rank combines its own operand with what comes from the rank after it, and passes it on to the rank
// before, towards the root. An operation that does not commute is reduced towards rank 0, which hands the segments on to the root.
//
// Cost: (p - 1)(L + 2o + s (G + y)) + (n / s - 1) max(g, 2 (o + s O) + s y, s G) for segments of s bytes: every rank receives, combines and sends
// each byte once, whatever p is. For long operands, which the root of a tree receives log2 p times, and that of a reduce-scatter and gather about
// twice.
#include <algorithm>

#include "base/tuning.h"
#include "coll/algorithms.h"
#include "coll/message_channel.h"

namespace lapwing::coll {
namespace {

class Chain {
 public:
  Chain(Schedule& schedule, int root)
      : schedule_(schedule),
        root_(root),
        top_(schedule.commutative() ? root : 0),
        place_((schedule.rank() - top_ + schedule.size()) % schedule.size()) {}

  void pass(const Block& operand, const Block& result);

 private:
  // Where a segment is combined that is not the output; free again after the step that reads it last.
  struct Room {
    Block block;
    StepId free = kNoStep;
  };
  int rank_at(int place) const noexcept { return (place + top_) % schedule_.size(); }
  bool is_last() const noexcept { return place_ == schedule_.size() - 1; }
  Room& room_for(const Block& operand);
  StepId combine(const Block& operand, const Block& result);

  Schedule& schedule_;
  const int root_, top_, place_;
  MessageChannel from_next_, to_previous_, from_top_to_root_;
  std::vector<Room> rooms_;
  std::size_t next_room_ = 0;
};

Chain::Room& Chain::room_for(const Block& operand) {
  if (rooms_.size() < tuning().coll_reduce_scatter_rooms) {
    rooms_.push_back({schedule_.scratch_like(operand)});
    return rooms_.back();
  }
  return rooms_[next_room_++ % rooms_.size()];
}

// Of a rank that is not the last; the step after which its operand has been read.
StepId Chain::combine(const Block& operand, const Block& result) {
  const bool delivers = place_ == 0 && top_ == root_;
  if (delivers && result.address != operand.address) {
    const StepId here = from_next_.receive(schedule_, result, rank_at(place_ + 1), kNoStep);
    return schedule_.reduce(operand, result, {here});
  }
  Room& room = room_for(operand);
  const Block combined = room.block.part(0, operand.count);
  const StepId here = from_next_.receive(schedule_, combined, rank_at(place_ + 1), room.free);
  const StepId done = schedule_.reduce(operand, combined, {here});
  if (place_ > 0)
    room.free = to_previous_.send(schedule_, combined, rank_at(place_ - 1), done);
  else
    room.free = delivers ? schedule_.copy(combined, result, {done}) : from_top_to_root_.send(schedule_, combined, root_, done);
  return done;
}

// One segment; `result` counts at the root only.
void Chain::pass(const Block& operand, const Block& result) {
  if (schedule_.size() == 1) {
    if (result.address != operand.address) schedule_.copy(operand, result);
    return;
  }
  const StepId read = is_last() ? to_previous_.send(schedule_, operand, rank_at(place_ - 1), kNoStep) : combine(operand, result);
  const bool gets_it = schedule_.rank() == root_ && root_ != top_;
  if (gets_it) from_top_to_root_.receive(schedule_, result, top_, read);  // it may lie where the operand does
}

}  // namespace

void reduce_chain(Schedule& schedule, const Block& input, const Block& output, int root, std::uint64_t segment) {
  Chain chain(schedule, root);
  const bool is_root = schedule.rank() == root;
  const auto size = std::max<std::uint64_t>(1, input.type->size());  // a type may have none
  const std::uint64_t each = std::max<std::uint64_t>(1, segment / size);
  for (std::uint64_t first = 0; first < input.count; first += each) {
    const std::uint64_t count = std::min(each, input.count - first);
    chain.pass(input.part(first, count), is_root ? output.part(first, count) : Block{});
  }
}

}  // namespace lapwing::coll
