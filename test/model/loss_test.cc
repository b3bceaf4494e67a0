// How the ranks of a job hear of one that is lost (src/p2p/peer_loss.h, src/p2p/heard_losses.h): frames LOST keep their order with all others of a
// connection, the launcher's word comes at any time, a connection breaks and is made anew, and no frame is lost by that. A rank acts on a word later
// than it takes it. Either a rank is killed, or two ranks no longer reach each other while all others reach both; that may pass, and a rank that
// comes back to one that has given it up hears so instead of having a connection.
//
// What must hold: what came before a loss was heard of is received; a receive ends once, whether it was posted before the news or after; all ranks
// that are connected know the same losses; nobody is lost but the one that was killed, or one or both of the two; and of these the one that was given
// up alone, where it has not given up the other before it heard of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "checker.h"

namespace lapwing::model {
namespace {

constexpr int kMostRanks = 4;
constexpr int kMostFrames = 7;  // under way in one direction; more is without end

enum class Wrong {
  kNothing,
  kDropsWhatCame,         // a rank that hears of a loss gives the connection up without reading it
  kEndsAgain,             // a loss that is known is acted on once more
  kTellsAgain,            // ... and passed on once more
  kKeepsWhatItHears,      // only who has found a loss itself tells of it
  kForgetsTheNext,        // who is met later is not told
  kForgetsTheMended,      // nor is who is met again
  kPostsInVain,           // a receive that is posted after the news waits
  kGivesUpInSilence,      // the lost rank is not told that it is given up
  kGivenUpTellsOfOthers,  // a rank that is given up takes the ends of its connections for losses, and tells
  kGivenUpKeepsQuiet,     // ... and does not tell of itself
  kTurnsAway,             // one that comes back after it was given up is refused without a word
  kVerdictIsALoss,        // ... or takes the word for the end of the other
};

// Pairs of ranks as bits, and what happens.
constexpr unsigned pair_bit(int a, int b) {
  return 1u << (std::min(a, b) * kMostRanks + std::max(a, b));
}
struct Plan {
  int ranks;
  bool kills;      // the last rank; otherwise ranks 0 and 1 lose each other
  bool launcher;  // tells of the end
  bool messages;  // one of the last rank is under way to each that it is connected to, and receives are posted at any time
  unsigned met;    // connected from the beginning
  unsigned later;  // connect at any time
  int breaks;      // of connections of ranks that live; they are made anew
  bool heals = false;  // the cut may pass
};

class Loss {
 public:
  enum End : std::uint8_t { kNone, kUp, kMending, kOver };
  enum : std::uint8_t { kNoFrame, kLost /* and the rank */, kMessage = kLost + kMostRanks, kClosed };

  struct Rank {
    std::uint8_t lost, heard;  // sets of ranks
    std::uint8_t given_up, dead, told_by_launcher;
    std::uint8_t gives_up;  // a rank that it has found unreachable, or refusing
    std::uint8_t posted, ended, stored;
    End end[kMostRanks];
    std::uint8_t coming[kMostRanks][kMostFrames];  // from each
  };
  struct State {
    Rank rank[kMostRanks];
    std::uint8_t happened, breaks, healed;
    std::uint8_t dropped, flood;
  };

  Loss(const Plan& plan, Wrong wrong) : plan_(plan), wrong_(wrong) {}

  int threads() const { return plan_.ranks + 1; }  // the last: what happens to ranks and connections
  void begin(State& s) const {
    for (int me = 0; me < plan_.ranks; ++me) {
      if (!plan_.messages) s.rank[me].posted = 1;
      for (int peer = 0; peer < plan_.ranks; ++peer) {
        if (peer == me || (plan_.met & pair_bit(me, peer)) == 0) continue;
        s.rank[me].end[peer] = kUp;
        if (plan_.messages && peer == plan_.ranks - 1) push(s, peer, me, kMessage);
      }
    }
  }

