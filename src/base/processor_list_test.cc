#include "base/processor_list.h"

#include <gtest/gtest.h>

namespace lapwing::tests {
namespace {

TEST(ProcessorList, IsReadAsLinuxWritesIt) {
  EXPECT_EQ(parse_processor_list("0-2,5\n"), (std::vector<int>{0, 1, 2, 5}));
  EXPECT_EQ(parse_processor_list(""), std::vector<int>());
  EXPECT_EQ(parse_processor_list("x,3,4-,99999999"), std::vector<int>{3});
}

TEST(ProcessorList, ComesOutAsItWentIn) {
  for (const char* text : {"", "0", "0-2,5", "7,31-33,1023-1025,8191"}) EXPECT_EQ(print_processor_list(set_of_processors(parse_processor_list(text))), text);
}

std::string mask(const char* text) {
  return print_processor_list(parse_processor_mask(text));
}

TEST(ProcessorMask, IsReadAsLinuxWritesIt) {
  EXPECT_EQ(mask("0\n"), "");
  EXPECT_EQ(mask("3\n"), "0-1");
  EXPECT_EQ(mask("00000001,80000000\n"), "31-32");
  EXPECT_EQ(mask("ff,00000000,00000000"), "64-71");
}

TEST(ProcessorMask, OfWhichAPartIsMalformedIsNone) {
  for (const char* text : {"", "x", "1,", ",1", "1,,1", "1ffffffff", "-1"}) EXPECT_EQ(mask(text), "") << text;
}

}  // namespace
}  // namespace lapwing::tests
