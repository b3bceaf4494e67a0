// Receives that are lent to a carrier which matches where data arrives (src/net/lent_queue.h, the class itself, step by step), while the process
// posts, cancels, takes in what the carrier passes on, and collects, by the rules of src/p2p/lending.h.
//
// What must hold: no message is received twice, no receive gets two, or one that it does not match or that is too long for it; no message and no
// receive is overtaken; and in the end every message is received or kept, and no receive waits for one that is kept.
#include <gtest/gtest.h>

#include <array>

#include "checker.h"
#include "net/lent_queue.h"

namespace lapwing::model {
namespace {

using net::LentState;

constexpr int kMessages = 4, kReceives = 4, kPlaces = 2;
constexpr std::uint8_t kAnyTag = 9;

struct Plan {
  std::array<std::uint8_t, kMessages> tags, bytes;      // of messages
  std::array<std::uint8_t, kReceives> wanted, capacity;  // of receives
};

enum class Wrong {
  kNothing,
  // the carrier
  kClaimsBehindPassedOn,    // though it has passed on messages that are not taken in
  kClaimsWhateverIsThere,   // the place may hold another receive by now
  kClaimsTooShort,          // receives
  kSkipsTooShort,           // and claims the next
  kReadsTheEndFirst,        // of the receives that are lent
  // the process
  kTakesInBeforeMatching,
  kTakesBackByForce,        // whether it is claimed or not
  kKeepsWhenClaimed,        // does not try the next receive
  kLendsBehindWildcard,
  kLendsBehindUnlent,       // receive with the same tag
};

class Lent {
 public:
  using Queue = net::BasicLentQueue<std::uint8_t, std::uint8_t, std::uint8_t, kPlaces>;
  enum Receive : std::uint8_t { kNotYet, kPosted, kSpokenFor, kReceived, kCancelled };
  struct State {
    Queue queue;
    // The carrier: the message that it has, and how far it is.
    std::uint8_t message, at, position, end;
    // What it has passed on; so many are taken in.
    std::uint8_t passed[kMessages], passed_count, taken_in;
    // The process.
    std::uint8_t posted, doing, lending, cancelled;
    std::uint8_t receive[kReceives], lent[kReceives], place[kReceives];
    // What has come of it: one more than the other's number.
    std::uint8_t receive_of[kMessages], message_of[kReceives], kept[kMessages];
    std::uint8_t wrong;
  };

  Lent(const Plan& plan, Wrong wrong) : plan_(plan), wrong_(wrong) {}

  enum { kCarrier, kProcess, kThreads };
  int threads() const { return kThreads; }
  void begin(State&) const {}
  bool step(State& s, int thread, Step& step) const {
    return thread == kCarrier ? carrier(s, step) : process(s, step);
  }

  const char* broken(const State& s) const {
    constexpr const char* kWhy[] = {nullptr, "a message or a receive is matched twice", "they do not match",
                                    "the message is too long for the receive", "a message is overtaken",
                                    "a receive is overtaken"};
    return kWhy[s.wrong];
  }
  const char* unfinished(const State& s) const {
    for (int m = 0; m < kMessages; ++m) {
      if (s.receive_of[m] == 0 && s.kept[m] == 0) return "a message is lost";
      for (int r = 0; r < kReceives; ++r) {
        if (s.kept[m] != 0 && s.receive[r] == kPosted && accepts(r, m)) return "a receive waits for a message that is kept";
      }
    }
    for (int r = 0; r < kReceives; ++r) {
      if (s.message_of[r] != 0 && s.receive[r] != kReceived) return "a receive is not told of its message";
    }
    return nullptr;
  }

 private:
  enum At : std::uint8_t { kNext, kOpen, kFirst, kLook, kCompare, kClaim, kLand };
  enum Doing : std::uint8_t { kNothing, kShow, kReach, kMatch, kTakeIn };

  bool accepts(int r, int m) const { return plan_.wanted[r] == kAnyTag || plan_.wanted[r] == plan_.tags[m]; }

  void meet(State& s, int m, int r) const {
    if (s.receive_of[m] != 0 || s.message_of[r] != 0 || s.receive[r] == kCancelled) s.wrong = 1;
    if (!accepts(r, m)) s.wrong = 2;
    for (int earlier = 0; earlier < m; ++earlier) {
      if (accepts(r, earlier) && s.receive_of[earlier] == 0) s.wrong = 4;
    }
    for (int older = 0; older < r; ++older) {
      if (accepts(older, m) && s.receive[older] == kPosted && s.message_of[older] == 0) s.wrong = 5;
    }
    s.receive_of[m] = static_cast<std::uint8_t>(r + 1);
    s.message_of[r] = static_cast<std::uint8_t>(m + 1);
  }

  // ---- the carrier: Queue::claim, access by access ----

