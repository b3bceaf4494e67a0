// Two ranks whose connection breaks, and who connect to each other again: the counts and answers of attempts and the numbers of frames are the
// code itself (src/net/tcp/attempts.h, src/net/channel.h). Attempts, answers and frames are on their way for as long as they like; an attempt that
// its maker has given up may still arrive; a break takes with it what was on its way, and may be noticed by one side alone.
//
// What must hold: every frame is delivered once and in order, no side refuses to go on, and in the end both use one connection.
#include <gtest/gtest.h>

#include "checker.h"
#include "net/channel.h"
#include "net/tcp/attempts.h"

namespace lapwing::model {
namespace {

using net::tcp::Attempts;
using net::tcp::LinkState;

constexpr int kFrames = 1;  // of each side
constexpr int kSlots = 2;   // attempts of one rank that are not over
constexpr int kBreaks = 2;
constexpr std::uint64_t kMostAttempts = 7;  // more is without end

enum class Wrong {
  kNothing,
  kCountsAlone,         // a side does not take over the other's count
  kTakesLateAttempts,   // an attempt of before the connection takes its place
  kNoReturn,            // the lower rank accepts although its own proof is out
  kRefusesToReplace,    // a side that has not noticed the break keeps its connection
  kWaitsForEver,        // a side that was told to wait does so although nothing comes
  kGoesOnItself,        // frames go on behind what was sent, whatever the peer expects
  kTellsOldPosition,    // a side tells what it expected at first
  kKeepsItsAttempt,     // a side that accepts goes on with its own attempt
};

class Reconnect {
 public:
  enum Phase : std::uint8_t { kFree, kGreeting, kProof, kAccepted, kDuplicate, kUsed };

  struct Frame {
    std::uint32_t sequence, acknowledgement;
    std::uint64_t number;  // what it really is
  };
  struct Attempt {
    std::uint64_t number, maker_expects, acceptor_expects, acceptor_count;
    Frame frame[2];           // on its way to this rank
    std::uint8_t coming[2];   // whether there is one
    std::uint8_t closed[2];   // by this rank
    std::uint8_t noticed[2];  // this rank finds out that it is broken
    std::uint8_t broken, phase;
  };
  struct Rank {
    net::Channel channel;
    Attempts attempts;
    LinkState state;
    std::uint8_t resumes, connector;  // the latter: the slot of its own attempt plus one, or 0
    std::uint8_t maker, slot;         // of the connection
    std::uint8_t delivered, wrong, padding;
  };
  struct State {
    Rank rank[2];
    Attempt attempt[2][kSlots];  // by its maker
    std::uint64_t breaks;
  };

  explicit Reconnect(Wrong wrong) : wrong_(wrong) {}

  enum { kAdversary = 2, kThreads };
  int threads() const { return kThreads; }
  void begin(State&) const {}

  const char* broken(const State& s) const {
    for (int me = 0; me < 2; ++me) {
      if (s.rank[me].wrong == 1) return "a side refuses an honest frame, or to go on";
      if (s.rank[me].wrong == 2) return "a frame is delivered twice, or out of order";
      if (s.rank[me].channel.acknowledged() > s.rank[1 - me].delivered) return "a frame is forgotten before it was delivered";
    }
    return nullptr;
  }
  const char* unfinished(const State& s) const {
    const Rank &a = s.rank[0], &b = s.rank[1];
    if (a.delivered != kFrames || b.delivered != kFrames) return "a frame does not come";
    if (a.state != LinkState::kOpen || b.state != LinkState::kOpen) return "a side has no connection";
    return a.maker != b.maker || a.slot != b.slot ? "each side has another connection" : nullptr;
  }

  bool step(State& s, int thread, Step& step) const {
    if (thread == kAdversary) return break_one(s, step);
    enum { kDial, kProve, kJudge, kLearn, kGiveUpWaiting, kNotice, kSend, kReceive, kWays };
    switch (step.choose(kWays)) {
      case kDial:
        return dial(s, thread, step);
      case kProve:
        return prove(s, thread, step);
      case kJudge:
        return judge(s, thread, step.choose(kSlots), step);
      case kLearn:
        return learn(s, thread, step);
      case kGiveUpWaiting:
        return give_up_waiting(s, thread, step);
      case kNotice:
        return notice(s, thread, step);
      case kSend:
        return send(s, thread, step);
      default:
        return receive(s, thread, step);
    }
  }

