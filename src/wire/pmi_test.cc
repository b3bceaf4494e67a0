#include "wire/pmi.h"

#include <gtest/gtest.h>

#include <string>

namespace lapwing::wire {
namespace {

PmiMessage parsed(std::string_view line) {
  PmiMessage message;
  const Status status = message.parse(line);
  EXPECT_TRUE(status.ok()) << status.text();
  return message;
}

TEST(PmiMessage, ReadsCommandAndAttributes) {
  const PmiMessage message = parsed("cmd=put kvsname=kvs_1 key=card0 value=a=b(c,d)");
  EXPECT_EQ(message.command(), "put");
  ASSERT_NE(message.find("value"), nullptr);
  EXPECT_EQ(*message.find("value"), "a=b(c,d)");
  EXPECT_EQ(message.find("nothing"), nullptr);
}

TEST(PmiMessage, ForgivesExtraSpacesAndEmptyValues) {
  const PmiMessage message = parsed("  cmd=get_result   rc=0 value=  ");
  EXPECT_EQ(message.command(), "get_result");
  EXPECT_EQ(*message.find("value"), "");
}

TEST(PmiMessage, ReadsNumbersStrictly) {
  const PmiMessage message = parsed("cmd=x a=-12 b=12x c= d=99999999999");
  int value = 5;
  EXPECT_TRUE(message.find("a", value));
  EXPECT_EQ(value, -12);
  EXPECT_FALSE(message.find("b", value));
  EXPECT_FALSE(message.find("c", value));
  EXPECT_FALSE(message.find("d", value));
  EXPECT_FALSE(message.find("e", value));
  EXPECT_EQ(value, -12);
}

TEST(PmiMessage, RefusesMalformedLines) {
  const std::string long_line = "cmd=put value=" + std::string(kPmiMaxLine, 'x');
  const std::string with_nul("cmd=put key=a\0b", 15);
  for (const std::string& line :
       {std::string(), std::string("   "), std::string("put"), std::string("cmd="), std::string("key=a cmd=put"),
        std::string("cmd=put =b"), std::string("cmd=put word"), std::string("cmd=put key=a\tb"), with_nul, long_line}) {
    PmiMessage message("before");
    const Status status = message.parse(line);
    EXPECT_FALSE(status.ok()) << line.substr(0, 40);
    EXPECT_EQ(message.command(), "");
  }
}

TEST(PmiMessage, BoundsTheNumberOfAttributes) {
  std::string line = "cmd=x";
  for (std::size_t i = 0; i < kPmiMaxAttributes; ++i) line += " a=1";
  PmiMessage message;
  EXPECT_TRUE(message.parse(line).ok());
  EXPECT_FALSE(message.parse(line + " a=1").ok());
}

TEST(PmiMessage, EncodesWhatItReads) {
  const std::string line = PmiMessage("get").add("kvsname", "k").add("rank", 3).encode();
  EXPECT_EQ(line, "cmd=get kvsname=k rank=3\n");
  EXPECT_EQ(parsed(line.substr(0, line.size() - 1)).encode(), line);
}

TEST(PmiEscape, CarriesAnyText) {
  const std::string text("100% of a\nb\0c = \xff", 17);
  EXPECT_TRUE(is_pmi_text(pmi_escape(text)));
  EXPECT_EQ(pmi_unescape(pmi_escape(text)), text);
  EXPECT_EQ(pmi_escape("a\x85\xa0"), "a%85%a0");  // blanks in Latin-1
  EXPECT_EQ(pmi_unescape("%"), "%");
  EXPECT_EQ(pmi_unescape("%4"), "%4");
  EXPECT_EQ(pmi_unescape("%zz"), "%zz");
}

TEST(PmiLineBuffer, JoinsAndSplits) {
  PmiLineBuffer buffer;
  std::string line;
  EXPECT_FALSE(buffer.next(line));
  ASSERT_TRUE(buffer.append("cmd=a\ncmd=").ok());
  ASSERT_TRUE(buffer.next(line));
  EXPECT_EQ(line, "cmd=a");
  EXPECT_FALSE(buffer.next(line));
  ASSERT_TRUE(buffer.append("b\n\ncmd=c\n").ok());
  ASSERT_TRUE(buffer.next(line));
  EXPECT_EQ(line, "cmd=b");
  ASSERT_TRUE(buffer.next(line));
  EXPECT_EQ(line, "");
  ASSERT_TRUE(buffer.next(line));
  EXPECT_EQ(line, "cmd=c");
  EXPECT_EQ(buffer.pending(), 0u);
}

TEST(PmiLineBuffer, WorksByteByByte) {
  PmiLineBuffer buffer;
  std::string line;
  for (const char byte : std::string("cmd=barrier_out")) {
    ASSERT_TRUE(buffer.append({&byte, 1}).ok());
    EXPECT_FALSE(buffer.next(line));
  }
  ASSERT_TRUE(buffer.append("\n").ok());
  EXPECT_TRUE(buffer.next(line));
  EXPECT_EQ(line, "cmd=barrier_out");
}

TEST(PmiLineBuffer, RefusesAnEndlessLine) {
  PmiLineBuffer buffer;
  EXPECT_TRUE(buffer.append(std::string(kPmiMaxLine, 'x')).ok());
  EXPECT_FALSE(buffer.append("x").ok());
  PmiLineBuffer other;
  EXPECT_FALSE(other.append("ok\n" + std::string(kPmiMaxLine + 1, 'x')).ok());
}

}  // namespace
}  // namespace lapwing::wire
