// Pipelined chain: the ranks stand in a line from the root on, and pass segment after segment along.
//
// Cost: (p - 2 + n / s)(L + 2o + s G) for segments of s bytes: for long data the wire's full rate, whatever p.
#include <algorithm>

#include "coll/algorithms.h"

namespace lapwing::coll {

void bcast_chain(Schedule& schedule, const Block& bytes, int root, std::uint64_t segment) {
  const int size = schedule.size();
  const int place = (schedule.rank() - root + size) % size;
  const int next = (schedule.rank() + 1) % size;
  const int previous = (schedule.rank() - 1 + size) % size;
  // Lanes are used again after kLanes segments; with that many in flight the order is kept by waiting.
  std::vector<StepId> received;
  std::vector<StepId> sent;
  std::uint64_t index = 0;
  for (std::uint64_t start = 0; start < bytes.count; start += segment, ++index) {
    const Block part = bytes.part(start, std::min(segment, bytes.count - start));
    const int lane = static_cast<int>(index % kLanes);
    const bool again = index >= kLanes;
    if (place != 0) {
      received.push_back(schedule.receive(part, previous, {again ? received[index - kLanes] : kNoStep}, lane));
    }
    if (place != size - 1) {
      const StepId have = place != 0 ? received.back() : kNoStep;
      sent.push_back(schedule.send(part, next, {have, again ? sent[index - kLanes] : kNoStep}, lane));
    }
  }
}

}  // namespace lapwing::coll
