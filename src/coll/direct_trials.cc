#include "coll/direct_trials.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
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
    if (rank == communicator.rank() || side.counts[i] == 0) continue;  // the type of what is empty need not be one
    const datatype::Datatype* type = datatype::resolve(side.types != nullptr ? side.types[i] : side.type);
    if (type == nullptr) continue;
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

CollectiveKind DirectTrials::collective(unsigned number) noexcept {
  constexpr CollectiveKind kOfFamily[KnownWays::kFamilies] = {CollectiveKind::kAllgather, CollectiveKind::kAlltoall, CollectiveKind::kGather,
                                                              CollectiveKind::kScatter};
  return kOfFamily[family(number)];
}

// The calls of a window. A rank that counts alone should see as much of each root, where roots go around.
std::uint32_t DirectTrials::window(unsigned number) const noexcept {
  const bool has_root = collective(number) == CollectiveKind::kGather || collective(number) == CollectiveKind::kScatter;
  if (!decides_alone(number)) return kTogether;
  const std::uint32_t least = least_bytes(number) < kLong ? kAlone : kAloneOfLong;
  return has_root ? std::max(least, least / 4 * static_cast<std::uint32_t>(ranks_)) : least;
}
bool DirectTrials::is_timed(unsigned number, std::uint32_t place) const noexcept {
  return place >= (decides_alone(number) ? window(number) / 2 : 1);
}

DirectTrials::DirectTrials(int ranks, KnownWays* known) : ranks_(ranks), known_(known), told_by_all_(static_cast<std::size_t>(ranks)) {}

void DirectTrials::all_ended(unsigned number, double now) noexcept {
  trials_[number].sum = std::accumulate(told_by_all_.begin(), told_by_all_.end(), ranks_ * now);
}

// A system call counts for less with longer blocks: of twice the length at most for half as much. So what the last trial of shorter ones has lost says
// what one of these would lose at least; and where those were level, these gain, but where each block is read by all, of which direct copies save one.
// Where the kernel's copy is slow, too, twice the length makes less of a difference: as much as it has made between the last two lengths that were
// tried, and lost. That is believed of the next two lengths alone.
bool DirectTrials::is_hopeless(unsigned number, unsigned shorter) const noexcept {
  constexpr unsigned kBelieved = 2;
  const unsigned doublings = number - shorter;
  const double loss = trials_[shorter].loss;
  if (loss > kHopeless * static_cast<double>(1u << doublings)) return true;
  if (loss <= kHopeless || doublings > kBelieved) return false;
  for (unsigned each = shorter; each % kClasses != 0;) {
    const double before = trials_[--each].loss;
    if (before == 0) continue;
    const double of_doubling = std::pow(std::min(loss / before, 1.0), 1.0 / (shorter - each));
    return before > kHopeless && loss * std::pow(of_doubling, doublings) > kHopeless;
  }
  return false;
}
bool DirectTrials::is_promising(unsigned number, unsigned shorter) const noexcept {
  return collective(number) != CollectiveKind::kAllgather && trials_[shorter].loss > 0 && trials_[shorter].loss <= kLevel;
}

DirectTrials::Verdict DirectTrials::guess(unsigned number, bool likely) const noexcept {
  const bool alone = decides_alone(number);  // what is known may be of equal blocks, of which none goes as a message
  const Verdict model = likely ? Verdict::kTryDirectFirst : Verdict::kTry;
  for (unsigned each = number;; --each) {
    const auto known = known_ != nullptr ? known_->of(family(each), each % kClasses, ranks_) : KnownWays::Way::kUnknown;
    const bool is_known = known != KnownWays::Way::kUnknown, is_direct = known == KnownWays::Way::kDirect;
    if (each == number && is_known && !(likely && alone)) return is_direct ? Verdict::kDirectly : Verdict::kAsModel;
    const bool used = each != number && !is_new(each);  // here and now
    const bool goes_directly = used && trials_[each].directly && trials_[each].verdict != Verdict::kTryDirectFirst;
    if (used ? goes_directly || is_promising(number, each) : is_direct) return Verdict::kDirectly;
    if (used && is_hopeless(number, each)) return Verdict::kAsModel;
    if ((used && trials_[each].loss > 0) || (is_known && !alone)) return Verdict::kTry;
    if (is_known || each % kClasses == 0) return model;
  }
}

void DirectTrials::begin(unsigned number, bool likely) noexcept {
  Trial& trial = trials_[number];
  trial.phase = Phase::kDecided;
  trial.verdict = guess(number, likely);
}

// The first trials of how posts are written come after two megabytes at most.
std::uint32_t DirectTrials::opening_rest(unsigned number) noexcept {
  constexpr std::uint64_t kBytes = 4 << 20, kMost = 64;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(kBytes / least_bytes(number), decides_alone(number) ? kRestAlone : kMost));
}

