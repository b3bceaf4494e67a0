// MPI_Dims_create. "As close to each other as possible" is taken as: the largest factor is as small as can be, then the
// next one, and so on; which also is the order in which they are wanted.
//
// Cost: a search over the divisors of the number of nodes, at most some hundreds, cut off where the rest cannot fit.
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

// base^exponent >= number, without overflow.
bool power_reaches(int base, std::size_t exponent, int number) noexcept {
  std::int64_t power = 1;
  for (std::size_t i = 0; i < exponent && power < number; ++i) power *= base;
  return power >= number;
}

// Fills `factors` with non-increasing factors of `number`, none above `limit`. False when there are none.
bool factorize(int number, int limit, const std::vector<int>& divisors, std::span<int> factors) {
  if (factors.empty()) return number == 1;
  if (number == 1) {
    std::fill(factors.begin(), factors.end(), 1);
    return true;
  }
  for (const int factor : divisors) {
    if (factor > limit) return false;
    if (number % factor != 0 || !power_reaches(factor, factors.size(), number)) continue;
    factors[0] = factor;
    if (factorize(number / factor, factor, divisors, factors.subspan(1))) return true;
  }
  return false;
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
  std::vector<int> factors(open);
  factorize(rest, rest, divisors_of(rest), factors);
  auto next = factors.begin();
  for (int& dim : dims) {
    if (dim == 0) dim = *next++;
  }
  return {};
}

}  // namespace lapwing::comm
