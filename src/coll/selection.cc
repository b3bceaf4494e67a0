#include "coll/selection.h"

namespace lapwing::coll {

const Thresholds& thresholds() noexcept {
  static constexpr Thresholds kDefault{};
  return kDefault;
}

bool choose_area(bool area, std::uint64_t posted) noexcept {
  return area && posted <= thresholds().area;
}

bool choose_shares_on_area(int ranks, std::uint64_t bytes) noexcept {
  return bytes * static_cast<std::uint64_t>(ranks) > thresholds().area_fold;
}

bool choose_linear(bool oversubscribed, int ranks, std::uint64_t bytes) noexcept {
  const Thresholds& limit = thresholds();
  return oversubscribed && ranks >= limit.oversubscribed_linear_least_ranks &&
         ranks <= limit.oversubscribed_linear_most_ranks && bytes <= limit.oversubscribed_linear;
}

BcastAlgorithm choose_bcast(int ranks, std::uint64_t bytes) noexcept {
  const Thresholds& limit = thresholds();
  if (ranks <= 2 || bytes <= limit.bcast_binomial) return BcastAlgorithm::kBinomial;
  if (bytes <= limit.bcast_scatter_allgather) return BcastAlgorithm::kScatterAllgather;
  // The chain pays once there are more segments than ranks to fill.
  const bool fills = bytes / limit.bcast_segment > static_cast<std::uint64_t>(ranks);
  return fills ? BcastAlgorithm::kChain : BcastAlgorithm::kScatterAllgather;
}

TreeAlgorithm choose_tree(int ranks, std::uint64_t block_bytes) noexcept {
  return ranks > 4 && block_bytes <= thresholds().tree ? TreeAlgorithm::kBinomial : TreeAlgorithm::kLinear;
}

AllgatherAlgorithm choose_allgather(int ranks, std::uint64_t total_bytes) noexcept {
  const Thresholds& limit = thresholds();
  const bool little = total_bytes <= limit.allgather_bruck;
  const bool little_each = total_bytes <= static_cast<std::uint64_t>(ranks) * limit.allgather_bruck_block;
  return ranks > 2 && (little || little_each) ? AllgatherAlgorithm::kBruck : AllgatherAlgorithm::kRing;
}

AlltoallAlgorithm choose_alltoall(bool oversubscribed, int ranks, std::uint64_t block_bytes) noexcept {
  const Thresholds& limit = thresholds();
  const std::uint64_t short_enough = oversubscribed ? limit.oversubscribed_alltoall_bruck : limit.alltoall_bruck;
  const bool bruck = ranks >= limit.alltoall_bruck_ranks && block_bytes <= short_enough;
  return bruck ? AlltoallAlgorithm::kBruck : AlltoallAlgorithm::kPairwise;
}

ReduceAlgorithm choose_reduce(int ranks, std::uint64_t bytes) noexcept {
  return ranks <= 2 || bytes <= thresholds().reduce_binomial ? ReduceAlgorithm::kBinomial
                                                             : ReduceAlgorithm::kScatterGather;
}

AllreduceAlgorithm choose_allreduce(int ranks, std::uint64_t bytes, std::uint64_t elements, bool commutative) noexcept {
  const Thresholds& limit = thresholds();
  if (bytes <= limit.allreduce_doubling || elements < static_cast<std::uint64_t>(ranks)) {
    return AllreduceAlgorithm::kRecursiveDoubling;
  }
  const bool power_of_two = (ranks & (ranks - 1)) == 0;
  if (power_of_two || !commutative || bytes <= limit.allreduce_halving) return AllreduceAlgorithm::kHalving;
  return AllreduceAlgorithm::kRing;
}

ReduceScatterAlgorithm choose_reduce_scatter(int ranks, std::uint64_t total_bytes) noexcept {
  return ranks > 2 && total_bytes <= thresholds().reduce_scatter_doubling ? ReduceScatterAlgorithm::kDoubling
                                                                          : ReduceScatterAlgorithm::kPairwise;
}

}  // namespace lapwing::coll