  bool step(State& s, int thread, Step& step) const {
    if (thread == plan_.ranks) return happen(s, step);
    if (s.rank[thread].dead) return false;
    enum { kTake, kAct, kFind, kOpen, kComeBack, kLauncher, kPost, kWays };
    const int way = step.choose(kWays);
    if (way == kAct) return act(s, thread, step);
    if (way == kLauncher) return hear_launcher(s, thread, step);
    if (way == kPost) return post(s, thread, step);
    const int peer = step.choose(plan_.ranks);
    if (peer == thread) return false;
    if (way == kComeBack) return come_back(s, thread, peer, step);
    return way == kTake ? take(s, thread, peer, step) : way == kFind ? find(s, thread, peer, step) : open(s, thread, peer, step);
  }

  const char* broken(const State& s) const {
    if (s.dropped) return "what came before the loss is dropped";
    if (s.flood) return "words without end";
    for (int me = 0; me < plan_.ranks; ++me) {
      if (s.rank[me].ended > s.rank[me].posted) return "a receive ends twice";
      for (int other = 0; other < plan_.ranks; ++other)
        if ((s.rank[me].lost >> other & 1) && healthy(s, me) && healthy(s, other)) return "a rank is lost that nothing happened to";
      if (!plan_.kills && s.rank[0].gives_up != s.rank[1].gives_up && me > 1 && (s.rank[me].lost >> (s.rank[0].gives_up ? 0 : 1) & 1))
        return "a rank is lost by the word of one that it has given up";
    }
    return nullptr;
  }
  const char* unfinished(const State& s) const {
    for (int me = 0; me < plan_.ranks; ++me) {
      const Rank& mine = s.rank[me];
      if (mine.dead) continue;
      if (mine.lost != 0 && mine.ended != mine.posted) return "a receive waits for a rank that is lost";
      for (int peer = 0; peer < plan_.ranks; ++peer) {
        if (peer == me || s.rank[peer].dead) continue;
        if (mine.end[peer] == kMending && s.rank[peer].end[me] == kOver && !cut(s, me, peer)) return "a rank does not hear that it is given up";
        if (mine.end[peer] != kUp || s.rank[peer].end[me] != kUp) continue;
        if (mine.lost != s.rank[peer].lost) return "a rank does not hear of a loss";
      }
    }
    return nullptr;
  }

 private:
  bool healthy(const State& s, int rank) const { return plan_.kills ? !s.rank[rank].dead : rank > 1; }
  bool cut(const State& s, int a, int b) const { return !plan_.kills && s.happened && !s.healed && std::max(a, b) == 1; }

  // ---- frames ----

  static void push(State& s, int from, int to, std::uint8_t frame) {
    if (s.rank[to].dead || s.rank[to].end[from] == kOver) return;
    std::uint8_t* const coming = s.rank[to].coming[from];
    std::uint8_t* const at = std::find(coming, coming + kMostFrames, kNoFrame);
    if (at == coming + kMostFrames)
      s.flood = 1;
    else
      *at = frame;
  }
  static std::uint8_t pop(Rank& mine, int peer) {
    std::uint8_t* const coming = mine.coming[peer];
    const std::uint8_t frame = coming[0];
    std::memmove(coming, coming + 1, kMostFrames - 1);
    coming[kMostFrames - 1] = kNoFrame;
    return frame;
  }

  bool take(State& s, int me, int peer, Step& step) const {
    step.name("takes a frame");
    Rank& mine = s.rank[me];
    if (mine.end[peer] != kUp || mine.coming[peer][0] == kNoFrame || cut(s, me, peer)) return false;
    take_one(s, me, peer);
    return true;
  }
  void take_one(State& s, int me, int peer) const {
    Rank& mine = s.rank[me];
    const std::uint8_t frame = pop(mine, peer);
    if (frame == kClosed) return end(s, me, peer, kFound);
    if (frame != kMessage) return hear(s, me, frame - kLost);
    if (mine.posted == mine.ended)
      ++mine.stored;
    else
      ++mine.ended;
  }

  // ---- hearing, as p2p::HeardLosses ----