 private:
  static Attempt* own(State& s, int me) {
    return s.rank[me].connector != 0 ? &s.attempt[me][s.rank[me].connector - 1] : nullptr;
  }
  static Attempt& connection(State& s, int me) { return s.attempt[s.rank[me].maker][s.rank[me].slot]; }
  static void close(Attempt& attempt, int me) {
    attempt.closed[me] = 1;
    attempt.coming[me] = 0;
    if (attempt.closed[1 - me]) attempt = Attempt{};
  }
  // Its proof may be on its way still; if not, the peer will never hear of it.
  static void give_up_attempt(State& s, int me) {
    Attempt* mine = own(s, me);
    s.rank[me].connector = 0;
    if (mine == nullptr) return;
    if (mine->phase == kGreeting) mine->closed[1 - me] = 1;
    close(*mine, me);
  }
  std::uint64_t position(const Rank& rank) const {
    return wrong_ == Wrong::kTellsOldPosition ? 0 : rank.channel.received();
  }

  // ---- connecting ----

  bool dial(State& s, int me, Step& step) const {
    step.name("begins an attempt");
    Rank& rank = s.rank[me];
    const bool wants = rank.state == LinkState::kIdle || rank.state == LinkState::kConnecting;
    if (!wants || rank.connector != 0 || rank.attempts.count() == kMostAttempts) return false;
    for (int slot = 0; slot < kSlots; ++slot) {
      Attempt& attempt = s.attempt[me][slot];
      if (attempt.phase != kFree) continue;
      rank.state = LinkState::kConnecting;
      rank.connector = static_cast<std::uint8_t>(slot + 1);
      rank.attempts.begin();
      attempt.number = rank.attempts.count();
      attempt.maker_expects = position(rank);
      attempt.phase = kGreeting;
      return true;
    }
    return false;
  }

  bool prove(State& s, int me, Step& step) const {
    step.name("sends its proof");
    Attempt* mine = own(s, me);
    if (mine == nullptr || mine->phase != kGreeting || mine->broken) return false;
    mine->phase = kProof;
    return true;
  }

  bool judge(State& s, int me, int slot, Step& step) const {
    step.name("judges an attempt");
    Rank& rank = s.rank[me];
    Attempt& theirs = s.attempt[1 - me][slot];
    if (theirs.phase != kProof || theirs.broken) return false;
    const Attempt* mine = own(s, me);
    const bool wins = me == 0 && mine != nullptr && mine->phase >= kProof && wrong_ != Wrong::kNoReturn;
    const std::uint64_t number = wrong_ == Wrong::kTakesLateAttempts ? ~std::uint64_t{0} : theirs.number;
    const bool keeps = wrong_ == Wrong::kRefusesToReplace && rank.state == LinkState::kOpen;
    if (rank.attempts.judge(rank.state, number, rank.resumes != 0 && !keeps, wins) != wire::Verdict::kAccepted) {
      theirs.phase = kDuplicate;
      close(theirs, me);
      return true;
    }
    if (rank.state == LinkState::kOpen) leave(s, me);
    if (wrong_ != Wrong::kKeepsItsAttempt) give_up_attempt(s, me);
    theirs.phase = kAccepted;
    theirs.acceptor_expects = position(rank);
    theirs.acceptor_count = rank.attempts.count();
    open(rank, 1 - me, slot, theirs.maker_expects, theirs.number);
    return true;
  }

  bool learn(State& s, int me, Step& step) const {
    Attempt* mine = own(s, me);
    if (mine == nullptr) return false;
    Rank& rank = s.rank[me];
    const int slot = rank.connector - 1;
    if (mine->noticed[me]) {
      step.name("finds its attempt broken");
      give_up_attempt(s, me);
    } else if (mine->broken) {
      return false;
    } else if (mine->phase == kAccepted) {
      step.name("is accepted");
      mine->phase = kUsed;
      rank.connector = 0;
      open(rank, me, slot, mine->acceptor_expects, mine->acceptor_count);
    } else if (mine->phase == kDuplicate) {
      step.name("is told to wait for the other's connection");
      give_up_attempt(s, me);
      rank.state = LinkState::kAwaiting;
    } else {
      return false;
    }
    return true;
  }

  // After so long that the peer has learnt what became of its own attempt.
  bool give_up_waiting(State& s, int me, Step& step) const {
    step.name("has waited in vain");
    if (s.rank[me].state != LinkState::kAwaiting || wrong_ == Wrong::kWaitsForEver) return false;
    if (s.rank[1 - me].connector != 0) return false;
    s.rank[me].state = LinkState::kConnecting;
    return true;
  }

  void open(Rank& rank, int maker, int slot, std::uint64_t peer_expects, std::uint64_t peer_count) const {
    rank.state = LinkState::kOpen;
    rank.resumes = 1;
    rank.maker = static_cast<std::uint8_t>(maker);
    rank.slot = static_cast<std::uint8_t>(slot);
    rank.attempts.agree(wrong_ == Wrong::kCountsAlone ? 0 : peer_count);
    if (!rank.channel.up(wrong_ == Wrong::kGoesOnItself ? rank.channel.sent() : peer_expects).ok()) rank.wrong = 1;
  }

