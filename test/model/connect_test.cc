// Which connection wins when both ranks of a pair connect to each other at once (src/net/tcp/link.h, acceptor.cc, connector.cc): two ranks, an attempt
// of each, and messages that are on their way for as long as they like. An acceptor may drop an attempt that it has not judged yet, because
// there is a crowd; its maker then tries again. In the end both must use one and the same connection.
#include <gtest/gtest.h>

#include "checker.h"

namespace lapwing::model {
namespace {

enum class Without {
  kNothing,
  kLowerFirst,    // the higher rank, too, answers "duplicate" when its proof is out
  kNoReturn,      // the lower rank accepts although its own proof is out
  kOnlyOne,       // a rank that has a connection accepts another
  kWaitForProof,  // the acceptor decides when it is greeted, not when it has the proof
  kGivingUp,      // the rank that accepts goes on with its own attempt
  kRetry,         // an attempt that was dropped is not made again
};

class Connect {
 public:
  static constexpr int kDrops = 2;
  enum RankState : std::uint8_t { kIdle, kConnecting, kAwaiting, kOpen };
  // What of an attempt is on its way, or was last.
  enum Phase : std::uint8_t { kNone, kHello, kChallenge, kResponse, kAccepted, kDuplicate, kUsed, kDropped };

  struct Rank {
    std::uint8_t state, posted, connection;  // the latter: which rank made it
  };
  struct Attempt {
    std::uint8_t phase, given_up;
  };
  struct State {
    Rank rank[2];
    Attempt attempt[2];  // by its maker
    std::uint8_t drops;
  };

  explicit Connect(Without without) : without_(without) {}
  int threads() const { return 2; }
  void begin(State&) const {}

  const char* broken(const State& s) const {
    for (int me = 0; me < 2; ++me) {
      if (s.rank[me].state == kOpen && s.attempt[s.rank[me].connection].given_up)
        return "a rank uses a connection that its maker has given up";
    }
    const bool both = s.rank[0].state == kOpen && s.rank[1].state == kOpen;
    return both && s.rank[0].connection != s.rank[1].connection ? "each rank uses another connection" : nullptr;
  }
  const char* unfinished(const State& s) const {
    for (const Rank& rank : s.rank)
      if (rank.state != kOpen) return "a rank has no connection";
    return nullptr;
  }

  // One of the things that this rank can do next; all are tried.
  bool step(State& s, int me, Step& step) const {
    enum { kPost, kAccept, kDrop, kTry, kWays };
    switch (step.choose(kWays)) {
      case kPost:
        step.name("posts the first frame");
        if (s.rank[me].posted) return false;
        s.rank[me].posted = 1;
        if (s.rank[me].state == kIdle) s.rank[me].state = kConnecting, s.attempt[me].phase = kHello;
        return true;
      case kAccept:
        return accept(s, me, step);
      case kDrop: {
        step.name("drops a stranger");
        std::uint8_t& phase = s.attempt[1 - me].phase;
        if (s.drops == kDrops || phase < kHello || phase > kResponse) return false;
        ++s.drops;
        phase = kDropped;
        return true;
      }
      case kTry:
        return !s.attempt[me].given_up && try_attempt(s, me, step);
    }
    return false;
  }

 private:
  // The peer's attempt. What was sent before its maker gave it up still arrives.
  bool accept(State& s, int me, Step& step) const {
    Attempt& theirs = s.attempt[1 - me];
    if (theirs.phase == kHello) {
      step.name("sends a challenge");
      if (without_ == Without::kWaitForProof) return judge(s, me), true;
      theirs.phase = kChallenge;
      return true;
    }
    step.name("judges a proof");
    if (theirs.phase != kResponse) return false;
    judge(s, me);
    return true;
  }

  void judge(State& s, int me) const {
    Rank& rank = s.rank[me];
    Attempt &mine = s.attempt[me], &theirs = s.attempt[1 - me];
    const bool committed = rank.state == kConnecting && mine.phase >= kResponse && mine.phase != kDropped;
    const bool wins = committed && ((me == 0 && without_ != Without::kNoReturn) || without_ == Without::kLowerFirst);
    if (wins || (rank.state == kOpen && without_ != Without::kOnlyOne)) {
      theirs.phase = kDuplicate;
      return;
    }
    if (rank.state == kConnecting && without_ != Without::kGivingUp) mine.given_up = 1;
    rank.state = kOpen;
    rank.connection = static_cast<std::uint8_t>(1 - me);
    theirs.phase = kAccepted;
  }

  bool try_attempt(State& s, int me, Step& step) const {
    Attempt& mine = s.attempt[me];
    switch (mine.phase) {
      case kChallenge:
        step.name("sends its proof");
        mine.phase = kResponse;
        return true;
      case kAccepted:
        step.name("is accepted");
        mine.phase = kUsed;
        s.rank[me].state = kOpen;
        s.rank[me].connection = static_cast<std::uint8_t>(me);
        return true;
      case kDuplicate:
        step.name("is told to wait for the other's connection");
        mine.phase = kNone;
        if (s.rank[me].state == kConnecting) s.rank[me].state = kAwaiting;
        return true;
      case kDropped:
        step.name("tries again");
        if (without_ == Without::kRetry) return false;
        mine.phase = kHello;
        return true;
    }
    return false;
  }

  Without without_;
};

TEST(ConnectModel, BothUseOneConnection) {
  const Verdict verdict = check(Connect(Without::kNothing));
  EXPECT_EQ(verdict.kind, Verdict::kHolds) << verdict.why;
  RecordProperty("states", static_cast<int>(verdict.states));
}

struct ConnectCase {
  Without without;
  Verdict::Kind verdict;
};
class ConnectMutant : public ::testing::TestWithParam<ConnectCase> {};

TEST_P(ConnectMutant, IsFoundOut) {
  const Verdict verdict = check(Connect(GetParam().without));
  EXPECT_EQ(verdict.kind, GetParam().verdict) << verdict.why;
}

INSTANTIATE_TEST_SUITE_P(Each, ConnectMutant,
                         ::testing::Values(ConnectCase{Without::kLowerFirst, Verdict::kStuck},
                                           ConnectCase{Without::kNoReturn, Verdict::kBroken},
                                           ConnectCase{Without::kOnlyOne, Verdict::kBroken},
                                           ConnectCase{Without::kWaitForProof, Verdict::kBroken},
                                           ConnectCase{Without::kGivingUp, Verdict::kBroken},
                                           ConnectCase{Without::kRetry, Verdict::kStuck}));

}  // namespace
}  // namespace lapwing::model
