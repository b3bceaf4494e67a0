#include "net/tcp/common_networks.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lapwing::net::tcp {
namespace {

std::vector<Address> list_of(const char* text) {
  std::vector<Address> list;
  EXPECT_TRUE(decode_addresses(text, list).ok()) << text;
  return list;
}

std::string found(const char* low, const char* high) {
  std::string text;
  for (const CommonNetwork& network : common_networks(list_of(low), list_of(high)))
    text += network.low.text_without_port() + "-" + network.high.text_without_port() + " ";
  return text;
}

TEST(CommonNetworks, OnePairOfAddressesForEach) {
  EXPECT_EQ(found("127.0.0.1:1/8,10.2.0.1:1/24,10.1.0.1:1/24", "127.0.0.1:2/8,10.1.0.2:2/24,10.2.0.2:2/24,192.0.2.2:2/24"),
            "10.1.0.1-10.1.0.2 10.2.0.1-10.2.0.2 ");
  EXPECT_EQ(found("10.1.0.1:1/24,10.1.0.9:1/24", "10.1.0.2:2/24,10.1.0.3:2/24"), "10.1.0.1-10.1.0.2 ");
  EXPECT_EQ(found("10.1.0.1:1/24", "10.1.0.2:2/16"), "");
}

TEST(CommonNetworks, NotThoseThatEveryHostHasForItself) {
  EXPECT_EQ(found("172.17.0.1:1/16~,192.168.7.1:1/24,10.1.0.1:1/24,169.254.1.1:1/16",
                  "172.17.0.2:2/16~,192.168.7.1:2/24,10.1.0.2:2/24,169.254.1.2:1/16"),
            "10.1.0.1-10.1.0.2 ");
}

TEST(CommonNetworks, IPv6WhereThereIsNothingElse) {
  EXPECT_EQ(found("[fd00::1]:1/64,10.1.0.1:1/24,[fd01::1]:1/64", "10.1.0.2:2/24,[fd01::2]:2/64,[fd00::2]:2/64"), "10.1.0.1-10.1.0.2 ");
  EXPECT_EQ(found("[fd01::1]:1/64,[fd00::1]:1/64", "[fd01::2]:2/64,[fd00::2]:2/64"), "fd00::1-fd00::2 fd01::1-fd01::2 ");
}

// In whatever order the cards name the addresses.
TEST(CommonNetworks, BothSidesFindTheSameOrder) {
  std::vector<Address> low = list_of("10.1.0.1:1/24,10.2.0.1:1/24,10.3.0.1:1/24,10.3.0.7:1/24"), high = list_of("10.1.0.2:1/24,10.2.0.2:1/24,10.3.0.2:1/24");
  const std::vector<CommonNetwork> expected = common_networks(low, high);
  ASSERT_EQ(expected.size(), 3u);
  for (int turn = 0; turn < 6; ++turn) {
    std::rotate(low.begin(), low.begin() + 1, low.end());
    std::reverse(high.begin(), high.end() - turn % 2);
    const std::vector<CommonNetwork> here = common_networks(low, high);
    ASSERT_EQ(here.size(), expected.size());
    for (std::size_t i = 0; i < here.size(); ++i) {
      EXPECT_EQ(here[i].low.text(), expected[i].low.text());
      EXPECT_EQ(here[i].high.text(), expected[i].high.text());
    }
  }
}

}  // namespace
}  // namespace lapwing::net::tcp
