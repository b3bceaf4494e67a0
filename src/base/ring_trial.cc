#include "base/ring_trial.h"

#include <algorithm>
#include <utility>

namespace lapwing {

void RingTrial::timed(std::uint64_t bytes, double time) noexcept {
  if (!timing()) return;
  window_bytes_ += bytes;
  window_time_ += time;
  if (window_bytes_ < terms_->window) return;
  times_[windows_++] = std::exchange(window_time_, 0.0) / static_cast<double>(std::exchange(window_bytes_, 0));
  if (windows_ == kWindows) end_phase();
}

void RingTrial::end_phase() noexcept {
  switch (phase_) {
    case Phase::kRest:
      return go(0);
    case Phase::kSettle:
      windows_ = 0;
      phase_ = Phase::kMeasure;
      return;
    case Phase::kMeasure:
      std::nth_element(times_.begin(), times_.begin() + kWindows / 2, times_.end());
      costs_[(usual_ + tried_) % count_] = times_[kWindows / 2];
      return tried_ + 1 < count_ ? go(tried_ + 1) : decide();
  }
}

// The usual way is the first of a trial, and needs no more settling than the others.
void RingTrial::go(unsigned tried) noexcept {
  tried_ = tried;
  way_ = ways_[(usual_ + tried) % count_];
  phase_ = Phase::kSettle;
  left_ = way_ == Way::kWholeLaps && tried != 0 ? ring_ : terms_->settle;
}

void RingTrial::decide() noexcept {
  constexpr double kGain = 1.25;
  const auto cost = [this](unsigned way) { return costs_[way] * (way == 0 || way == usual_ ? 1 : kGain); };
  unsigned best = 0;
  for (unsigned way = 1; way < count_; ++way)
    if (cost(way) < cost(best)) best = way;
  usual_ = best;
  way_ = ways_[best];
  phase_ = Phase::kRest;
  left_ = rest_ = std::min(4 * rest_, terms_->longest_rest);
}

}  // namespace lapwing
