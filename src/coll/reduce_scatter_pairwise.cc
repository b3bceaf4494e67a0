// Pairwise: every rank sends each other one its part of the operand, straight from the user's buffer, and reduces what
// comes.
//
// Cost: (p - 1) max(g, 2o) + L + n (p - 1) / p (G + y), n being the whole operand. For long operands. An operation that
// does not commute is reduced outwards from the own rank, to both sides in turn, so that what is combined are always
// runs of ranks.
#include "base/tuning.h"
#include "coll/algorithms.h"

namespace lapwing::coll {

namespace {

struct Exchange {
  int from;
  int to;
  bool lower;  // of `from`: combine it as the lower operand
};

// In an order that both sides share: the distance, then the direction. A step waits only for earlier ones, so bounded
// windows cannot lock up.
std::vector<Exchange> exchanges(int rank, int size, bool commutative) {
  std::vector<Exchange> list;
  for (int distance = 1; distance < size; ++distance) {
    if (commutative) {
      list.push_back({(rank - distance + size) % size, (rank + distance) % size, true});
      continue;
    }
    const int below = rank - distance;
    const int above = rank + distance;
    list.push_back({above < size ? above : -1, below >= 0 ? below : -1, false});
    list.push_back({below >= 0 ? below : -1, above < size ? above : -1, true});
  }
  return list;
}

struct Room {
  Block block;
  StepId free;
};

}  // namespace

void reduce_scatter_pairwise(Schedule& schedule, const Block& input, const Block& output,
                             const std::vector<std::uint64_t>& starts) {
  const int rank = schedule.rank();
  const auto part = [&](int of) {
    const std::uint64_t start = starts[static_cast<std::size_t>(of)];
    return input.part(start, starts[static_cast<std::size_t>(of) + 1] - start);
  };
  const bool in_place = input.address == output.address;
  Block sum = in_place ? schedule.scratch_like(output) : output;
  StepId ready = schedule.copy(part(rank), sum);

  const std::size_t most_rooms = tuning().coll_reduce_scatter_rooms;
  const std::vector<Exchange> list = exchanges(rank, schedule.size(), schedule.commutative());
  std::vector<StepId> sent;
  for (const Exchange& exchange : list) {
    if (exchange.to >= 0 && part(exchange.to).bytes() > 0) {
      sent.push_back(
          schedule.send(part(exchange.to), exchange.to, {sent.size() < most_rooms ? kNoStep : sent[sent.size() - most_rooms]}));
    }
  }
  std::vector<Room> rooms;
  for (const Exchange& exchange : list) {
    if (exchange.from < 0 || sum.bytes() == 0) continue;
    if (rooms.size() < most_rooms) {
      rooms.insert(rooms.begin(), {schedule.scratch_like(output), kNoStep});
    }
    const Room room = rooms.front();
    rooms.erase(rooms.begin());
    const StepId received = schedule.receive(room.block, exchange.from, {room.free});
    if (exchange.lower) {
      ready = schedule.reduce(room.block, sum, {received, ready});
      rooms.push_back({room.block, ready});
    } else {
      ready = schedule.reduce(sum, room.block, {received, ready});
      rooms.push_back({sum, ready});
      sum = room.block;
    }
  }
  if (sum.address == output.address) return;
  schedule.fence();  // the output may lie in the input
  schedule.copy(sum, output);
}

}  // namespace lapwing::coll
