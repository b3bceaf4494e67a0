#include "coll/model/parameters.h"

#include <gtest/gtest.h>

#include <string>

namespace lapwing::coll::model {
namespace {

TEST(Parameters, AreReadAsTheyWerePrinted) {
  Parameters parameters = Parameters::defaults();
  parameters.link(LinkKind::kHosts).per_byte = 8.125;
  parameters.memory.turn = 1234.5;
  Parameters back;
  ASSERT_TRUE(read(print(parameters), back).ok());
  EXPECT_EQ(print(back), print(parameters));
  EXPECT_DOUBLE_EQ(back.link(LinkKind::kHosts).per_byte, 8.125);
  EXPECT_DOUBLE_EQ(back.memory.turn, 1234.5);
}

TEST(Parameters, WhatIsNotNamedStaysAsItWas) {
  Parameters parameters = Parameters::defaults();
  ASSERT_TRUE(read("lapwing-model 1\n# measured\n\nhosts.latency 7\n", parameters).ok());
  EXPECT_DOUBLE_EQ(parameters.link(LinkKind::kHosts).latency, 7);
  EXPECT_DOUBLE_EQ(parameters.link(LinkKind::kShared).latency, Parameters::defaults().link(LinkKind::kShared).latency);
}

TEST(Parameters, BadTextsChangeNothingAndAreTold) {
  const struct {
    const char* text;
    const char* says;
  } kBad[] = {
      {"", "begins with ''"},
      {"lapwing-model 2\n", "'lapwing-model 2' instead of 'lapwing-model 1'"},
      {"lapwing-model 1\nhosts.latency 7\nhosts.speed 1\n", "line 3: 'hosts.speed' is no parameter"},
      {"lapwing-model 1\nhosts.latency fast\n", "line 2: hosts.latency is 'fast'"},
      {"lapwing-model 1\nhosts.latency\n", "line 2: hosts.latency is ''"},
      {"lapwing-model 1\nhosts.latency -1\n", "hosts.latency is '-1'"},
      {"lapwing-model 1\nhosts.latency nan\n", "hosts.latency is 'nan'"},
      {"lapwing-model 1\nhosts.latency 1e10\n", "hosts.latency is '1e10'"},
      {"lapwing-model 1\nhosts.latency 1 2\n", "hosts.latency is '1 2'"},
  };
  for (const auto& bad : kBad) {
    Parameters parameters = Parameters::defaults();
    const std::string text = read(bad.text, parameters).text();
    EXPECT_NE(text.find(bad.says), std::string::npos) << text;
    EXPECT_EQ(print(parameters), print(Parameters::defaults()));
  }
}

TEST(Parameters, KindsOfLinksHaveNames) {
  for (int each = 0; each < kLinkKinds; ++each) {
    LinkKind kind = LinkKind::kShared;
    EXPECT_TRUE(parse(name(static_cast<LinkKind>(each)), kind));
    EXPECT_EQ(static_cast<int>(kind), each);
  }
  LinkKind kind = LinkKind::kHosts;
  EXPECT_FALSE(parse("wire", kind));
}

}  // namespace
}  // namespace lapwing::coll::model
