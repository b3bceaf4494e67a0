#include "comm/info.h"

#include <gtest/gtest.h>

namespace lapwing::comm {
namespace {

class InfoTest : public testing::Test {
 protected:
  ~InfoTest() override { Info::drop(info_); }
  std::string value_of(std::string_view key) {
    std::string value;
    return info_->get(key, value) ? value : "absent";
  }
  Info* info_ = Info::make();
};

TEST_F(InfoTest, KeepsTheOrderOfFirstSetting) {
  ASSERT_TRUE(info_->set("b", "1").ok());
  ASSERT_TRUE(info_->set("a", "2").ok());
  ASSERT_TRUE(info_->set("b", "3").ok());
  std::string key;
  ASSERT_TRUE(info_->nth_key(0, key).ok());
  EXPECT_EQ(key, "b");
  ASSERT_TRUE(info_->nth_key(1, key).ok());
  EXPECT_EQ(key, "a");
  EXPECT_EQ(value_of("b"), "3");
  EXPECT_EQ(info_->nth_key(2, key).error_class(), MPI_ERR_ARG);
  EXPECT_EQ(info_->nth_key(-1, key).error_class(), MPI_ERR_ARG);
}

TEST_F(InfoTest, KeepsBlanksAroundKeysAndValues) {
  ASSERT_TRUE(info_->set("  key ", " value ").ok());
  ASSERT_TRUE(info_->set("key", "other").ok());
  EXPECT_EQ(value_of("  key "), " value ");
  EXPECT_EQ(value_of("key"), "other");
  ASSERT_TRUE(info_->set(" ", "blank").ok());
  EXPECT_EQ(value_of(" "), "blank");
  EXPECT_EQ(info_->size(), 3);
  std::string key;
  ASSERT_TRUE(info_->nth_key(0, key).ok());
  EXPECT_EQ(key, "  key ");
}

TEST_F(InfoTest, ChecksLengths) {
  EXPECT_EQ(info_->set("", "v").error_class(), MPI_ERR_INFO_KEY);
  EXPECT_EQ(info_->set(std::string(MPI_MAX_INFO_KEY, 'k'), "v").error_class(), MPI_ERR_INFO_KEY);
  EXPECT_TRUE(info_->set(std::string(MPI_MAX_INFO_KEY - 1, 'k'), "v").ok());
  EXPECT_TRUE(info_->set("k", "").ok());  // a value may be empty
  EXPECT_EQ(info_->set("k", std::string(MPI_MAX_INFO_VAL, 'v')).error_class(), MPI_ERR_INFO_VALUE);
  EXPECT_TRUE(info_->set("k", std::string(MPI_MAX_INFO_VAL - 1, 'v')).ok());
}

TEST_F(InfoTest, Removes) {
  ASSERT_TRUE(info_->set("k", "v").ok());
  EXPECT_TRUE(info_->remove("k").ok());
  EXPECT_EQ(info_->remove("k").error_class(), MPI_ERR_INFO_NOKEY);
  EXPECT_EQ(value_of("k"), "absent");
}

TEST_F(InfoTest, DuplicatesAreIndependent) {
  ASSERT_TRUE(info_->set("k", "v").ok());
  Info* copy = info_->duplicate();
  ASSERT_TRUE(info_->set("k", "w").ok());
  std::string value;
  EXPECT_TRUE(copy->get("k", value));
  EXPECT_EQ(value, "v");
  Info::drop(copy);
}

}  // namespace
}  // namespace lapwing::comm