  bool carrier(State& s, Step& step) const {
    if (s.message == kMessages) return false;
    switch (s.at) {
      case kNext:
        step.name("carrier: has a message; is all taken in?");
        if (!s.queue.open() && wrong_ != Wrong::kClaimsBehindPassedOn) return pass_on(s);
        s.at = kOpen;
        return true;
      case kOpen:
      case kFirst:
        read_bound(s, step, (s.at == kOpen) != (wrong_ == Wrong::kReadsTheEndFirst));
        ++s.at;
        return true;
      case kLook:
        step.name("carrier: looks at a place");
        if (s.position == s.end) return pass_on(s);
        if (s.queue.is(s.position, LentState::kLent))
          s.at = kCompare;
        else
          ++s.position;
        return true;
      case kCompare:
        return compare(s, step);
      case kClaim:
        return claim(s, step);
      case kLand:
        step.name("carrier: the message has landed");
        s.queue.land(s.position, s.message);
        return next(s);
    }
    return false;
  }
  static void read_bound(State& s, Step& step, bool first) {
    step.name(first ? "carrier: reads which receive is the oldest" : "carrier: reads how far receives are lent");
    if (first)
      s.position = s.queue.oldest();
    else
      s.end = s.queue.reached();
  }
  bool compare(State& s, Step& step) const {
    step.name("carrier: compares");
    const Queue::Key key{1, plan_.tags[s.message]};
    const bool matches = s.queue.matches(s.position, key);
    const bool fits = s.queue.has_room(s.position, plan_.bytes[s.message]) || wrong_ == Wrong::kClaimsTooShort;
    if (matches && !fits && wrong_ != Wrong::kSkipsTooShort) return pass_on(s);
    s.at = matches && fits ? kClaim : kLook;
    if (s.at == kLook) ++s.position;
    return true;
  }
  bool claim(State& s, Step& step) const {
    step.name("carrier: claims");
    bool claimed = s.queue.exchange(s.position, LentState::kLent, LentState::kClaimed);
    if (!claimed && wrong_ == Wrong::kClaimsWhateverIsThere) {
      const auto later = static_cast<std::uint8_t>(s.position + kPlaces);
      claimed = s.queue.exchange(later, LentState::kLent, LentState::kClaimed);
      if (claimed) s.position = later;
    }
    if (!claimed) {
      ++s.position;
      s.at = kLook;
      return true;
    }
    const int r = s.queue.room(s.position);
    meet(s, s.message, r);
    if (plan_.bytes[s.message] > plan_.capacity[r]) s.wrong = 3;
    s.at = kLand;
    return true;
  }
  bool pass_on(State& s) const {
    s.queue.pass_on();
    s.passed[s.passed_count++] = s.message;
    return next(s);
  }
  static bool next(State& s) {
    ++s.message;
    s.at = kNext;
    s.position = s.end = 0;
    return true;
  }

  // ---- the process ----

  bool process(State& s, Step& step) const {
    switch (s.doing) {
      case kNothing:
        break;
      case kShow:
        step.name("process: shows the receive");
        s.queue.show(s.place[s.lending]);
        s.doing = kReach;
        return true;
      case kReach:
        step.name("process: reaches it");
        s.queue.reach(s.place[s.lending]);
        s.doing = kNothing;
        return true;
      case kMatch:
        step.name("process: matches a message that was passed on");
        return match(s);
      case kTakeIn:
        step.name("process: has taken it in");
        if (wrong_ != Wrong::kTakesInBeforeMatching) s.queue.take_in();
        ++s.taken_in;
        s.doing = kNothing;
        return true;
    }
    switch (step.choose(5)) {
      case 0:
        return post(s, step);
      case 1:
        return cancel(s, step);
      case 2:
        if (s.taken_in == s.passed_count) return false;
        step.name("process: reads a message that was passed on");
        if (wrong_ == Wrong::kTakesInBeforeMatching) s.queue.take_in();
        s.doing = kMatch;
        return true;
      case 3:
        return lend(s, step);
      default:
        return collect(s, step);
    }
  }

  bool post(State& s, Step& step) const {
    if (s.posted == kReceives) return false;
    step.name("process: posts a receive");
    const int r = s.posted++;
    s.receive[r] = kPosted;
    for (int m = 0; m < kMessages; ++m) {
      if (s.kept[m] == 0 || !accepts(r, m)) continue;
      s.kept[m] = 0;
      meet(s, m, r);
      s.receive[r] = kReceived;
      return true;
    }
    return true;
  }
  // At any time.
  bool lend(State& s, Step& step) const {
    const int r = step.choose(kReceives);
    if (s.receive[r] != kPosted || s.lent[r] != 0 || !is_next(s, r) || s.queue.full()) return false;
    step.name("process: lends a receive");
    s.lent[r] = 1;
    s.lending = static_cast<std::uint8_t>(r);
    s.place[r] = s.queue.fill({1, plan_.wanted[r]}, plan_.capacity[r], s.lending);
    s.doing = kShow;
    return true;
  }
  bool is_next(const State& s, int r) const {
    if (plan_.wanted[r] == kAnyTag) return false;
    for (int older = 0; older < r; ++older) {
      if (s.receive[older] != kPosted) continue;
      if (plan_.wanted[older] == kAnyTag && wrong_ != Wrong::kLendsBehindWildcard) return false;
      if (plan_.wanted[older] == plan_.wanted[r] && s.lent[older] == 0 && wrong_ != Wrong::kLendsBehindUnlent) return false;
    }
    return true;
  }

