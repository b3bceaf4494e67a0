#include "coll/known_rates.h"

#include <algorithm>
#include <ranges>

namespace lapwing::coll {

void KnownRates::add(const Hosts& hosts, double per_byte) {
  Known made{hosts, per_byte, per_byte > 0 ? 0 : 1};
  const auto same = std::ranges::find(known_, hosts, &Known::hosts);
  if (same != known_.end()) {
    if (made.failures > 0) made.failures += same->failures;
    known_.erase(same);
  }
  if (known_.size() == kMost) known_.erase(known_.begin());
  known_.push_back(std::move(made));
}

std::optional<double> KnownRates::of(const Hosts& hosts) const noexcept {
  for (const Known& each : std::views::reverse(known_)) {
    const bool tells = each.per_byte > 0 || each.failures >= kTries;
    if (tells && std::ranges::includes(each.hosts, hosts)) return each.per_byte;
  }
  return std::nullopt;
}

}  // namespace lapwing::coll
