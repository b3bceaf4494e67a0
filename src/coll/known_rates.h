// What a byte costs between hosts, as communicators have found it out (link_rate.h): this process's memory, for those that are made later of
// communicators that never measured.
//
// What the ranks of a communicator remember differs, because each was a member of others. So what rank 0 remembers decides, and rank 0 tells them.
// With the endpoint's lock held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace lapwing::coll {

class KnownRates {
 public:
  using Hosts = std::vector<std::uint32_t>;  // numbers of net::HostTable, ascending, each once

  // Of `hosts` a communicator has found this, in nanoseconds a byte; 0: it could not tell.
  void add(const Hosts& hosts, double per_byte);
  // What the latest communicator found that had these hosts, and perhaps more: what is made of it by splitting has its rate as well. 0: so many could
  // not tell that another one need not try.
  std::optional<double> of(const Hosts& hosts) const noexcept;

 private:
  static constexpr std::size_t kMost = 16;
  static constexpr int kTries = 3;

  struct Known {
    Hosts hosts;
    double per_byte = 0;
    int failures = 0;
  };

  std::vector<Known> known_;  // the latest is the last
};

}  // namespace lapwing::coll