  // True: it is not lent any more.
  bool take_back(State& s, int r) const {
    if (s.lent[r] != 0 && !s.queue.take_back(s.place[r]) && wrong_ != Wrong::kTakesBackByForce) return false;
    s.lent[r] = 0;
    return true;
  }
  bool cancel(State& s, Step& step) const {
    if (s.cancelled != 0) return false;
    const int r = step.choose(kReceives);
    if (s.receive[r] != kPosted) return false;
    step.name("process: cancels a receive");
    s.cancelled = 1;
    if (take_back(s, r)) s.receive[r] = kCancelled;
    return true;
  }
  bool match(State& s) const {
    const int m = s.passed[s.taken_in];
    int r = 0;
    while (r < kReceives && (s.receive[r] != kPosted || !accepts(r, m))) ++r;
    s.doing = kTakeIn;
    if (r < kReceives && !take_back(s, r)) {
      s.receive[r] = kSpokenFor;
      if (wrong_ != Wrong::kKeepsWhenClaimed) {
        s.doing = kMatch;
        return true;
      }
      r = kReceives;
    }
    if (r == kReceives) {
      s.kept[m] = 1;
    } else {
      meet(s, m, r);
      s.receive[r] = kReceived;
    }
    return true;
  }
  bool collect(State& s, Step& step) const {
    const int r = step.choose(kReceives);
    if (s.lent[r] == 0 || !s.queue.is(s.place[r], LentState::kLanded)) return false;
    step.name("process: collects");
    s.queue.collect_at(s.place[r], [&](std::uint8_t receive, std::uint8_t message) {
      if (receive != r || s.message_of[r] != message + 1) s.wrong = 1;
    });
    s.queue.retire();
    s.lent[r] = 0;
    s.receive[r] = kReceived;
    return true;
  }

  Plan plan_;
  Wrong wrong_;
};

constexpr std::array<std::uint8_t, kMessages> kTags[] = {{0, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {1, 0, 0, 1}};
constexpr std::array<std::uint8_t, kMessages> kBytes[] = {{1, 1, 1, 1}, {2, 1, 1, 1}, {1, 2, 1, 1}};
constexpr std::uint8_t kAny = kAnyTag;
constexpr std::array<std::uint8_t, kReceives> kWanted[] = {
    {0, 0, 0, 0}, {0, 0, 1, 0}, {0, 1, 0, 1}, {1, 0, 0, 0}, {0, kAny, 0, 0}, {kAny, 0, 0, 1}, {0, 0, kAny, 0}};

// The first verdict that is not "holds", over all plans.
Verdict check_all(Wrong wrong) {
  Verdict verdict;
  std::size_t states = 0;
  for (const auto& tags : kTags) {
    for (const auto& bytes : kBytes) {
      for (const auto& wanted : kWanted) {
        verdict = check(Lent({tags, bytes, wanted, {1, 2, 1, 2}}, wrong));
        states += verdict.states;
        if (verdict.kind != Verdict::kHolds) return verdict;
      }
    }
  }
  verdict.states = states;
  return verdict;
}

TEST(LendingModel, NoMessageIsLostDoubledOrOvertaken) {
  const Verdict verdict = check_all(Wrong::kNothing);
  EXPECT_EQ(verdict.kind, Verdict::kHolds) << verdict.why;
  EXPECT_GT(verdict.states, 500'000u);
  RecordProperty("states", static_cast<int>(verdict.states));
}

struct Mutant {
  Wrong wrong;
  Verdict::Kind found;
};

class LendingMutant : public ::testing::TestWithParam<Mutant> {};

TEST_P(LendingMutant, IsFoundOut) {
  const Verdict verdict = check_all(GetParam().wrong);
  EXPECT_EQ(verdict.kind, GetParam().found) << verdict.why;
}

INSTANTIATE_TEST_SUITE_P(Each, LendingMutant,
                         ::testing::Values(Mutant{Wrong::kClaimsBehindPassedOn, Verdict::kBroken},
                                           Mutant{Wrong::kClaimsWhateverIsThere, Verdict::kBroken},
                                           Mutant{Wrong::kClaimsTooShort, Verdict::kBroken},
                                           Mutant{Wrong::kSkipsTooShort, Verdict::kBroken},
                                           Mutant{Wrong::kReadsTheEndFirst, Verdict::kBroken},
                                           Mutant{Wrong::kTakesInBeforeMatching, Verdict::kBroken},
                                           Mutant{Wrong::kTakesBackByForce, Verdict::kBroken},
                                           Mutant{Wrong::kKeepsWhenClaimed, Verdict::kBroken},
                                           Mutant{Wrong::kLendsBehindWildcard, Verdict::kBroken},
                                           Mutant{Wrong::kLendsBehindUnlent, Verdict::kBroken}));

}  // namespace
}  // namespace lapwing::model
