#include "net/shm/path_selection.h"

#include <algorithm>
#include <bit>

#include "base/tuning.h"

namespace lapwing::net::shm {

namespace {
constexpr unsigned kBitsPerPath = 4;
static_assert(PathSelection::kClasses * kBitsPerPath <= 64);

// The factor by which times must differ for something else to have changed.
double change() noexcept {
  return 1 + 0.01 * tuning().shm_path_change;
}
}  // namespace

Path path_in(std::uint64_t word, std::uint64_t bytes) noexcept {
  const std::uint64_t number = word >> (kBitsPerPath * PathSelection::class_of(bytes)) & ((1u << kBitsPerPath) - 1);
  return number < kPaths ? static_cast<Path>(number) : Path::kRing;
}

const char* name_of(Path path) noexcept {
  constexpr const char* kNames[kPaths] = {"ring", "single copy by the receiver", "single copy by both", "ring, past the caches"};
  return kNames[static_cast<unsigned>(path)];
}

// ---- times ----------------------------------------------------------------------------------------------------------

void PathSelection::Times::add(double ns_per_byte) noexcept {
  if (count_ == 0) next_ = 0;
  last_[next_] = ns_per_byte;
  next_ = (next_ + 1) % kKept;
  count_ = std::min(count_ + 1, kKept);
}

double PathSelection::Times::median() const noexcept {
  if (count_ == 0) return 0;
  std::array<double, kKept> sorted = last_;
  const auto middle = sorted.begin() + (count_ - 1) / 2;
  std::nth_element(sorted.begin(), middle, sorted.begin() + count_);
  return *middle;
}

double PathSelection::Times::least() const noexcept {
  return count_ == 0 ? 0 : *std::min_element(last_.begin(), last_.begin() + count_);
}

// ---- classes --------------------------------------------------------------------------------------------------------

unsigned PathSelection::class_of(std::uint64_t bytes) noexcept {
  const auto power = static_cast<unsigned>(std::bit_width(bytes / kSmallestClass));
  return std::min(power == 0 ? 0u : power - 1, kClasses - 1);
}

unsigned PathSelection::nearest_tried(unsigned size_class) const noexcept {
  for (unsigned distance = 1; distance < kClasses; ++distance) {
    for (const unsigned other : {size_class - distance, size_class + distance}) {
      if (other < kClasses && classes_[other].state != State::kUntried) return other;
    }
  }
  return size_class;
}

Path PathSelection::path(unsigned size_class) const noexcept {
  const SizeClass& sizes = classes_[size_class];
  if (sizes.state == State::kTrying) return sizes.trial;
  return sizes.state == State::kSettled ? sizes.chosen : classes_[nearest_tried(size_class)].chosen;
}

std::uint64_t PathSelection::word() const noexcept {
  std::uint64_t word = 0;
  for (unsigned number = 0; number < kClasses; ++number)
    word |= static_cast<std::uint64_t>(path(number)) << (kBitsPerPath * number);
  return word;
}

void PathSelection::forbid(Path path) noexcept {
  allowed_ &= ~(1u << static_cast<unsigned>(path));
  if (allowed_ == 0) allow(Path::kRing);
  const auto other = static_cast<Path>(std::countr_zero(allowed_));
  for (SizeClass& sizes : classes_) {
    if (sizes.state == State::kTrying && !allows(sizes.trial)) sizes.state = State::kSettled;
    if (allows(sizes.chosen)) continue;
    sizes.chosen = other;
    sizes.settled_cost = sizes.times_of(other).median();
  }
}

// ---- decisions ------------------------------------------------------------------------------------------------------

bool PathSelection::measured(Path path, std::uint64_t bytes, std::int64_t ns) noexcept {
  if (bytes < kSmallestClass || ns <= 0 || !allows(path)) return false;
  ++counters_.messages[static_cast<unsigned>(path)];
  const unsigned number = class_of(bytes);
  SizeClass& sizes = classes_[number];
  const Path before = this->path(number);
  const double ns_per_byte = static_cast<double>(ns) / static_cast<double>(bytes);
  if (sizes.state == State::kUntried) begin(sizes, number);
  if (path == sizes.chosen) {
    sizes.times_of(path).add(ns_per_byte);
    go_on(sizes);
  } else if (sizes.state == State::kTrying && path == sizes.trial) {
    on_trial(sizes, ns_per_byte);
  } else {
    sizes.saved -= excess(sizes, path);  // it was sent before the trial's end was known
  }
  return this->path(number) != before;
}

// What is known of the nearest class is a first guess.
void PathSelection::begin(SizeClass& sizes, unsigned number) noexcept {
  const SizeClass& nearest = classes_[nearest_tried(number)];
  sizes.chosen = nearest.chosen;
  for (unsigned path = 0; path < kPaths; ++path) {
    if (nearest.times[path].count() != 0) sizes.times[path].assume(nearest.times[path].median());
  }
  sizes.state = State::kSettled;
  sizes.saved = tuning().shm_trial_credit;
}

// How much longer than the usual one a message on this path takes, in messages on the usual one. Of a path that is seldom taken the
// least time is believed: a median of times with a lost core among them would keep it from being tried again.
double PathSelection::excess(const SizeClass& sizes, Path path) const noexcept {
  const double usual = sizes.times[static_cast<unsigned>(sizes.chosen)].median();
  const double other = sizes.times[static_cast<unsigned>(path)].least();
  return other > usual && usual > 0 ? other / usual - 1 : 0;
}

// A message has taken the usual path.
void PathSelection::go_on(SizeClass& sizes) noexcept {
  if (sizes.state == State::kTrying) {
    if (++sizes.late >= kLateMessages) sizes.state = State::kSettled;
    return;
  }
  sizes.saved = std::min(sizes.saved + 1.0 / tuning().shm_trial_share, static_cast<double>(tuning().shm_most_trial_credit));
  notice_change(sizes);
  try_next(sizes);
}

void PathSelection::notice_change(SizeClass& sizes) noexcept {
  const Times& times = sizes.times_of(sizes.chosen);
  const double now = times.median();
  ++sizes.since_change;
  if (times.count() < tuning().shm_trial_messages - 1) return;
  const bool known = sizes.settled_cost > 0;
  if (known && now < sizes.settled_cost * change() && now * change() > sizes.settled_cost) return;
  sizes.settled_cost = now;
  if (!known || sizes.since_change < tuning().shm_messages_between_changes) return;
  sizes.since_change = 0;
  for (unsigned path = 0; path < kPaths; ++path) {
    if (path != static_cast<unsigned>(sizes.chosen)) sizes.times[path].forget();
  }
  sizes.saved = std::max(sizes.saved, static_cast<double>(tuning().shm_trial_credit));
}

// Begins a trial if one can be paid.
void PathSelection::try_next(SizeClass& sizes) noexcept {
  if (sizes.times_of(sizes.chosen).count() < tuning().shm_trial_messages - 1) return;
  const auto behind = [](Path path) { return static_cast<Path>((static_cast<unsigned>(path) + 1) % kPaths); };
  for (unsigned turns = 0; turns < kPaths && (!allows(sizes.next) || sizes.next == sizes.chosen); ++turns)
    sizes.next = behind(sizes.next);
  const double price = tuning().shm_trial_messages * std::max(kLeastPrice, excess(sizes, sizes.next));
  if (!allows(sizes.next) || sizes.next == sizes.chosen || sizes.saved < price) return;
  sizes.trial = sizes.next;
  sizes.next = behind(sizes.next);
  sizes.state = State::kTrying;
  sizes.seen = sizes.late = 0;
  ++counters_.trials;
}

void PathSelection::on_trial(SizeClass& sizes, double ns_per_byte) noexcept {
  Times& times = sizes.times_of(sizes.trial);
  if (++sizes.seen == 1) return times.forget();
  times.add(ns_per_byte);
  const bool hopeless = sizes.seen == 3 && times.least() > sizes.times_of(sizes.chosen).median() * change();
  if (hopeless || sizes.seen == tuning().shm_trial_messages) conclude(sizes);
}

void PathSelection::conclude(SizeClass& sizes) noexcept {
  const double usual = sizes.times_of(sizes.chosen).median(), other = sizes.times_of(sizes.trial).median();
  sizes.state = State::kSettled;
  sizes.saved -= sizes.seen * std::max(kLeastPrice, excess(sizes, sizes.trial));
  sizes.settled_cost = usual;
  if (other >= usual * (1 - 0.01 * tuning().shm_path_margin)) return;
  sizes.chosen = sizes.trial;
  sizes.settled_cost = other;
  ++counters_.changes;
}

}  // namespace lapwing::net::shm
