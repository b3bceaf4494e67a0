#include "base/tuning.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace lapwing {
namespace {

TEST(Tuning, EveryDefaultIsWithinItsRange) {
  for (const TuningDescription& entry : describe(Tuning())) {
    Tuning values;
    const Status status = values.set(entry.name + "=" + entry.default_text);
    EXPECT_TRUE(status.ok()) << status.text();
  }
}

TEST(Tuning, NamesAreDistinctAndExplained) {
  std::set<std::string> names;
  for (const TuningDescription& entry : describe(Tuning())) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.meaning.empty() || entry.source.empty()) << entry.name;
  }
}

TEST(Tuning, AnAssignmentChangesOneValue) {
  Tuning values;
  ASSERT_TRUE(values.set("engine.earned_share=50").ok());
  EXPECT_EQ(values.engine_earned_share, 50u);
  EXPECT_EQ(values.engine_most_saved, Tuning().engine_most_saved);
}

TEST(Tuning, WhatIsMalformedIsRefusedAndChangesNothing) {
  Tuning values;
  for (const char* text :
       {"engine.earned_share", "engine.earned_share=", "engine.earned_share=0", "engine.earned_share=-1",
        "engine.earned_share=2k", "engine.earned_share=99999999999999999999"}) {
    const Status status = values.set(text);
    EXPECT_FALSE(status.ok()) << text;
    EXPECT_NE(std::string(status.text()).find("it takes count, 1 to 1000000"), std::string::npos) << status.text();
  }
  EXPECT_EQ(values.engine_earned_share, Tuning().engine_earned_share);
}

TEST(Tuning, AnUnknownNameIsRefused) {
  Tuning values;
  const Status status = values.set("engine.nothing=1");
  EXPECT_NE(std::string(status.text()).find("engine.nothing is no tuning value"), std::string::npos) << status.text();
}

}  // namespace
}  // namespace lapwing