  void hear(State& s, int me, int lost) const {
    if (lost == me) return hear_of_itself(s, me);
    const bool again = wrong_ == Wrong::kEndsAgain || wrong_ == Wrong::kTellsAgain;
    if (again || (s.rank[me].lost >> lost & 1) == 0) s.rank[me].heard |= static_cast<std::uint8_t>(1u << lost);
  }
  void hear_of_itself(State& s, int me) const {
    if (wrong_ == Wrong::kGivenUpTellsOfOthers || s.rank[me].given_up) return;
    s.rank[me].given_up = 1;
    for (int peer = 0; peer < plan_.ranks; ++peer)
      if (s.rank[me].end[peer] == kUp) tell(s, me, peer);
  }
  bool hear_launcher(State& s, int me, Step& step) const {
    step.name("hears mpiexec");
    if (!plan_.launcher || !s.happened || s.rank[me].told_by_launcher) return false;
    s.rank[me].told_by_launcher = 1;
    hear(s, me, plan_.ranks - 1);
    return true;
  }
  bool act(State& s, int me, Step& step) const {
    step.name("acts on what it has heard");
    if (s.rank[me].heard == 0) return false;
    const unsigned heard = s.rank[me].heard;
    s.rank[me].heard = 0;
    for (int lost = 0; lost < plan_.ranks; ++lost) {
      if ((heard >> lost & 1) == 0) continue;
      if (s.rank[me].end[lost] == kUp) give_up(s, me, lost);
      end(s, me, lost, kHeard);
    }
    return true;
  }
  // What has come already is taken first.
  void give_up(State& s, int me, int lost) const {
    if (wrong_ != Wrong::kGivesUpInSilence) push(s, me, lost, static_cast<std::uint8_t>(kLost + lost));
    if (wrong_ == Wrong::kDropsWhatCame || cut(s, me, lost)) return;
    while (s.rank[me].end[lost] == kUp && s.rank[me].coming[lost][0] != kNoFrame) take_one(s, me, lost);
  }

  // ---- a loss, as p2p::PeerLoss ----

  enum How { kFound, kHeard };
  void end(State& s, int me, int lost, How how) const {
    Rank& mine = s.rank[me];
    const bool known = mine.lost >> lost & 1;
    if (known && wrong_ == Wrong::kTellsAgain) return tell_others(s, me, lost);
    if (known && wrong_ != Wrong::kEndsAgain) return;
    mine.lost |= static_cast<std::uint8_t>(1u << lost);
    close(s, me, lost);
    if (mine.posted != mine.ended || known) ++mine.ended;
    if (how == kFound || wrong_ != Wrong::kKeepsWhatItHears) tell_others(s, me, lost);
  }
  void close(State& s, int me, int peer) const {
    Rank& mine = s.rank[me];
    const bool has_message = std::count(mine.coming[peer], mine.coming[peer] + kMostFrames, kMessage) != 0;
    if (has_message && mine.end[peer] == kUp && !cut(s, me, peer)) s.dropped = 1;
    std::fill_n(mine.coming[peer], kMostFrames, std::uint8_t{kNoFrame});
    if (mine.end[peer] == kUp) push(s, me, peer, kClosed);
    mine.end[peer] = kOver;
  }
  void tell_others(State& s, int me, int lost) const {
    if (s.rank[me].given_up) return;
    for (int peer = 0; peer < plan_.ranks; ++peer)
      if (s.rank[me].end[peer] == kUp) push(s, me, peer, static_cast<std::uint8_t>(kLost + lost));
  }
  // All that this rank has to say.
  void tell(State& s, int me, int peer) const {
    const Rank& mine = s.rank[me];
    if (mine.given_up) {
      if (wrong_ != Wrong::kGivenUpKeepsQuiet) push(s, me, peer, static_cast<std::uint8_t>(kLost + me));
      return;
    }
    for (int lost = 0; lost < plan_.ranks; ++lost)
      if (mine.lost >> lost & 1) push(s, me, peer, static_cast<std::uint8_t>(kLost + lost));
  }

