#include "accelerator/options.h"

#include <gtest/gtest.h>

namespace lapwing::launch::tests {
namespace {

constexpr std::uint64_t kMachine = std::uint64_t{64} << 30;

Status parse(const std::vector<std::string>& arguments, AcceleratorOptions& options) {
  return parse_accelerator_options(arguments, kMachine, options);
}

TEST(AcceleratorOptions, HaveDefaultsOfTheMachine) {
  AcceleratorOptions options;
  options.socket = "/somewhere";
  ASSERT_TRUE(parse({}, options).ok());
  EXPECT_EQ(options.socket, "/somewhere");
  EXPECT_EQ(options.limits.user_memory, kMachine / 8);
  EXPECT_EQ(options.limits.memory, kMachine / 4);
}

TEST(AcceleratorOptions, AreTaken) {
  AcceleratorOptions options;
  ASSERT_TRUE(parse({"--socket", "/s", "--group", "mpi", "--user-memory", "1G", "--memory", "3G", "--user-ranks", "5", "--ranks", "6",
                     "--user-connections", "7", "--ether", "eth0,eth1"},
                    options)
                  .ok());
  EXPECT_EQ(options.socket, "/s");
  EXPECT_EQ(options.group, "mpi");
  EXPECT_EQ(options.ether, (std::vector<std::string>{"eth0", "eth1"}));
  EXPECT_EQ(options.limits.user_memory, std::uint64_t{1} << 30);
  EXPECT_EQ(options.limits.memory, std::uint64_t{3} << 30);
  EXPECT_EQ(options.limits.user_ranks, 5u);
  EXPECT_EQ(options.limits.ranks, 6u);
  EXPECT_EQ(options.limits.user_connections, 7u);
  ASSERT_TRUE(parse({"--help"}, options).ok());
  EXPECT_TRUE(options.help);
}

TEST(AcceleratorOptions, WhatIsWrongIsNamed) {
  AcceleratorOptions options;
  EXPECT_STREQ(parse({"--sockets", "/s"}, options).text(), "--sockets is no option, or /s no value for it");
  EXPECT_STREQ(parse({"--socket"}, options).text(), "--socket is no option, or its value is missing");
  for (const char* value : {"", "x", "0", "-1", "1x", "99999999999"}) EXPECT_FALSE(parse({"--user-ranks", value}, options).ok()) << value;
}

}  // namespace
}  // namespace lapwing::launch::tests
