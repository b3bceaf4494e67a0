#include "net/tcp/home_watch.h"

#include <gtest/gtest.h>
#include <netinet/in.h>

#include "base/clock.h"

namespace lapwing::net::tcp {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

class HomeWatchTest : public testing::Test {
 protected:
  HomeWatchTest() {
    engine::EngineOptions options;
    options.event_thread = false;
    EXPECT_TRUE(engine_.start(options).ok());
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(Socket::listen(Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&any)), {}, listener_), 0);
    home_ = listener_.local_address();
  }
  ~HomeWatchTest() { engine_.stop(); }

  void pass(std::int64_t milliseconds) {
    clock_.advance(milliseconds * kMillisecond);
    engine_.turn();
  }
  // The attempts behind the first, which has stood.
  void pass_the_others() {
    for (unsigned i = 1; i < HomeWatch::kInARow; ++i) {
      EXPECT_EQ(reached_, expected_) << "one is not enough";
      pass(1001);
      EXPECT_TRUE(was_tried());
      pass(501);
    }
    EXPECT_EQ(reached_, ++expected_);
  }
  bool was_tried() {
    Socket accepted;
    Address peer;
    return listener_.accept(accepted, peer) == 0;
  }

  ManualClock clock_;
  engine::Engine engine_{clock_};
  Socket listener_;
  Address home_;
  int reached_ = 0, expected_ = 0;
  HomeWatch watch_{engine_, [this] { ++reached_; }};
};

TEST_F(HomeWatchTest, AHomeThatAnswersIsToldOnce) {
  watch_.begin(home_);
  EXPECT_FALSE(was_tried());
  pass(1001);
  EXPECT_TRUE(was_tried());
  pass(501);
  pass_the_others();
  pass(100'000);
  EXPECT_EQ(reached_, 1);
  EXPECT_FALSE(was_tried());
}

TEST_F(HomeWatchTest, PausesDoubleUntilItAnswers) {
  watch_.begin(home_);
  listener_.close();
  int last = 1000;
  for (int pause = 1000; pause <= 64'000; pause *= 2) {
    pass(pause + 1);
    pass(501);
    EXPECT_EQ(reached_, 0) << pause;
    last = pause;
  }
  ASSERT_EQ(Socket::listen(home_, {}, listener_), 0);
  pass(last - 600);
  EXPECT_FALSE(was_tried());
  pass(601);
  EXPECT_TRUE(was_tried());
  pass(501);
  pass_the_others();
}

TEST_F(HomeWatchTest, OneThatFailsBetweenBeginsAgain) {
  watch_.begin(home_);
  for (int round = 0; round < 3; ++round) {
    pass(64'001);
    pass(501);
    listener_.close();
    pass(1001);
    pass(501);
    ASSERT_EQ(Socket::listen(home_, {}, listener_), 0);
  }
  EXPECT_EQ(reached_, 0);
}

// The network takes connections, and breaks them again.
TEST_F(HomeWatchTest, AStayThatIsShortLeavesThePausesLong) {
  for (int pause = 1000; pause <= 4000; pause *= 2) {
    watch_.begin(home_);
    pass(pause - 1);
    EXPECT_FALSE(was_tried()) << pause;
    pass(2);
    EXPECT_TRUE(was_tried()) << pause;
    pass(501);
    pass_the_others();
    watch_.end();
  }
  EXPECT_EQ(reached_, 3);
  clock_.advance(100'000 * kMillisecond);
  watch_.begin(home_);
  pass(1001);
  EXPECT_TRUE(was_tried());
}

// Breaks at home are no stays elsewhere: how long it was at home counts from when it came there.
TEST_F(HomeWatchTest, AStayThatWasLongIsForgottenHoweverItEnds) {
  for (int away = 0; away < 3; ++away) {
    watch_.begin(home_);
    pass(1001);
    EXPECT_TRUE(was_tried()) << away;
    pass(501);
    pass_the_others();
    watch_.end();
    clock_.advance(100'000 * kMillisecond);
    watch_.end();  // it breaks
  }
}

}  // namespace
}  // namespace lapwing::net::tcp
