// Shared areas in one process: several pools on one memory, each a rank's.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "coll/area_pool.h"
#include "coll/host_memory_for_tests.h"

namespace lapwing::coll {

struct GroupDrop {
  void operator()(comm::Group* group) const noexcept { comm::Group::drop(group); }
};
using GroupRef = std::unique_ptr<comm::Group, GroupDrop>;

struct Rank {
  Rank(const HostMemoryForTests& memory, std::uint32_t own) : host(memory, {{4}, {7}, {9}}, own) { pool.on_open(host); }
  HostViewForTests host;
  AreaPool pool;
};

struct Watcher final : SharedArea::Watcher {
  void on_posted() noexcept override { ++posted; }
  void on_member_lost(const Status& status) noexcept override { why = status.text(); }
  int posted = 0;
  std::string why;
};

class AreaPoolTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kRanks = 3;
  static constexpr std::uint64_t kCall = 7;
  static constexpr std::uint64_t kKey = 100;

  void SetUp() override {
    for (std::uint32_t i = 0; i < kRanks; ++i) ranks_.push_back(std::make_unique<Rank>(memory_, i));
  }
  AreaPool& pool(int rank) { return ranks_[static_cast<std::size_t>(rank)]->pool; }
  const std::vector<std::uint32_t>& notified(int rank) { return ranks_[static_cast<std::size_t>(rank)]->host.notified; }
  static GroupRef group(const std::vector<ProcessId>& members, int rank) {
    return GroupRef(comm::Group::make(members, members[static_cast<std::size_t>(rank)]));
  }
  std::unique_ptr<SharedArea> open(unsigned number, const std::vector<ProcessId>& members, int rank) {
    std::vector<int> all(members.size());
    std::iota(all.begin(), all.end(), 0);
    return pool(rank).open_area(number, *group(members, rank), all);
  }
  // All ranks at one area, in the order of the host.
  std::vector<std::unique_ptr<SharedArea>> open(unsigned number) {
    std::vector<std::unique_ptr<SharedArea>> made;
    for (int rank = 0; rank < static_cast<int>(kRanks); ++rank) made.push_back(open(number, {{4}, {7}, {9}}, rank));
    return made;
  }
  AreaMemory world() const { return PoolMemory{memory_.base(), kRanks}.area(AreaPool::kWorld); }

  HostMemoryForTests memory_{kRanks};
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace lapwing::coll
