#include "net/shm/path_selection.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/tuning.h"

namespace lapwing::net::shm {

namespace {
constexpr unsigned kBitsPerPath = 4;
static_assert(PathSelection::kClasses * kBitsPerPath <= 64);
}  // namespace

Path path_in(std::uint64_t word, std::uint64_t bytes) noexcept {
  const std::uint64_t number = word >> (kBitsPerPath * PathSelection::class_of(bytes)) & ((1u << kBitsPerPath) - 1);
  return number < kPaths ? static_cast<Path>(number) : Path::kRing;
}

const char* name_of(Path path) noexcept {
  constexpr const char* kNames[kPaths] = {"ring", "single copy by the receiver", "single copy by both",
                                          "ring, past the caches"};
  return kNames[static_cast<unsigned>(path)];
}

double PathSelection::History::cost() const noexcept {
  const unsigned count = std::min(count_, kKept), third = (count - 1) / 3;
  std::array<double, kKept> sorted = last_;
  std::nth_element(sorted.begin(), sorted.begin() + third, sorted.begin() + count);
  return sorted[third];
}

// ---- paths ----------------------------------------------------------------------------------------------------------

unsigned PathSelection::class_of(std::uint64_t bytes) noexcept {
  const auto power = static_cast<unsigned>(std::bit_width(bytes / kSmallestClass));
  return std::min(power == 0 ? 0u : power - 1, kClasses - 1);
}

std::uint64_t PathSelection::word() const noexcept {
  std::uint64_t word = 0;
  for (unsigned number = 0; number < kClasses; ++number)
    word |= static_cast<std::uint64_t>(path(number)) << (kBitsPerPath * number);
  return word;
}

// The ring, or what is nearest to it where that is forbidden.
Path PathSelection::home() const noexcept {
  return static_cast<Path>(std::countr_zero(allowed_));
}

void PathSelection::forbid(Path path) noexcept {
  allowed_ &= ~(1u << static_cast<unsigned>(path));
  if (allowed_ == 0) allow(Path::kRing);
  for (SizeClass& sizes : classes_) {
    if (sizes.trial == path) sizes.trying = false;
    if (sizes.before == path) sizes.proving = false;
    if (sizes.usual == path) begin(sizes, home());
  }
}

void PathSelection::forget(unsigned size_class) noexcept {
  SizeClass& sizes = classes_[size_class];
  begin(sizes, sizes.usual);
  for (PathState& path : sizes.paths) path = PathState();
}

// ---- decisions ------------------------------------------------------------------------------------------------------

bool PathSelection::measured(const TimedMessage& message) noexcept {
  const std::int64_t last_end = std::exchange(last_end_, std::max(last_end_, message.ended));
  if (message.bytes < kSmallestClass || !allows(message.path)) return false;
  ++counters_.messages[static_cast<unsigned>(message.path)];
  SizeClass& sizes = classes_[class_of(message.bytes)];
  sizes.used = true;
  const Path before = sizes.path();
  if (message.unseen < message.bytes) {
    const PathClock::Window window = sizes.clock.ended(message, last_end);
    if (window.messages != 0 && window.path == before) sizes.trying ? on_trial(sizes, window) : on_usual(sizes, window);
  }
  if (sizes.trying && ++sizes.in_trial > tuning().shm_most_in_trial) lose(sizes, sizes.trial);
  return std::exchange(bequeathed_, false) || sizes.path() != before;
}

// Whether `path` is to be taken where `against` is, by what was measured last.
bool PathSelection::wins(const SizeClass& sizes, Path path, Path against) const noexcept {
  const double percent = path == home() ? -static_cast<double>(tuning().shm_path_hold) : tuning().shm_path_gain;
  return sizes.of(path).cost * (1 + 0.01 * percent) < sizes.of(against).cost;
}

void PathSelection::on_usual(SizeClass& sizes, const PathClock::Window& window) noexcept {
  if (window.cold) return;
  sizes.history.add(window.ns_per_byte);
  sizes.of(sizes.usual).cost = sizes.history.cost();
  for (PathState& path : sizes.paths) path.since += window.messages;
  if (sizes.proving)
    prove(sizes);
  else
    try_next(sizes);
}

bool PathSelection::due(const SizeClass& sizes, Path path) const noexcept {
  const PathState& state = sizes.of(path);
  const std::uint64_t first = tuning().shm_first_rest;
  return state.since >= std::max(state.rest, first) ||
         (state.since >= first && state.cost > 0 && wins(sizes, path, sizes.usual));
}

void PathSelection::try_next(SizeClass& sizes) noexcept {
  if (!sizes.history.full()) return;
  for (unsigned number = 0; number < kPaths; ++number) {
    const auto path = static_cast<Path>(number);
    if (path == sizes.usual || !allows(path) || !due(sizes, path)) continue;
    sizes.trial = path;
    sizes.trying = true;
    sizes.won = sizes.in_trial = 0;
    ++counters_.trials;
    return;
  }
}

void PathSelection::on_trial(SizeClass& sizes, const PathClock::Window& window) noexcept {
  PathState& path = sizes.of(sizes.trial);
  if (window.cold && window.ns_per_byte < tuning().shm_hopeless * sizes.of(sizes.usual).cost) return;
  path.cost = window.ns_per_byte;
  if (window.cold || !wins(sizes, sizes.trial, sizes.usual)) return lose(sizes, sizes.trial);
  if (++sizes.won < tuning().shm_windows_to_win) return;
  sizes.before = sizes.usual;
  begin(sizes, sizes.trial);
  sizes.proving = true;
  ++counters_.changes;
}

// The path that has won a trial has been taken for a while. The one before it needs no trial to be taken again: it would be cold.
void PathSelection::prove(SizeClass& sizes) noexcept {
  if (sizes.history.count() < tuning().shm_windows_to_prove) return;
  sizes.proving = false;
  if (wins(sizes, sizes.usual, sizes.before)) {
    for (PathState& path : sizes.paths) path.rest = 0;
    return bequeath(sizes);
  }
  lose(sizes, sizes.usual);
  begin(sizes, sizes.before);
  ++counters_.changes;
}

// Calls legacy(heir) for each.
template <typename Legacy>
void PathSelection::leave_to_heirs(const SizeClass& sizes, Legacy legacy) noexcept {
  for (auto heir = classes_.begin() + (&sizes - classes_.data()) + 1; heir != classes_.end() && !heir->used; ++heir) legacy(*heir);
}

void PathSelection::bequeath(const SizeClass& sizes) noexcept {
  leave_to_heirs(sizes, [&](SizeClass& heir) { begin(heir, sizes.usual); });
  bequeathed_ = true;
}

void PathSelection::lose(SizeClass& sizes, Path path) noexcept {
  PathState& state = sizes.of(path);
  const double slower = std::max(1.0, state.cost / std::max(sizes.of(sizes.usual).cost, 1e-9));
  const auto longest = static_cast<std::uint64_t>(tuning().shm_longest_rest * std::min(slower, 1000.0));
  state.rest =
      std::min(tuning().shm_rest_growth * std::max<std::uint64_t>(state.rest, tuning().shm_first_rest), longest);
  state.since = 0;
  sizes.trying = false;
  const std::uint64_t second_rest = tuning().shm_rest_growth * tuning().shm_first_rest;
  if (slower >= static_cast<double>(tuning().shm_hopeless)) leave_to_heirs(sizes, [&](SizeClass& heir) { heir.of(path).rest = second_rest; });
}

// Messages take this path from here on.
void PathSelection::begin(SizeClass& sizes, Path path) noexcept {
  sizes.usual = path;
  sizes.trying = sizes.proving = false;
  sizes.history.clear();
  for (PathState& any : sizes.paths) any.since = 0;
}

}  // namespace lapwing::net::shm
