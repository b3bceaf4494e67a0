// MPI_Dims_create. "As close to each other as possible" is taken as: the difference between the largest and the
// smallest factor is as small as can be; among those, the smallest factor is as large as can be, then the next one, and so on (as MPICH has it, so that
// programs find the grid that they know).
//
// Cost: for each divisor that may be the smallest factor, from the root downwards, a search over the divisors (at most
// 1,536), cut off where the rest cannot fit between the smallest factor and the best largest one so far.
#include <algorithm>

#include "comm/topology.h"

namespace lapwing::comm {

namespace {

std::vector<int> divisors_of(int number) {
  std::vector<int> low, high;
  for (int i = 1; i <= number / i; ++i) {
    if (number % i != 0) continue;
    low.push_back(i);
    if (i != number / i) high.push_back(number / i);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

// base^exponent, or a number above `limit`.
std::int64_t power_up_to(int base, std::size_t exponent, int limit) noexcept {
  std::int64_t power = 1;
  for (std::size_t i = 0; i < exponent && power <= limit; ++i) power *= base;
  return power;
}

// Fills `factors` with non-increasing factors of `number` from `least` to `most`, as large as can be from the last, the smallest, on. False when
// there are none.
bool factorize(int number, int least, int most, const std::vector<int>& divisors, std::span<int> factors) {
  if (factors.size() == 1) {
    factors[0] = number;
    return number >= least && number <= most;
  }
  auto at = std::upper_bound(divisors.begin(), divisors.end(), most);
  while (at != divisors.begin() && *--at >= least) {
    if (number % *at != 0 || power_up_to(*at, factors.size(), number) > number) continue;
    // With a smaller one the rest is larger still.
    if (power_up_to(most, factors.size() - 1, number) < number / *at) return false;
    factors.back() = *at;
    if (factorize(number / *at, *at, most, divisors, factors.first(factors.size() - 1))) return true;
  }
  return false;
}

// The factors of least difference.
std::vector<int> closest_factors(int number, std::size_t count) {
  const std::vector<int> divisors = divisors_of(number);
  std::vector<int> best(count), factors(count);
  std::int64_t spread = number;  // more than any; each that is found has less than the one before
  if (count == 1) return {number};
  const auto beyond_root = std::find_if(divisors.begin(), divisors.end(),
                                        [&](int divisor) { return power_up_to(divisor, count, number) > number; });
  for (auto least = beyond_root; least != divisors.begin();) {
    factors.back() = *--least;
    const int rest = number / factors.back();
    const auto most = [&] { return static_cast<int>(std::min<std::int64_t>(factors.back() + spread - 1, number)); };
    // The other factors make up the rest: not even equal ones are small enough any more, and with smaller ones neither.
    if (power_up_to(most(), count - 1, number) < rest) break;
    while (factorize(rest, factors.back(), most(), divisors, std::span(factors).first(count - 1))) {
      spread = factors.front() - factors.back();
      best = factors;
    }
  }
  return best;
}

}  // namespace

Status balance_dimensions(int nodes, std::span<int> dims) {
  if (nodes < 1) return Status::error(MPI_ERR_ARG, "the number of nodes must be positive, not %d", nodes);
  std::int64_t fixed = 1;
  std::size_t open = 0;
  for (const int dim : dims) {
    if (dim < 0) return Status::error(MPI_ERR_DIMS, "a dimension is %d; it must be positive, or 0 to be chosen", dim);
    if (dim == 0) {
      ++open;
    } else if ((fixed *= dim) > nodes) {
      return Status::error(MPI_ERR_DIMS, "the given dimensions ask for more than %d nodes", nodes);
    }
  }
  if (dims.empty()) return {};
  if (nodes % fixed != 0 || (open == 0 && fixed != nodes)) {
    return Status::error(MPI_ERR_DIMS, "the product of the given dimensions, %lld, does not %s the number of nodes, %d",
                         static_cast<long long>(fixed), open == 0 ? "equal" : "divide", nodes);
  }
  if (open == 0) return {};

  const int rest = static_cast<int>(nodes / fixed);
  const std::vector<int> factors = closest_factors(rest, open);
  auto next = factors.begin();
  for (int& dim : dims) {
    if (dim == 0) dim = *next++;
  }
  return {};
}

}  // namespace lapwing::comm