  bool find(State& s, int me, int peer, Step& step) const {
    step.name("finds a loss itself");
    const End end_here = s.rank[me].end[peer], end_there = s.rank[peer].end[me];
    const bool refused = end_here == kMending && (s.rank[peer].dead || (end_there == kOver && s.rank[peer].given_up));
    const bool unreachable = cut(s, me, peer) && end_here != kOver;
    if (!refused && !unreachable) return false;
    if (!plan_.kills) s.rank[me].gives_up = 1;
    end(s, me, peer, kFound);
    return true;
  }

  // The verdict of net::tcp's handshake.
  bool come_back(State& s, int me, int peer, Step& step) const {
    step.name("hears that it was given up");
    if (s.rank[me].end[peer] != kMending || s.rank[peer].dead || s.rank[peer].end[me] != kOver || s.rank[peer].given_up || cut(s, me, peer)) return false;
    if (wrong_ == Wrong::kTurnsAway) return false;
    if (wrong_ != Wrong::kVerdictIsALoss) hear_of_itself(s, me);
    end(s, me, peer, kFound);
    return true;
  }

  // ---- connections ----

  // Each side finds at another moment that the connection stands.
  bool open(State& s, int me, int peer, Step& step) const {
    step.name("has a connection");
    End& mine = s.rank[me].end[peer];
    if (s.rank[peer].dead || s.rank[peer].end[me] == kOver || cut(s, me, peer)) return false;
    const bool next = mine == kNone && (plan_.later & pair_bit(me, peer)) != 0;
    if (!next && mine != kMending) return false;
    const bool tells = next ? wrong_ != Wrong::kForgetsTheNext : wrong_ != Wrong::kForgetsTheMended;
    mine = kUp;
    if (tells) tell(s, me, peer);
    return true;
  }

  bool happen(State& s, Step& step) const {
    if (step.maybe()) return step.maybe() ? heal(s, step) : break_one(s, step);
    step.name(plan_.kills ? "kills the last rank" : "cuts ranks 0 and 1 off from each other");
    if (s.happened) return false;
    s.happened = 1;
    if (plan_.kills) kill(s, plan_.ranks - 1);
    return true;
  }
  // What stands between the two has broken; who has given up the other has closed it for good.
  bool heal(State& s, Step& step) const {
    step.name("ends the cut");
    if (!plan_.heals || !s.happened || s.healed) return false;
    s.healed = 1;
    for (int me = 0; me < 2; ++me) {
      Rank& mine = s.rank[me];
      if (s.rank[1 - me].end[me] == kOver) std::fill_n(mine.coming[1 - me], kMostFrames, std::uint8_t{kNoFrame});
      if (mine.end[1 - me] == kUp) mine.end[1 - me] = kMending;
    }
    return true;
  }
  void kill(State& s, int killed) const {
    for (int peer = 0; peer < killed; ++peer)
      if (s.rank[peer].end[killed] == kUp) push(s, killed, peer, kClosed);
    s.rank[killed] = Rank{};
    s.rank[killed].dead = 1;
  }
  bool break_one(State& s, Step& step) const {
    step.name("breaks a connection");
    const int a = step.choose(plan_.ranks), b = step.choose(plan_.ranks);
    if (a >= b || s.breaks == plan_.breaks || s.rank[a].end[b] != kUp || s.rank[b].end[a] != kUp) return false;
    ++s.breaks;
    s.rank[a].end[b] = s.rank[b].end[a] = kMending;
    return true;
  }

  // ---- the application: receives from any source, up to two ----

  bool post(State& s, int me, Step& step) const {
    step.name("posts a receive");
    Rank& mine = s.rank[me];
    if (mine.posted == 2 || mine.posted != mine.ended || !plan_.messages) return false;
    ++mine.posted;
    if (mine.stored != 0)
      --mine.stored, ++mine.ended;
    else if (mine.lost != 0 && wrong_ != Wrong::kPostsInVain)
      ++mine.ended;
    return true;
  }

