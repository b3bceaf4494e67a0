#include "coll/direct_trials.h"

#include <algorithm>
#include <bit>

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
  if (place == 0 && windows > 1) end_window(trial, windows % 2 == 1);
  if (calls < end) return {windows > 0 && windows % 2 == 0, windows > 0 && place != 0, place + 1 == length, false};
  trial.decision = trial.best[1] >= 0 && trial.best[1] < trial.best[0];
  return {true, false, false, true};
}

bool DirectTrials::directly(unsigned number, int ranks) const noexcept {
  const Trial& trial = trials_[number];
  return trial.calls > (1 + kWindows) * window(ranks) && trial.decision != 0;
}

void DirectTrials::took(unsigned number, double time) noexcept { trials_[number].sum += time; }

void DirectTrials::end_window(Trial& trial, bool directly) noexcept {
  double& best = trial.best[directly ? 1 : 0];
  if (best < 0 || trial.sum < best) best = trial.sum;
  trial.sum = 0;
}

}  // namespace lapwing::coll
