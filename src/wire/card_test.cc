#include "wire/card.h"

#include <gtest/gtest.h>

namespace lapwing::wire {
namespace {

TEST(Card, TravelsAsText) {
  Card card;
  card.set("version", "1");
  card.set("tcp", "[fd00::2]:4000/64,192.0.2.2:4000/24");
  card.set("name", "node seven; 100%=x\n\xff");
  const std::string text = card.encode();
  EXPECT_EQ(text, "name=node%20seven%3B%20100%25%3Dx%0A%FF;tcp=[fd00::2]:4000/64,192.0.2.2:4000/24;version=1");
  Card copy;
  ASSERT_TRUE(Card::decode(text, copy).ok());
  EXPECT_EQ(copy.get("name"), card.get("name"));
  EXPECT_EQ(copy.get("tcp"), card.get("tcp"));
  EXPECT_EQ(copy.encode(), text);
}

TEST(Card, TellsAbsentFromEmpty) {
  Card card;
  ASSERT_TRUE(Card::decode("shm=;pid=7", card).ok());
  EXPECT_TRUE(card.has("shm"));
  EXPECT_EQ(card.get("shm"), "");
  EXPECT_FALSE(card.has("tcp"));
  EXPECT_EQ(card.get("tcp"), "");
  ASSERT_TRUE(Card::decode("", card).ok());
  EXPECT_FALSE(card.has("pid"));
}

TEST(Card, RefusesMalformedText) {
  Card card;
  for (const char* text : {"a", "=1", "A=1", "a b=1", "a=1;", ";a=1", "a=1;;b=2", "a=%", "a=%2", "a=%2g", "a=b=c",
                           "a= b", "a=\x7f", "a=1;a=2"}) {
    EXPECT_FALSE(Card::decode(text, card).ok()) << text;
    EXPECT_EQ(card.encode(), "") << text;
  }
  EXPECT_FALSE(Card::decode("a=" + std::string(Card::kMaxBytes, 'x'), card).ok());
}

}  // namespace
}  // namespace lapwing::wire