  // ---- breaking ----

  static void leave(State& s, int me) {
    close(connection(s, me), me);
    s.rank[me].channel.down();
    s.rank[me].state = LinkState::kConnecting;
    s.rank[me].maker = s.rank[me].slot = 0;
  }

  bool notice(State& s, int me, Step& step) const {
    step.name("notices that its connection is broken");
    if (s.rank[me].state != LinkState::kOpen) return false;
    const Attempt& at = connection(s, me);
    if (!at.noticed[me] && (at.broken || !at.closed[1 - me])) return false;
    leave(s, me);
    return true;
  }

  // One side at least notices. The maker of an attempt that is not accepted yet has a time limit for it.
  bool break_one(State& s, Step& step) const {
    step.name("breaks a connection");
    const int maker = step.choose(2);
    Attempt& attempt = s.attempt[maker][step.choose(kSlots)];
    if (s.breaks == kBreaks || attempt.phase == kFree || attempt.broken) return false;
    enum { kBoth, kMaker, kAcceptor, kWays };
    const int sides = step.choose(kWays);
    if ((sides == kAcceptor && attempt.phase != kUsed) || (sides == kMaker && attempt.closed[maker])) return false;
    ++s.breaks;
    attempt.broken = 1;
    attempt.noticed[maker] = sides != kAcceptor;
    attempt.noticed[1 - maker] = sides != kMaker;
    attempt.coming[0] = attempt.coming[1] = 0;
    if (attempt.phase < kAccepted) close(attempt, 1 - maker);
    return true;
  }

  // ---- frames ----

  bool send(State& s, int me, Step& step) const {
    step.name("sends a frame");
    Rank& rank = s.rank[me];
    if (rank.state != LinkState::kOpen || rank.channel.next() == kFrames) return false;
    Attempt& at = connection(s, me);
    if (at.coming[1 - me]) return false;
    const std::uint64_t number = rank.channel.next();
    wire::FrameHeader header;
    rank.channel.stamp(header);
    if (at.broken || at.closed[1 - me]) return true;
    at.frame[1 - me] = {header.numbers().sequence, header.numbers().acknowledgement, number};
    at.coming[1 - me] = 1;
    return true;
  }

  bool receive(State& s, int me, Step& step) const {
    step.name("receives a frame");
    Rank& rank = s.rank[me];
    if (rank.state != LinkState::kOpen) return false;
    Attempt& at = connection(s, me);
    if (!at.coming[me]) return false;
    wire::FrameHeader header;
    header.number(at.frame[me].sequence, at.frame[me].acknowledgement);
    if (!rank.channel.accept(header).ok()) rank.wrong = 1;
    if (at.frame[me].number != rank.delivered) rank.wrong = 2;
    rank.channel.receive();
    ++rank.delivered;
    at.frame[me] = Frame{};
    at.coming[me] = 0;
    return true;
  }

  Wrong wrong_;
};

TEST(ReconnectModel, LosesNothingAndEndsWithOneConnection) {
  const Verdict verdict = check(Reconnect(Wrong::kNothing));
  EXPECT_EQ(verdict.kind, Verdict::kHolds) << verdict.why;
  RecordProperty("states", static_cast<int>(verdict.states));
}

struct ReconnectCase {
  Wrong wrong;
  Verdict::Kind verdict;
};
class ReconnectMutant : public ::testing::TestWithParam<ReconnectCase> {};

TEST_P(ReconnectMutant, IsFoundOut) {
  const Verdict verdict = check(Reconnect(GetParam().wrong));
  EXPECT_EQ(verdict.kind, GetParam().verdict) << verdict.why;
}

INSTANTIATE_TEST_SUITE_P(Each, ReconnectMutant,
                         ::testing::Values(ReconnectCase{Wrong::kCountsAlone, Verdict::kBroken},
                                           ReconnectCase{Wrong::kTakesLateAttempts, Verdict::kBroken},
                                           ReconnectCase{Wrong::kNoReturn, Verdict::kStuck},
                                           ReconnectCase{Wrong::kRefusesToReplace, Verdict::kStuck},
                                           ReconnectCase{Wrong::kWaitsForEver, Verdict::kStuck},
                                           ReconnectCase{Wrong::kGoesOnItself, Verdict::kBroken},
                                           ReconnectCase{Wrong::kTellsOldPosition, Verdict::kBroken},
                                           ReconnectCase{Wrong::kKeepsItsAttempt, Verdict::kBroken}));

}  // namespace
}  // namespace lapwing::model
