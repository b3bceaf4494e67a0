#include "mpiexec/pmi_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "mpiexec/event_loop.h"

namespace lapwing::launch {
namespace {

constexpr int kRanks = 3;

// The test speaks for the ranks.
class PmiServerTest : public ::testing::Test, private PmiServer::Listener {
 protected:
  PmiServerTest() {
    for (int rank = 0; rank < kRanks; ++rank) EXPECT_TRUE(server_.open_connection(rank, ends_[rank]).ok());
  }
  ~PmiServerTest() override {
    for (const int end : ends_) ::close(end);
  }
  void say(int rank, std::string_view line) {
    ASSERT_EQ(::send(ends_[rank], line.data(), line.size(), MSG_NOSIGNAL), static_cast<ssize_t>(line.size()));
    for (int turns = 0; turns < kRanks; ++turns) loop_.run_once(0);
  }
  void enter_fence(int rank) { say(rank, "cmd=barrier_in\n"); }
  // What the rank has been answered since it was asked last.
  std::string answers(int rank) const {
    char text[512];
    const ssize_t count = ::recv(ends_[rank], text, sizeof text, MSG_DONTWAIT);
    return count > 0 ? std::string(text, static_cast<std::size_t>(count)) : "";
  }

  EventLoop loop_;
  PmiServer server_{loop_, *this, std::vector<int>(kRanks, 0)};
  std::string told_;  // of ranks that end the job

 private:
  void on_abort(int rank, int code, const std::string& text) override {
    told_ += "abort " + std::to_string(rank) + " " + std::to_string(code) + " " + text + ";";
  }
  void on_error(int rank, RankError error) override {
    told_ += "error " + std::to_string(rank) + " " + std::to_string(error.code) + " " + std::to_string(error.blamed_rank) +
             (error.heard ? " heard " : " ") +
             error.block + ";";
  }
  void on_waiting(int) override {}
  void on_given_up(int, int) override {}
  void on_protocol_error(int, const Status& status) override { FAIL() << status.text(); }

  int ends_[kRanks] = {-1, -1, -1};
};

constexpr const char* kLeft = "cmd=barrier_out rc=0\n";

TEST_F(PmiServerTest, AFenceIsOverForAllWhenTheLastHasCome) {
  for (int turns = 0; turns < 2; ++turns) {
    enter_fence(0);
    enter_fence(1);
    EXPECT_EQ(answers(0), "");
    enter_fence(2);
    for (int rank = 0; rank < kRanks; ++rank) EXPECT_EQ(answers(rank), kLeft) << rank;
  }
}

TEST_F(PmiServerTest, AFenceIsCompleteWithoutARankThatIsExcused) {
  enter_fence(0);
  enter_fence(1);
  server_.excuse(2);
  EXPECT_EQ(answers(0), kLeft);
  EXPECT_EQ(answers(1), kLeft);
  EXPECT_EQ(answers(2), "") << "it has asked nothing";
}

TEST_F(PmiServerTest, ARankThatIsExcusedInAFenceGoesOn) {
  enter_fence(2);
  server_.excuse(2);
  EXPECT_EQ(answers(2), kLeft);
  EXPECT_FALSE(server_.in_fence(2));
  enter_fence(0);
  EXPECT_EQ(answers(0), "") << "another is missing";
  enter_fence(1);
  EXPECT_EQ(answers(0), kLeft);
  EXPECT_EQ(answers(1), kLeft);
  EXPECT_EQ(answers(2), "");
}

TEST_F(PmiServerTest, ARankThatWasExcusedNeitherWaitsNorCounts) {
  server_.excuse(2);
  enter_fence(0);
  enter_fence(2);
  EXPECT_EQ(answers(2), kLeft);
  EXPECT_EQ(answers(0), "") << "another is missing";
  enter_fence(1);
  EXPECT_EQ(answers(0), kLeft);
  EXPECT_EQ(answers(1), kLeft);
}

TEST_F(PmiServerTest, AnErrorIsToldApartFromAnAbort) {
  say(1, "cmd=abort exitcode=9 lapwing_text=a%20b\n");
  say(0, "cmd=abort exitcode=6 lapwing_error=a%0a%20%20b%0a\n");
  say(0, "cmd=abort exitcode=58 lapwing_error=c lapwing_blamed=2 lapwing_heard=1\n");
  say(2, "cmd=abort\n");
  EXPECT_EQ(told_, "abort 1 9 a b;error 0 6 -1 a\n  b\n;error 0 58 2 heard c;abort 2 1 ;");
}

TEST_F(PmiServerTest, RanksHearWhetherErrorsAreShown) {
  say(0, "cmd=lapwing_hello\n");
  EXPECT_NE(answers(0).find(" shows_errors=0 "), std::string::npos);
  server_.set_shows_errors(true);
  say(1, "cmd=lapwing_hello\n");
  EXPECT_NE(answers(1).find(" shows_errors=1 "), std::string::npos);
}

}  // namespace
}  // namespace lapwing::launch
