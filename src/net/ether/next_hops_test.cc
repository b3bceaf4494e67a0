#include "net/ether/next_hops.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "net/ether/segment_for_tests.h"

namespace lapwing::net::ether::tests {
namespace {

constexpr std::uint32_t kNetwork = 0xc6120000;  // 198.18.0.0

class NextHopsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!TestSegment::get().ready()) GTEST_SKIP() << TestSegment::get().why();
    visit_ = std::make_unique<TestSegment::Visit>(TestSegment::get(), 0);
    ASSERT_TRUE(choose_interface({TestSegment::kInterfaces[0]}, interface_).ok());
  }
  // As long as the kernel looks.
  NextHops::Outcome find(std::uint32_t address, NextHop& hop) {
    NextHops hops(interface_);
    for (;;) {
      const NextHops::Outcome outcome = hops.find({address, 27182}, hop);
      if (outcome != NextHops::Outcome::kLooking) return outcome;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  static bool run(const std::string& command) { return std::system((command + " 2>/dev/null").c_str()) == 0; }

  std::unique_ptr<TestSegment::Visit> visit_;
  Interface interface_;
};

Mac mac_of_peer() {
  const TestSegment::Visit visit(TestSegment::get(), 1);
  Interface peer;
  EXPECT_TRUE(choose_interface({TestSegment::kInterfaces[1]}, peer).ok());
  return peer.mac;
}

TEST_F(NextHopsTest, APeerOnTheSegmentIsItsOwnNextHop) {
  EXPECT_EQ(interface_.address, kNetwork + 1);
  NextHop hop;
  ASSERT_EQ(find(kNetwork + 2, hop), NextHops::Outcome::kFound);
  EXPECT_EQ(hop.mac, mac_of_peer());
  EXPECT_EQ(hop.mtu, 0u);
}

TEST_F(NextHopsTest, ARouterLeadsToOthers) {
  ASSERT_TRUE(run("ip route replace 198.19.0.0/24 via 198.18.0.2 dev lwether0 mtu 1400"));
  NextHop hop;
  ASSERT_EQ(find(0xc6130007, hop), NextHops::Outcome::kFound);
  EXPECT_EQ(hop.mac, mac_of_peer());
  EXPECT_EQ(hop.mtu, 1400u);
}

TEST_F(NextHopsTest, WithoutARouteThereIsNone) {
  NextHop hop;
  EXPECT_EQ(find(0xcb007107, hop), NextHops::Outcome::kNone);
  EXPECT_EQ(find(kNetwork + 1, hop), NextHops::Outcome::kNone) << "this host itself";
  ASSERT_TRUE(run("ip route replace unreachable 198.19.1.0/24"));
  EXPECT_EQ(find(0xc6130107, hop), NextHops::Outcome::kNone);
}

TEST_F(NextHopsTest, OneThatDoesNotAnswerIsLookedFor) {
  NextHops hops(interface_);
  NextHop hop;
  EXPECT_EQ(hops.find({kNetwork + 99, 27182}, hop), NextHops::Outcome::kLooking);
}

}  // namespace
}  // namespace lapwing::net::ether::tests
