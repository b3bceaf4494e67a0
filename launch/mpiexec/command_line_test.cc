#include "mpiexec/command_line.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace lapwing::launch {
namespace {

using Words = std::vector<std::string>;

CommandLine parsed(const Words& words) {
  CommandLine result;
  const Status status = parse_command_line(words, result);
  EXPECT_TRUE(status.ok()) << status.text();
  return result;
}

std::string error_of(const Words& words) {
  CommandLine result;
  const Status status = parse_command_line(words, result);
  EXPECT_FALSE(status.ok());
  return status.text();
}

TEST(CommandLine, TakesOneProgramWithItsOptions) {
  const CommandLine line = parsed({"-n", "4", "./heat", "-n", "100", "--verbose"});
  ASSERT_EQ(line.programs.size(), 1u);
  EXPECT_EQ(line.programs[0].ranks, 4);
  EXPECT_EQ(line.programs[0].arguments, (Words{"./heat", "-n", "100", "--verbose"}));
  EXPECT_FALSE(line.verbose);
  EXPECT_EQ(line.bind, BindPolicy::kShare);
}

TEST(CommandLine, StartsOneRankWithoutBeingTold) {
  EXPECT_EQ(parsed({"a"}).ranks(), 1);
}

TEST(CommandLine, SeparatesProgramsByColons) {
  const CommandLine line =
      parsed({"-np", "2", "a", "1", ":", "-env", "V", "w", "--wdir", "/tmp", "-n=3", "b", ":", "c"});
  ASSERT_EQ(line.programs.size(), 3u);
  EXPECT_EQ(line.ranks(), 6);
  EXPECT_EQ(line.programs[0].arguments, (Words{"a", "1"}));
  EXPECT_EQ(line.programs[1].ranks, 3);
  EXPECT_EQ(line.programs[1].directory, "/tmp");
  EXPECT_EQ(line.programs[1].environment, (std::vector<Variable>{{"V", "w"}}));
  EXPECT_TRUE(line.programs[0].environment.empty());
}

TEST(CommandLine, GivesJobVariablesToAllPrograms) {
  const CommandLine line = parsed({"-x", "A=1=2", "a", ":", "-genv", "B", "", "-env", "A", "3", "b"});
  EXPECT_EQ(line.programs[0].environment, (std::vector<Variable>{{"A", "1=2"}, {"B", ""}}));
  EXPECT_EQ(line.programs[1].environment, (std::vector<Variable>{{"A", "1=2"}, {"B", ""}, {"A", "3"}}));
}

TEST(CommandLine, ExportsVariablesThatAreSet) {
  ASSERT_EQ(::setenv("COMMAND_LINE_TEST", "here", 1), 0);
  EXPECT_EQ(parsed({"-x", "COMMAND_LINE_TEST", "a"}).programs[0].environment,
            (std::vector<Variable>{{"COMMAND_LINE_TEST", "here"}}));
  EXPECT_NE(error_of({"-x", "COMMAND_LINE_TEST_NOT_SET", "a"}).find("is not set"), std::string::npos);
}

TEST(CommandLine, KnowsItsFlags) {
  const CommandLine line =
      parsed({"-l", "-v", "--bind-to", "core", "--timeout", "2.5", "--oversubscribe", "--", "-odd"});
  EXPECT_TRUE(line.label);
  EXPECT_TRUE(line.verbose);
  EXPECT_EQ(line.bind, BindPolicy::kCore);
  EXPECT_EQ(line.timeout, 2.5);
  EXPECT_EQ(line.programs[0].arguments, (Words{"-odd"}));
  EXPECT_TRUE(parsed({"--help"}).show_help);
  EXPECT_TRUE(parsed({"--version"}).show_version);
}

TEST(CommandLine, RefusesWhatItDoesNotUnderstand) {
  EXPECT_NE(error_of({}).find("no program"), std::string::npos);
  EXPECT_NE(error_of({"-n", "2"}).find("no program"), std::string::npos);
  EXPECT_NE(error_of({"a", ":"}).find("no program"), std::string::npos);
  EXPECT_NE(error_of({"-n"}).find("needs a value"), std::string::npos);
  EXPECT_NE(error_of({"-n", "0", "a"}).find("'0'"), std::string::npos);
  EXPECT_NE(error_of({"-n", "2x", "a"}).find("'2x'"), std::string::npos);
  EXPECT_NE(error_of({"--frobnicate", "a"}).find("--frobnicate"), std::string::npos);
  EXPECT_NE(error_of({"--bind-to", "socket", "a"}).find("socket"), std::string::npos);
  EXPECT_NE(error_of({"--label-output=2", "a"}).find("takes no value"), std::string::npos);
  EXPECT_NE(error_of({"-x", "=v", "a"}).find("not the name"), std::string::npos);
  EXPECT_NE(error_of({"--timeout", "-1", "a"}).find("-1"), std::string::npos);
}

TEST(CommandLine, SendsJobsOnSeveralHostsElsewhere) {
  EXPECT_NE(error_of({"-hostfile", "h", "a"}).find("Hydra"), std::string::npos);
}

}  // namespace
}  // namespace lapwing::launch
