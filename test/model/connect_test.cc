// Which connection wins when both ranks of a pair connect to each other at once (src/net/tcp/link_setup.h, acceptor.cc, connector.cc): two ranks, an
// attempt of each, which may dial two addresses of the other at the same time, and messages that are on their way for as long as they like. An
// acceptor may drop a dial that it has not judged yet, because there is a crowd; its maker then tries again. In the end both must use one and the
// same connection.
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
  kRetry,         // a dial that was dropped is not made again
  kOneProof,      // a rank sends its proof on each dial that the peer proves itself on
};

class Connect {
 public:
  static constexpr int kDrops = 2;
  static constexpr int kDials = 2;
  enum RankState : std::uint8_t { kIdle, kConnecting, kAwaiting, kOpen };
  // What of a dial is on its way, or was last.
  enum Phase : std::uint8_t { kNone, kHello, kChallenge, kResponse, kAccepted, kDuplicate, kUsed, kDropped };

  struct Rank {
    std::uint8_t state, posted, maker, place;  // the latter two: of its connection
  };
  struct Dial {
    std::uint8_t phase, given_up;
    bool under_way() const { return phase != kNone && !given_up; }
    bool committed() const { return !given_up && phase >= kResponse && phase != kDropped; }
  };
  struct State {
    Rank rank[2];
    Dial dial[2][kDials];  // by their maker
    std::uint8_t drops;
  };

  explicit Connect(Without without) : without_(without) {}
  int threads() const { return 2; }
  void begin(State&) const {}

  const char* broken(const State& s) const {
    for (const Rank& rank : s.rank) {
      if (rank.state == kOpen && s.dial[rank.maker][rank.place].given_up) return "a rank uses a connection that its maker has given up";
    }
    const Rank &a = s.rank[0], &b = s.rank[1];
    const bool both = a.state == kOpen && b.state == kOpen;
    return both && (a.maker != b.maker || a.place != b.place) ? "each rank uses another connection" : nullptr;
  }
  const char* unfinished(const State& s) const {
    for (const Rank& rank : s.rank)
      if (rank.state != kOpen) return "a rank has no connection";
    return nullptr;
  }

  // One of the things that this rank can do next; all are tried.
  bool step(State& s, int me, Step& step) const {
    enum { kPost, kDial, kAccept, kDrop, kTry, kWays };
    switch (step.choose(kWays)) {
      case kPost:
        step.name("posts the first frame");
        if (s.rank[me].posted) return false;
        s.rank[me].posted = 1;
        if (s.rank[me].state == kIdle) s.rank[me].state = kConnecting, s.dial[me][0].phase = kHello;
        return true;
      case kDial:
        step.name("dials an address beside the other");
        return dial(s, me, s.dial[me][step.choose(kDials)]);
      case kAccept:
        return accept(s, me, step.choose(kDials), step);
      case kDrop: {
        step.name("drops a stranger");
        std::uint8_t& phase = s.dial[1 - me][step.choose(kDials)].phase;
        if (s.drops == kDrops || phase < kHello || phase > kResponse) return false;
        ++s.drops;
        phase = kDropped;
        return true;
      }
      case kTry:
        return go_on(s, me, step.choose(kDials), step);
    }
    return false;
  }

 private:
  static bool committed(const State& s, int me) { return s.dial[me][0].committed() || s.dial[me][1].committed(); }
  static void give_up(State& s, int me, const Dial* but) {
    for (Dial& dial : s.dial[me]) {
      if (&dial != but && dial.phase != kNone) dial.given_up = 1;
    }
  }

  // One that was given up before its proof was out may be dialled anew.
  bool dial(State& s, int me, Dial& dial) const {
    if (s.rank[me].state != kConnecting || committed(s, me) || dial.under_way() || dial.phase >= kResponse) return false;
    dial = {kHello, 0};
    return true;
  }

  // The peer's dial. What was sent before its maker gave it up still arrives.
  bool accept(State& s, int me, int place, Step& step) const {
    Dial& theirs = s.dial[1 - me][place];
    if (theirs.phase == kHello) {
      step.name("sends a challenge");
      if (without_ == Without::kWaitForProof) return judge(s, me, place), true;
      theirs.phase = kChallenge;
      return true;
    }
    step.name("judges a proof");
    if (theirs.phase != kResponse) return false;
    judge(s, me, place);
    return true;
  }

  void judge(State& s, int me, int place) const {
    Rank& rank = s.rank[me];
    Dial& theirs = s.dial[1 - me][place];
    const bool ours = rank.state == kConnecting && committed(s, me);
    const bool wins = ours && ((me == 0 && without_ != Without::kNoReturn) || without_ == Without::kLowerFirst);
    if (wins || (rank.state == kOpen && without_ != Without::kOnlyOne)) {
      theirs.phase = kDuplicate;
      return;
    }
    if (rank.state == kConnecting && without_ != Without::kGivingUp) give_up(s, me, nullptr);
    open(rank, 1 - me, place);
    theirs.phase = kAccepted;
  }

  static void open(Rank& rank, int maker, int place) {
    rank.state = kOpen;
    rank.maker = static_cast<std::uint8_t>(maker);
    rank.place = static_cast<std::uint8_t>(place);
  }

  bool go_on(State& s, int me, int place, Step& step) const {
    Dial& mine = s.dial[me][place];
    if (mine.given_up) return false;
    switch (mine.phase) {
      case kChallenge:
        step.name("sends its proof");
        mine.phase = kResponse;
        if (without_ != Without::kOneProof) give_up(s, me, &mine);
        return true;
      case kAccepted:
        step.name("is accepted");
        mine.phase = kUsed;
        open(s.rank[me], me, place);
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
                                           ConnectCase{Without::kRetry, Verdict::kStuck},
                                           ConnectCase{Without::kOneProof, Verdict::kBroken}));

}  // namespace
}  // namespace lapwing::model
