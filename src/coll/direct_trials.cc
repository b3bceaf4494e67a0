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

// Where all ranks know all lengths: of a block on average.
std::uint64_t bytes_of_each(const Side& side, int ranks) noexcept {
  const datatype::Datatype* type = datatype::resolve(side.type);
  std::uint64_t elements = 0;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) elements += static_cast<std::uint64_t>(side.counts[rank]);
  return type != nullptr ? elements * static_cast<std::uint64_t>(type->size()) / static_cast<unsigned>(ranks) : 0;
}

// The longest block that a side has for another rank, or from one.
std::uint64_t longest_of_others(const Side& side, const comm::Communicator& communicator) noexcept {
  std::uint64_t longest = 0;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    const datatype::Datatype* type = datatype::resolve(side.types != nullptr ? side.types[i] : side.type);
    if (rank == communicator.rank() || type == nullptr) continue;
    longest = std::max(longest, static_cast<std::uint64_t>(side.counts[i]) * static_cast<std::uint64_t>(type->size()));
  }
  return longest;
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
    case Collective::kAllgatherv:
      return number_of(4, bytes_of_each(call.receive, communicator.size()));
    case Collective::kAlltoall:  // in place what is read would be written over
      return call.send.in_place() ? kNone : number_of(1, bytes_of(call.receive));
    case Collective::kAlltoallv:
    case Collective::kAlltoallw:
      return call.send.in_place() ? kNone : number_of(kAgreed, longest_of_others(call.send, communicator));
    case Collective::kGatherv:
      return number_of(kAgreed + 1, is_root ? longest_of_others(call.receive, communicator) : bytes_of(call.send));
    case Collective::kScatterv:
      return number_of(kAgreed + 2, is_root ? longest_of_others(call.send, communicator) : bytes_of(call.receive));
    case Collective::kGather:
      return number_of(2, bytes_of(is_root ? call.receive : call.send));
    case Collective::kScatter:
      return number_of(3, bytes_of(is_root ? call.send : call.receive));
    default:
      return kNone;
  }
}

// The calls of a window, and of those at its beginning the ones that are not timed.
std::uint32_t DirectTrials::window(unsigned number, int ranks) noexcept {
  const auto calls = static_cast<std::uint32_t>(std::max(4, ranks));
  return decides_alone(number) ? kWindowAlone * calls : calls;
}
std::uint32_t DirectTrials::untimed(unsigned number, std::uint32_t window) noexcept { return decides_alone(number) ? window / 2 : 1; }

DirectTrials::DirectTrials() noexcept {
  for (unsigned number = kAgreed * kClasses; number < trials_.size(); ++number) trials_[number].left = kRestAlone;
}

DirectTrials::Way DirectTrials::next(unsigned number, int ranks) noexcept {
  Trial& trial = trials_[number];
  if (!std::exchange(trial.begun, true) && shorter_goes_directly(number)) {
    trial.decision = 1;
    trial.left = kFirstRest;
  }
  if (trial.left > 0) {
    --trial.left;
    return {.directly = trial.decision != 0};
  }
  const std::uint32_t calls = trial.calls++, length = window(number, ranks), end = (1 + kWindows) * length;
  const std::uint32_t place = calls % length, windows = calls / length;  // windows before this one, the first included
  if (place == 0 && windows > 1) {  // one has ended
    const unsigned ended = windows - 2;
    trial.times[ended % 2][ended / 2] = std::exchange(trial.sum, 0);
  }
  const bool alone = decides_alone(number);
  if (calls < end)
    return {.directly = windows > 0 && windows % 2 == 0,
            .on_trial = true,
            .timed = windows > 0 && place >= untimed(number, length),
            .meets = !alone && place + 1 == length};
  decide(trial, alone ? kGainAlone : 1);
  return {.directly = !alone || trial.decision != 0, .decides = !alone};
}

void DirectTrials::decide(Trial& trial, double gain) noexcept {
  for (auto& times : trial.times) std::nth_element(times.begin(), times.begin() + kOfEach / 2, times.end());
  trial.decision = gain * trial.times[1][kOfEach / 2] < trial.times[0][kOfEach / 2];
  trial.calls = 0;
  trial.left = trial.rest;
  trial.rest = std::min(4 * trial.rest, kLongestRest);
}

void DirectTrials::took(unsigned number, double time) noexcept { trials_[number].sum += time; }

}  // namespace lapwing::coll