// Takes account of a verdict, once it is there: at the next call, whatever it is.
void DirectTrials::settle(unsigned number) noexcept {
  Trial& trial = trials_[number];
  if (trial.phase != Phase::kDecided) return;
  const bool is_guess = trial.calls == 0;
  if (trial.verdict == Verdict::kTry || trial.verdict == Verdict::kTryDirectFirst) {
    trial.phase = is_guess ? Phase::kRest : Phase::kWindow;
    trial.left = is_guess ? opening_rest(number) : 0;
    if (is_guess) trial.directly = trial.verdict == Verdict::kTryDirectFirst;
    return;
  }
  trial.directly = trial.verdict == Verdict::kDirectly;
  trial.left = kFirstRest;
  if (!is_guess) {
    if (known_ != nullptr) known_->add(family(number), number % kClasses, ranks_, trial.directly);
    trial.left = std::exchange(trial.rest, std::min(4 * trial.rest, kLongestRest));
  }
  trial.phase = Phase::kRest;
  trial.calls = 0;
}

bool DirectTrials::directly(unsigned number, bool likely) noexcept {
  if (decides_alone(number) && is_new(number)) begin(number, likely);
  settle(number);
  return trials_[number].directly;
}

// One pair of windows is not enough to change the way, because a core may have been lost in one of them.
DirectTrials::Verdict DirectTrials::first_look(const Trial& trial) noexcept {
  return trial.times[1][0] > kHopeless * trial.times[0][0] ? Verdict::kAsModel : Verdict::kTry;
}

// Both times in a row it took two thirds of the other way's time, or less.
DirectTrials::Verdict DirectTrials::early(const Trial& trial) noexcept {
  const auto clearly = [&](unsigned way) {
    const auto& mine = trial.times[way];
    const auto& other = trial.times[1 - way];
    return other[0] > kClearly * mine[0] && other[1] > kClearly * mine[1];
  };
  return clearly(1) ? Verdict::kDirectly : clearly(0) ? Verdict::kAsModel : Verdict::kTry;
}

DirectTrials::Verdict DirectTrials::late(Trial& trial, double gain) noexcept {
  for (auto& times : trial.times) std::nth_element(times.begin(), times.begin() + kOfEach / 2, times.end());
  trial.loss = trial.times[1][kOfEach / 2] / trial.times[0][kOfEach / 2];
  return gain * trial.loss < 1 ? Verdict::kDirectly : Verdict::kAsModel;
}

// At the end of a window: takes its time down, and says at some of them how to go on.
void DirectTrials::judge(unsigned number) noexcept {
  Trial& trial = trials_[number];
  trial.phase = Phase::kWindow;
  const std::uint32_t ended = trial.calls / window(number);
  if (ended == 1) return;  // which was not timed
  const std::uint32_t pair = ended / 2 - 1;
  trial.times[ended % 2][pair] = std::exchange(trial.sum, 0);
  if (ended % 2 == 1) trial.loss = trial.times[1][pair] / trial.times[0][pair];
  switch (ended - 1) {
    case kFirstLook:
      trial.verdict = first_look(trial);
      break;
    case kEarly:
      trial.verdict = early(trial);
      break;
    case kWindows:
      trial.verdict = late(trial, decides_alone(number) ? kGainAlone : 1);
      break;
    default:
      return;
  }
  trial.phase = Phase::kDecided;
}

DirectTrials::Way DirectTrials::next_of_window(unsigned number) noexcept {
  Trial& trial = trials_[number];
  const std::uint32_t call = trial.calls++, length = window(number), place = call % length, before = call / length;
  const bool is_last = place + 1 == length;
  if (is_last) trial.phase = Phase::kWindowEnded;
  return {.directly = before > 0 && before % 2 == 0,
          .on_trial = true,
          .timed = before > 0 && is_timed(number, place),
          .meets = is_last && !decides_alone(number)};
}

// A verdict travels with the call that asks for it; a rank that decides alone need not wait for it.
DirectTrials::Way DirectTrials::next(unsigned number, bool likely) noexcept {
  Trial& trial = trials_[number];
  settle(number);
  if (trial.phase == Phase::kNew) begin(number, likely);
  if (trial.phase == Phase::kWindowEnded) judge(number);
  if (trial.phase == Phase::kDecided) {
    if (!decides_alone(number)) return {.directly = trial.directly, .decides = true};
    settle(number);
  }
  if (trial.phase == Phase::kRest) {
    if (trial.left > 0) {
      --trial.left;
      return {.directly = trial.directly};
    }
    trial.phase = Phase::kWindow;
  }
  return next_of_window(number);
}

}  // namespace lapwing::coll
