#include "base/ring_trial.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace lapwing {

void RingTrial::timed(std::uint64_t bytes, double writing, double again) noexcept {
  if (!timing()) return;
  window_bytes_ += bytes;
  window_.writing += writing;
  window_.again += again;
  if (window_bytes_ < terms_->window) return;
  const auto whole = static_cast<double>(std::exchange(window_bytes_, 0));
  const Times window = std::exchange(window_, {});
  const double all = window.writing + window.reading + window.again / readers_;
  measured_[windows_++] = {all / whole, window.writing / whole};
  if (windows_ == kWindows || is_lost()) end_phase();
}

// Of another way than the usual one: after its first windows, if none of them was fast enough.
bool RingTrial::is_lost() const noexcept {
  constexpr double kHopeless = 2;
  if (tried_ == 0 || windows_ != kFirstWindows) return false;
  const double usual = costs_[usual_].all;
  return std::all_of(measured_.begin(), measured_.begin() + kFirstWindows, [=](const Cost& each) { return each.all > kHopeless * usual; });
}

void RingTrial::end_phase() noexcept {
  switch (phase_) {
    case Phase::kRest:
      costs_.fill({std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()});
      private_ = 0;
      reads_ = false;
      return go(0);
    case Phase::kSettle:
      windows_ = 0;
      window_bytes_ = 0;
      window_ = {};
      phase_ = Phase::kMeasure;
      return;
    case Phase::kMeasure: {
      const auto median = [this](double Cost::*what) {
        const auto begin = measured_.begin(), middle = begin + windows_ / 2;
        std::nth_element(begin, middle, begin + windows_, [=](const Cost& a, const Cost& b) { return a.*what < b.*what; });
        return (*middle).*what;
      };
      costs_[nth(tried_)] = {median(&Cost::all), median(&Cost::writing)};
      return go_next();
    }
  }
}

// Whether it makes sense to try it, by what has been measured.
bool RingTrial::may_win(unsigned way) const noexcept {
  constexpr double kWaits = 2;
  return ways_[way] != Way::kWholeLaps || costs_[0].writing > kWaits * private_;
}

void RingTrial::go_next() noexcept {
  const unsigned next = tried_ + 1;
  if (next == count_ || !may_win(nth(next))) return decide();  // whole laps come last, or are the usual way
  go(next);
}

// The usual way is the first of a trial, and needs no more settling than the others.
void RingTrial::go(unsigned tried) noexcept {
  tried_ = tried;
  way_ = ways_[nth(tried)];
  phase_ = Phase::kSettle;
  left_ = tried != 0 && (way_ == Way::kWholeLaps || lags_) ? ring_ : terms_->settle;
}

void RingTrial::decide() noexcept {
  constexpr double kGain = 1.25, kClear = 1.5;
  const bool of_claims = ways_[1] == Way::kClaimed;
  const auto cost = [=, this](unsigned way) { return costs_[way].all * (way == usual_ || (way == 0 && !of_claims) ? 1 : kGain); };
  unsigned best = 0;
  for (unsigned way = 1; way < count_; ++way)
    if (cost(way) < cost(best)) best = way;
  usual_ = best;
  way_ = ways_[best];
  phase_ = Phase::kRest;
  const bool clear = of_claims && best != 0 && costs_[0].all > kClear * costs_[best].all;
  left_ = rest_ = std::min((clear ? terms_->growth * terms_->growth : terms_->growth) * rest_, terms_->longest_rest);
}

}  // namespace lapwing
