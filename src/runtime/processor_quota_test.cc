#include "runtime/processor_quota.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace lapwing::runtime {
namespace {

class ProcessorQuotaTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/lapwing-quota-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void mount_version_2() {
    write("/proc/self/mountinfo",
          "24 1 0:22 / /proc rw - proc proc rw\n30 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
  }
  void mount_version_1() {
    write("/proc/self/mountinfo",
          "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
          "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n");
  }

  std::string root_;
};

TEST_F(ProcessorQuotaTest, NothingIsNoLimit) {
  EXPECT_EQ(processor_quota(root_), 0);
  mount_version_2();
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(processor_quota(root_), 0);
}

TEST_F(ProcessorQuotaTest, OfAGroupBelowTheRoot) {
  mount_version_2();
  write("/proc/self/cgroup", "0::/slurm/job_7/step_0\n");
  write("/sys/fs/cgroup/slurm/job_7/step_0/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/slurm/job_7/cpu.max", "250000 100000\n");
  EXPECT_EQ(processor_quota(root_), 2.5);
  write("/sys/fs/cgroup/slurm/cpu.max", "150000 100000\n");
  EXPECT_EQ(processor_quota(root_), 1.5) << "the tightest counts";
}

TEST_F(ProcessorQuotaTest, OfVersion1) {
  mount_version_1();
  write("/proc/self/cgroup", "5:cpuset:/other\n4:cpu,cpuacct:/docker/abc\n0::/\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processor_quota(root_), 0);
  write("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "300000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processor_quota(root_), 3);
}

// The group's path is the host's, but the mount is the container's own group.
TEST_F(ProcessorQuotaTest, InsideAContainer) {
  mount_version_1();
  write("/proc/self/cgroup", "4:cpu,cpuacct:/docker/abc\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processor_quota(root_), 2);
}

}  // namespace
}  // namespace lapwing::runtime
