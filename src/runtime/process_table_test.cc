#include "runtime/process_table.h"

#include <gtest/gtest.h>

#include <string>

namespace lapwing::runtime {
namespace {

constexpr std::uint32_t kOwn = 700, kOther = 901, kThird = 6;

TEST(ProcessTable, NumbersJobsInTheOrderInWhichTheyAreMet) {
  ProcessTable table;
  ASSERT_TRUE(table.add_job(kOwn, 4).ok());
  ASSERT_TRUE(table.add_job(kOther, 1).ok());
  ASSERT_TRUE(table.add_job(kThird, 3).ok());
  EXPECT_EQ(table.size(), 8u);
  const wire::JobRank names[] = {{kOwn, 0},   {kOwn, 1},   {kOwn, 2},   {kOwn, 3},
                                 {kOther, 0}, {kThird, 0}, {kThird, 1}, {kThird, 2}};
  for (std::uint32_t index = 0; index < 8; ++index) {
    EXPECT_EQ(table.name({index}), names[index]);
    ProcessId found{99};
    EXPECT_TRUE(table.find(names[index], found));
    EXPECT_EQ(found, ProcessId{index});
    EXPECT_EQ(table.is_own_job({index}), index < 4);
  }
  EXPECT_TRUE(table.has({7}));
  EXPECT_FALSE(table.has({8}));
}

TEST(ProcessTable, AnIdKeepsItsProcessWhenTheTableGrows) {
  ProcessTable table;
  ASSERT_TRUE(table.add_job(kOwn, 2).ok());
  ASSERT_TRUE(table.add_job(kOther, 2).ok());
  const wire::JobRank before = table.name({3});
  for (std::uint32_t job = 0; job < 40; ++job) {
    if (ProcessTable::short_number(job) == ProcessTable::short_number(kOwn) ||
        ProcessTable::short_number(job) == ProcessTable::short_number(kOther))
      continue;
    ASSERT_TRUE(table.add_job(job, 1000).ok());
  }
  EXPECT_EQ(table.name({3}), before);
  EXPECT_EQ(table.name({1}), (wire::JobRank{kOwn, 1}));
}

TEST(ProcessTable, NamesThatNoProcessHasAreNotFound) {
  ProcessTable table;
  ASSERT_TRUE(table.add_job(kOwn, 4).ok());
  ProcessId found{17};
  EXPECT_FALSE(table.find({kOwn, 4}, found));
  EXPECT_FALSE(table.find({kOther, 0}, found));
  EXPECT_FALSE(table.find({kOwn, 0xffffffffu}, found));
  EXPECT_EQ(found, ProcessId{17});
}

TEST(ProcessTable, ChecksItsLimits) {
  ProcessTable table;
  EXPECT_FALSE(table.add_job(kOwn, 0).ok());
  EXPECT_FALSE(table.add_job(kOwn, ProcessTable::kMostRanks + 1).ok());
  EXPECT_EQ(table.size(), 0u);
  ASSERT_TRUE(table.add_job(kOwn, ProcessTable::kMostRanks).ok());
  EXPECT_FALSE(table.add_job(kOwn, 1).ok()) << "it is in the table";
  const Status same = table.add_job(kOwn + ProcessTable::kShortNumbers, 1);
  EXPECT_NE(std::string(same.text()).find("same number"), std::string::npos) << same.text();
  EXPECT_EQ(table.size(), ProcessTable::kMostRanks);
  std::uint32_t refused = 0;
  for (std::uint32_t job = 0; job < ProcessTable::kShortNumbers; ++job)
    refused += !table.add_job(job, ProcessTable::kMostRanks).ok();
  EXPECT_EQ(refused, 1u) << "the own job's number";
  EXPECT_EQ(table.size(), ProcessTable::kMostRanks * ProcessTable::kShortNumbers);
}

TEST(ProcessTable, DescribesOthersByTheirJob) {
  ProcessTable table;
  ASSERT_TRUE(table.add_job(kOwn, 2).ok());
  ASSERT_TRUE(table.add_job(kOther, 2).ok());
  EXPECT_EQ(table.describe({1}), "rank 1");
  EXPECT_EQ(table.describe({3}), "rank 1 of job 901");
  EXPECT_EQ(table.describe({4}), "a process that is not known");
}

TEST(JobRank, IsEightBytesLittleEndian) {
  std::byte bytes[wire::JobRank::kBytes];
  wire::JobRank{0x04030201, 0x08070605}.encode(bytes);
  for (unsigned i = 0; i < sizeof bytes; ++i) EXPECT_EQ(bytes[i], std::byte(i + 1));
  EXPECT_EQ(wire::JobRank::decode(bytes), (wire::JobRank{0x04030201, 0x08070605}));
  EXPECT_LT((wire::JobRank{1, 9}), (wire::JobRank{2, 0}));
}

}  // namespace
}  // namespace lapwing::runtime