  const Plan plan_;
  const Wrong wrong_;
};

constexpr unsigned kAll = ~0u;
constexpr unsigned kFork = pair_bit(0, 1) | pair_bit(0, 2) | pair_bit(1, 2) | pair_bit(1, 3);
constexpr unsigned kChain = pair_bit(0, 1) | pair_bit(1, 2) | pair_bit(2, 3);

const std::vector<Plan>& plans() {
  static const std::vector<Plan> kPlans = {
      {.ranks = 3, .kills = true, .launcher = true, .messages = true, .met = kAll, .later = 0, .breaks = 0},
      {.ranks = 3, .kills = true, .launcher = false, .messages = true, .met = pair_bit(0, 2), .later = pair_bit(0, 1), .breaks = 0},
      {.ranks = 3, .kills = true, .launcher = false, .messages = false, .met = pair_bit(0, 1) | pair_bit(0, 2), .later = 0, .breaks = 2},
      {.ranks = 4, .kills = true, .launcher = false, .messages = false, .met = kChain, .later = pair_bit(0, 2), .breaks = 1},
      {.ranks = 4, .kills = false, .launcher = false, .messages = false, .met = kAll, .later = 0, .breaks = 0},
      {.ranks = 4, .kills = false, .launcher = false, .messages = false, .met = kFork, .later = 0, .breaks = 0},
      {.ranks = 4, .kills = false, .launcher = false, .messages = false, .met = kChain, .later = 0, .breaks = 0},
      {.ranks = 3, .kills = false, .launcher = false, .messages = false, .met = kAll, .later = 0, .breaks = 0, .heals = true},
      {.ranks = 4, .kills = false, .launcher = false, .messages = false, .met = kFork, .later = 0, .breaks = 0, .heals = true},
  };
  return kPlans;
}

// The first verdict that is not "holds", over all plans.
Verdict check_all(Wrong wrong) {
  std::size_t states = 0;
  for (const Plan& plan : plans()) {
    Verdict verdict = check(Loss(plan, wrong));
    states += verdict.states;
    if (verdict.kind != Verdict::kHolds) return verdict;
  }
  return {.kind = Verdict::kHolds, .why = {}, .states = states};
}

TEST(LossModel, AllHearOfItAndNobodyElseIsLost) {
  const Verdict verdict = check_all(Wrong::kNothing);
  EXPECT_EQ(verdict.kind, Verdict::kHolds) << verdict.why;
  RecordProperty("states", static_cast<int>(verdict.states));
}

struct LossCase {
  Wrong wrong;
  const char* why;
};
class LossMutant : public ::testing::TestWithParam<LossCase> {};

TEST_P(LossMutant, IsFoundOut) {
  const Verdict verdict = check_all(GetParam().wrong);
  EXPECT_EQ(verdict.why.substr(0, verdict.why.find(", after")), GetParam().why) << verdict.why;
}

INSTANTIATE_TEST_SUITE_P(Each, LossMutant,
                         ::testing::Values(LossCase{Wrong::kDropsWhatCame, "broken: what came before the loss is dropped"},
                                           LossCase{Wrong::kEndsAgain, "broken: a receive ends twice"},
                                           LossCase{Wrong::kTellsAgain, "ticks: from here the threads may run in a circle for ever"},
                                           LossCase{Wrong::kKeepsWhatItHears, "stuck: a rank does not hear of a loss"},
                                           LossCase{Wrong::kForgetsTheNext, "stuck: a rank does not hear of a loss"},
                                           LossCase{Wrong::kForgetsTheMended, "stuck: a rank does not hear of a loss"},
                                           LossCase{Wrong::kPostsInVain, "stuck: a receive waits for a rank that is lost"},
                                           LossCase{Wrong::kGivesUpInSilence, "broken: a rank is lost that nothing happened to"},
                                           LossCase{Wrong::kGivenUpTellsOfOthers, "broken: a rank is lost that nothing happened to"},
                                           LossCase{Wrong::kGivenUpKeepsQuiet, "stuck: a rank does not hear of a loss"},
                                           LossCase{Wrong::kTurnsAway, "stuck: a rank does not hear that it is given up"},
                                           LossCase{Wrong::kVerdictIsALoss, "broken: a rank is lost by the word of one that it has given up"}));

}  // namespace
}  // namespace lapwing::model
