// A process table with one job, for tests that need no more.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "runtime/process_table.h"

namespace lapwing::runtime {

inline constexpr std::uint32_t kJobForTests = 4711;

inline const ProcessTable& one_job(std::uint32_t ranks) {
  static std::mutex mutex;
  static std::map<std::uint32_t, ProcessTable> tables;
  const std::lock_guard guard(mutex);
  ProcessTable& table = tables[ranks];
  if (table.size() == 0) {
    EXPECT_TRUE(table.add_job(kJobForTests, ranks).ok());
  }
  return table;
}

}  // namespace lapwing::runtime
