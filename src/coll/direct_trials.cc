#include "coll/direct_trials.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace lapwing::coll {
namespace {

std::uint64_t bytes_of(const Side& side) noexcept {
  const datatype::Datatype* type = datatype::resolve(side.type);
  return type != nullptr ? side.count * static_cast<std::uint64_t>(type->size()) : 0;
}

}  // namespace

unsigned DirectTrials::number_of(unsigned kind, std::uint64_t bytes) noexcept {
  if (bytes < kLeast) return kNone;
  const auto width = static_cast<unsigned>(std::bit_width(bytes / kLeast)) - 1;
  return kind * kClasses + std::min(kClasses - 1, width);
}

// Where a side is that of the root, the other ranks' side has as much.
unsigned DirectTrials::number_of(const Call& call, const comm::Communicator& communicator) noexcept {
  const bool is_root = call.root == communicator.rank();
  switch (call.what) {
    case Collective::kAllgather:
      return number_of(0, bytes_of(call.receive));
    case Collective::kAlltoall:  // in place what is read would be written over
      return call.send.in_place() ? kNone : number_of(1, bytes_of(call.receive));
    case Collective::kGather:
      return number_of(2, bytes_of(is_root ? call.receive : call.send));
    case Collective::kScatter:
      return number_of(3, bytes_of(is_root ? call.send : call.receive));
    default:
      return kNone;
  }
}

std::uint32_t DirectTrials::window(int ranks) noexcept { return static_cast<std::uint32_t>(std::max(4, ranks)); }

DirectTrials::Way DirectTrials::next(unsigned number, int ranks) noexcept {
  Trial& trial = trials_[number];
  const std::uint32_t calls = trial.calls, length = window(ranks);
  const std::uint32_t end = (1 + kWindows) * length;
  if (calls > end) return {trial.decision != 0, false, false, false};
  ++trial.calls;
  const std::uint32_t place = calls % length, windows = calls / length;  // windows before this one, the first included
  if (place == 0 && windows > 1) {  // one has ended
    const unsigned ended = windows - 2;
    trial.times[ended % 2][ended / 2] = std::exchange(trial.sum, 0);
  }
  if (calls < end) return {windows > 0 && windows % 2 == 0, windows > 0 && place != 0, place + 1 == length, false};
  trial.decision = directly_is_faster(trial);
  return {true, false, false, true};
}

bool DirectTrials::directly(unsigned number, int ranks) const noexcept {
  const Trial& trial = trials_[number];
  return trial.calls > (1 + kWindows) * window(ranks) && trial.decision != 0;
}

void DirectTrials::took(unsigned number, double time) noexcept { trials_[number].sum += time; }

bool DirectTrials::directly_is_faster(Trial& trial) noexcept {
  for (auto& times : trial.times) std::nth_element(times.begin(), times.begin() + kOfEach / 2, times.end());
  return trial.times[1][kOfEach / 2] < trial.times[0][kOfEach / 2];
}

}  // namespace lapwing::coll
