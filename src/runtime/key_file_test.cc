#include "runtime/key_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace lapwing::runtime {
namespace {

class KeyFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/lapwing-key-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    const char* before = std::getenv("HOME");
    home_ = before != nullptr ? before : "";
    ::setenv("HOME", folder_.c_str(), 1);
  }
  void TearDown() override {
    ::setenv("HOME", home_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  std::string at(const char* name) const { return folder_ + "/" + name; }
  void write(const std::string& path, const std::string& text, mode_t mode = 0600) {
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
  }
  // What is said of it; empty: it was read.
  std::string why_not(const std::string& path) {
    std::string key;
    const Status status = read_key_file(path, key);
    EXPECT_EQ(key.size(), status.ok() ? kKeyBytes : 0);
    return status.ok() ? "" : status.text();
  }

  std::string folder_, home_;
};

TEST_F(KeyFileTest, WhatIsMadeCanBeRead) {
  ASSERT_TRUE(make_key_file(at("a/b/key")).ok());
  ASSERT_TRUE(make_key_file(at("a/b/other")).ok());
  std::string key, again, other;
  ASSERT_TRUE(read_key_file(at("a/b/key"), key).ok());
  ASSERT_TRUE(read_key_file("~/a/b/key", again).ok());
  ASSERT_TRUE(read_key_file(at("a/b/other"), other).ok());
  EXPECT_EQ(key.size(), kKeyBytes);
  EXPECT_EQ(key, again);
  EXPECT_NE(key, other);
  struct stat about {};
  ASSERT_EQ(::stat(at("a/b/key").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat(at("a/b").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0700u);
}

TEST_F(KeyFileTest, OneThatIsThereStays) {
  ASSERT_TRUE(make_key_file(at("key")).ok());
  std::string key, after;
  ASSERT_TRUE(read_key_file(at("key"), key).ok());
  const Status again = make_key_file(at("key"));
  EXPECT_FALSE(again.ok());
  EXPECT_NE(std::string(again.text()).find("there is one"), std::string::npos) << again.text();
  ASSERT_TRUE(read_key_file(at("key"), after).ok());
  EXPECT_EQ(key, after);
}

TEST_F(KeyFileTest, OnlyTheDefaultMayBeMissing) {
  std::string key;
  EXPECT_TRUE(read_key_file(kDefaultKeyFile, key).ok());
  EXPECT_TRUE(key.empty());
  EXPECT_TRUE(read_key_file("", key).ok());
  EXPECT_NE(why_not(at("nothing")).find("nothing (LAPWING_KEY_FILE) cannot be used: No such file or directory; `lapwing key` makes one"),
            std::string::npos);
  std::filesystem::create_directories(at(".config/lapwing"));
  write(at(".config/lapwing/key"), "too short");
  EXPECT_NE(why_not(kDefaultKeyFile).find("64 hexadecimal digits"), std::string::npos) << "one that is there counts";
}

TEST_F(KeyFileTest, WhatOthersMayReadIsRefused) {
  const std::string digits(64, 'a');
  for (const mode_t mode : {0640u, 0604u, 0620u, 0777u}) {
    write(at("key"), digits, mode);
    EXPECT_NE(why_not(at("key")).find("other users may read or write it"), std::string::npos) << mode;
  }
  write(at("key"), digits, 0400);
  EXPECT_EQ(why_not(at("key")), "");
}

TEST_F(KeyFileTest, WhatBelongsToAnotherUserIsRefused) {
  write(at("key"), std::string(64, 'a'));
  if (::chown(at("key").c_str(), 12345, 12345) != 0) GTEST_SKIP() << "only root can give files away";
  EXPECT_NE(why_not(at("key")).find("it belongs to another user (12345)"), std::string::npos);
}

TEST_F(KeyFileTest, WhatIsNoKeyIsRefused) {
  for (const std::string& text : {std::string(), std::string(63, 'a'), std::string(66, 'a'), std::string(64, 'g'), std::string(64, 'A'),
                                  std::string(64, 'a') + "\r", std::string(64, 'a') + "\n\n"}) {
    write(at("key"), text);
    EXPECT_NE(why_not(at("key")).find("64 hexadecimal digits"), std::string::npos) << text;
  }
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_NE(why_not(at("pipe")).find("no ordinary file"), std::string::npos);
  EXPECT_NE(why_not(folder_).find("no ordinary file"), std::string::npos);
}

}  // namespace
}  // namespace lapwing::runtime
