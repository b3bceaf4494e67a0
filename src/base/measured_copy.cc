#include "base/measured_copy.h"

#include <algorithm>
#include <bit>

#include "base/bulk_copy.h"

namespace lapwing {
namespace {

double median(std::array<double, CopyTrial::kOfEach>& times) noexcept {
  const auto middle = times.begin() + times.size() / 2;
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

void copy(CopyTrial::Way way, std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  way == CopyTrial::Way::kString ? string_copy(to, from, bytes) : bulk_copy(to, from, bytes);
}

}  // namespace

void CopyTrial::timed(double per_byte) noexcept {
  times_[timed_ % 2][timed_ / 2] = per_byte;
  if (++timed_ < 2 * kOfEach) return;
  timed_ = 0;
  best_ = median(times_[1]) < 0.9 * median(times_[0]) ? Way::kString : Way::kVectors;
  rest_ = std::min(4 * rest_, kLongestRest);
  left_ = rest_;
}

MeasuredCopy::MeasuredCopy() noexcept {
  trials_.fill(CopyTrial(string_copy_suits() ? CopyTrial::Way::kString : CopyTrial::Way::kVectors));
}

unsigned MeasuredCopy::class_of(std::size_t bytes) noexcept {
  return bytes < kLeast ? 0 : std::min(kClasses - 1, static_cast<unsigned>(std::bit_width(bytes / kLeast)) - 1);
}

bool MeasuredCopy::by_string(std::size_t bytes) const noexcept {
  return bytes >= kLeastString && trials_[class_of(bytes)].best() == CopyTrial::Way::kString;
}

void MeasuredCopy::operator()(Clock& clock, std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (follows_closely(to, from)) [[unlikely]]
    return bulk_copy(to, from, bytes);
  if (bytes < kLeast) return by_string(bytes) ? string_copy(to, from, bytes) : bulk_copy(to, from, bytes);
  CopyTrial& trial = trials_[class_of(bytes)];
  const CopyTrial::Way way = trial.way();
  if (!trial.trying()) {
    trial.copied();
    return copy(way, to, from, bytes);
  }
  const std::int64_t began = clock.now();
  copy(way, to, from, bytes);
  trial.timed(static_cast<double>(clock.now() - began) / static_cast<double>(bytes));
}

}  // namespace lapwing
