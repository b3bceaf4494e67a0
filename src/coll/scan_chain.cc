// Pipelined chain of prefix sums: segment by segment, each rank gets the sum of all ranks before it from its predecessor, and passes on that sum
// with its own operand.
//
// Cost: n C + (p - 1)(L + 2o + s (G + y)) + (n / s - 1) max(g, 2 (o + s O) + s y, s G) for segments of s bytes: every rank receives, combines and
// sends each byte once, where doubling does so log2 p times. For long operands.
#include <algorithm>

#include "coll/algorithms.h"
#include "coll/message_channel.h"

namespace lapwing::coll {
namespace {

// The messages of one rank, and where the sum lies that it passes on or has got.
class ScanChain {
 public:
  explicit ScanChain(Schedule& schedule) : schedule_(schedule) {}

  // One segment; output = the sum of the ranks up to this one.
  void inclusive(const Block& operand, const Block& output) {
    const bool in_place = operand.address == output.address;
    StepId sum = in_place ? kNoStep : schedule_.copy(operand, output);
    if (!is_first()) {
      Room& room = room_for(operand);
      const Block before = room.block.part(0, operand.count);
      const StepId here = from_previous_.receive(schedule_, before, schedule_.rank() - 1, room.free);
      room.free = sum = schedule_.reduce(before, output, {here, sum});
    }
    if (!is_last()) to_next_.send(schedule_, output, schedule_.rank() + 1, sum);
  }

  // One segment; output = the sum of the ranks before this one, which has none at rank 0.
  void exclusive(const Block& operand, const Block& output) {
    if (is_first()) {
      if (!is_last()) to_next_.send(schedule_, operand, 1, kNoStep);
      return;
    }
    if (is_last()) {
      from_previous_.receive(schedule_, output, schedule_.rank() - 1, kNoStep);
      return;
    }
    Room& room = room_for(operand);
    const Block passed_on = room.block.part(0, operand.count);
    const StepId copied = schedule_.copy(operand, passed_on, {room.free});
    const bool in_place = operand.address == output.address;
    const StepId here = from_previous_.receive(schedule_, output, schedule_.rank() - 1, in_place ? copied : kNoStep);
    const StepId sum = schedule_.reduce(output, passed_on, {here, copied});
    room.free = to_next_.send(schedule_, passed_on, schedule_.rank() + 1, sum);
  }

 private:
  // Free again after the step that reads it last.
  struct Room {
    Block block;
    StepId free = kNoStep;
  };
  static constexpr std::size_t kRooms = 2;  // one is filled while the other one is combined or sent

  bool is_first() const noexcept { return schedule_.rank() == 0; }
  bool is_last() const noexcept { return schedule_.rank() == schedule_.size() - 1; }
  // The first segment is the longest.
  Room& room_for(const Block& operand) {
    Room& room = rooms_[next_room_++ % kRooms];
    if (room.block.type == nullptr) room.block = schedule_.scratch_like(operand);
    return room;
  }

  Schedule& schedule_;
  MessageChannel from_previous_, to_next_;
  Room rooms_[kRooms];
  std::size_t next_room_ = 0;
};

}  // namespace

void scan_chain(Schedule& schedule, const Block& input, const Block& output, bool inclusive, std::uint64_t segment) {
  ScanChain chain(schedule);
  const auto size = std::max<std::uint64_t>(1, input.type->size());  // a type may have none
  const std::uint64_t each = std::max<std::uint64_t>(1, segment / size);
  for (std::uint64_t first = 0; first < input.count; first += each) {
    const std::uint64_t count = std::min(each, input.count - first);
    const Block operand = input.part(first, count), result = output.part(first, count);
    inclusive ? chain.inclusive(operand, result) : chain.exclusive(operand, result);
  }
}

}  // namespace lapwing::coll
