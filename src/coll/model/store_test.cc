#include "coll/model/store.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace lapwing::coll::model {
namespace {

// A user's folder of configuration, for the time of a test.
class Store : public testing::Test {
 protected:
  Store() {
    char name[] = "/tmp/lapwing-store-XXXXXX";
    folder_ = mkdtemp(name);
    setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
    std::filesystem::create_directories(folder_ + "/lapwing");
  }
  ~Store() override {
    unsetenv("XDG_CONFIG_HOME");
    std::filesystem::remove_all(folder_);
  }
  void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  std::string usual() const { return folder_ + "/lapwing/model-here"; }

  std::string folder_;
};

TEST_F(Store, WithoutAFileTheDefaultsAreInForce) {
  const Loaded loaded = load("", "here");
  EXPECT_EQ(loaded.path, "");
  EXPECT_EQ(loaded.notice, "");
  EXPECT_EQ(print(loaded.parameters), print(Parameters::defaults()));
}

TEST_F(Store, TheFileOfThisHostIsRead) {
  EXPECT_EQ(usual_path("here"), usual());
  write(usual(), "lapwing-model 1\nhosts.latency 7\n");
  EXPECT_EQ(load("", "here").path, usual());
  EXPECT_DOUBLE_EQ(load("", "here").parameters.link(LinkKind::kHosts).latency, 7);
  EXPECT_EQ(load("", "there").path, "") << "of another host";
  EXPECT_EQ(load("none", "here").path, "");
}

TEST_F(Store, TheSettingNamesTheFile) {
  EXPECT_EQ(path_for("", "here"), usual());
  EXPECT_EQ(path_for("/a/file", "here"), "/a/file");
  EXPECT_EQ(path_for("none", "here"), "");
}

TEST_F(Store, WhatIsKeptIsRead) {
  Parameters parameters = Parameters::defaults();
  parameters.memory.post = 77;
  const std::string path = folder_ + "/new/folder/model-here";
  ASSERT_TRUE(keep(path, parameters).ok());
  EXPECT_DOUBLE_EQ(load(path, "here").parameters.memory.post, 77);
  EXPECT_FALSE(keep("/proc/no/such/model", parameters).ok());
}

TEST_F(Store, ABadFileIsToldAndTheDefaultsAreInForce) {
  write(usual(), "lapwing-model 1\nhosts.latency much\n");
  const Loaded loaded = load("", "here");
  EXPECT_NE(loaded.notice.find(usual() + ": line 2: hosts.latency is 'much'"), std::string::npos) << loaded.notice;
  EXPECT_EQ(print(loaded.parameters), print(Parameters::defaults()));
  EXPECT_NE(load(folder_ + "/missing", "here").notice, "") << "one that was asked for must be there";
}

}  // namespace
}  // namespace lapwing::coll::model
