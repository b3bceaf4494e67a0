// Two levels: which ranks of a communicator share a host, for algorithms in which the ranks of a host combine first, and one of them
// speaks for the host (two_levels_*.cc). Hosts may have unequal numbers of ranks, and the ranks of a host need not follow each other.
//
// The same on every rank but for where it is itself: what it is made from is (net/host_table.h). Hosts are numbered in the order of their
// lowest ranks. A plain value, made once for a communicator and never changed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace lapwing::coll {

class Levels {
 public:
  // `host_of`: of each rank, as any numbers. Null where there is nothing to combine: one host has all ranks, or each has one.
  static std::unique_ptr<const Levels> make(const std::vector<std::uint32_t>& host_of, int rank);

  int hosts() const noexcept { return static_cast<int>(members_.size()); }
  int host_of(int rank) const noexcept { return host_of_[static_cast<std::size_t>(rank)]; }
  // In the order of ranks.
  const std::vector<int>& members(int host) const noexcept { return members_[static_cast<std::size_t>(host)]; }
  // A rank's number among the members of its host.
  int place_of(int rank) const noexcept { return place_of_[static_cast<std::size_t>(rank)]; }
  // The most ranks that a host has.
  int most_members() const noexcept { return most_members_; }
  // Whether the members of each host are ranks that follow each other: then so do the hosts, and what they combine one after the other is
  // combined in the order of ranks.
  bool in_order() const noexcept { return in_order_; }

  // This rank's.
  int host() const noexcept { return host_of(rank_); }
  int place() const noexcept { return place_of(rank_); }
  const std::vector<int>& neighbors() const noexcept { return members(host()); }

  // The rank that speaks for each host: the root for its own, else the lowest.
  std::vector<int> speakers(int root) const;

 private:
  Levels(const std::vector<std::uint32_t>& host_of, int rank);

  std::vector<int> host_of_, place_of_;
  std::vector<std::vector<int>> members_;
  int most_members_ = 0;
  bool in_order_ = true;
  int rank_;
};

}  // namespace lapwing::coll
