// Credit between one sender and one receiver (src/p2p/credit.h), with the accounts as they are there. The messages differ by tag; the sender
// starts them in order, the receiver asks for them in any order, up to two at a time. Frames keep their order each way, and any of the
// receiver's may carry what is owed.
//
// What must hold: the two equations and the bound on memory at the top of credit.h, at all times; and every message that is asked for
// comes.
#include <gtest/gtest.h>

#include <array>
#include <bit>

#include "checker.h"
#include "p2p/credit.h"

namespace lapwing::model {
namespace {

using p2p::IncomingAccount;
using p2p::kEnvelopeUnits;
using p2p::OutgoingAccount;

constexpr int kMessages = 4;
constexpr int kAhead = 2;  // receives that wait at the same time
constexpr std::uint64_t kFirstCredit = 8;
constexpr std::uint64_t kPayloadUnits = 6;  // a message with bytes, or the first of them

enum Kind { kEmpty, kSmall, kLarge, kKinds };
using Plan = std::array<Kind, kMessages>;

enum class Wrong {
  kNothing,
  kSpendsTheReserve,       // a message without bytes leaves whole for a loan
  kNoReliefAtPost,         // of a receive
  kNoReliefAfterSpending,  // while a receive waits
  kLendsOnlyWhenNoneOwed,  // a few units are owed, and buy nothing
  kLendsMore,              // than an envelope
  kNeverPaidBack,
};

class Credit {
 public:
  // A frame on its way to the receiver: the message and what it paid; to the sender: units.
  struct Frame {
    std::uint8_t message, units, whole;
  };
  struct State {
    std::uint8_t credit;
    std::uint8_t started, sent;  // in order
    std::uint8_t allowance, owed, loan;
    std::uint8_t stored_units[kMessages];
    std::uint8_t announced;  // these and the next are sets of messages
    std::uint8_t stored, asked, received;
    std::uint8_t overspent;
    std::uint8_t to_receiver, to_sender;  // frames on their way
    Frame data[kMessages];
    std::uint8_t back[12];
  };

  Credit(std::uint64_t window, const Plan& plan, Wrong wrong) : window_(window), plan_(plan), wrong_(wrong) {}

  enum { kStarter, kSenderNet, kReceiverNet, kAsker, kAnyFrame, kThreads };
  int threads() const { return kThreads; }
  void begin(State& s) const {
    s.credit = s.allowance = kFirstCredit;
    s.owed = static_cast<std::uint8_t>(window_ - kFirstCredit);  // the introduction
  }

  bool step(State& s, int thread, Step& step) const {
    switch (thread) {
      case kStarter:
        if (s.started == kMessages) return false;
        step.name("sender: starts a message");
        ++s.started;
        send(s);
        return true;
      case kSenderNet:
        if (s.to_sender == 0) return false;
        step.name("sender: takes credit");
        take_credit(s);
        send(s);
        return true;
      case kReceiverNet:
        if (s.to_receiver == 0) return false;
        step.name("receiver: takes a message");
        arrive(s);
        return true;
      case kAsker:
        return ask(s, step);
      case kAnyFrame:
        if (s.owed == 0) return false;
        step.name("receiver: sends some frame");
        give_back(s);
        return true;
    }
    return false;
  }

  const char* broken(const State& s) const {
    std::uint64_t under_way = 0, given = 0, stored = 0;
    auto incomplete = static_cast<std::uint64_t>(std::popcount(unsigned{s.announced} & s.stored));
    for (int i = 0; i < s.to_receiver; ++i) under_way += s.data[i].units;
    for (int i = 0; i < s.to_sender; ++i) given += s.back[i];
    for (const std::uint8_t units : s.stored_units) stored += units;
    if (s.overspent) return "the sender spends what it does not have";
    if (s.credit + under_way + given != s.allowance) return "the receiver is wrong about the sender's credit";
    if (s.allowance + s.owed + stored != window_ + s.loan) return "units got lost";
    if (stored > window_ + kEnvelopeUnits * incomplete)
      return "more is stored than the window and an envelope for each send that is not complete";
    for (int i = 0; i < s.to_receiver; ++i) incomplete += !s.data[i].whole;
    if (s.loan > kEnvelopeUnits * (incomplete + 1)) return "a loan outlives the sends that it was for";
    return nullptr;
  }
  const char* unfinished(const State& s) const {
    return s.received == (1u << kMessages) - 1 ? nullptr : "a message that is asked for does not come";
  }

 private:
  IncomingAccount incoming(const State& s) const {
    return {.window = window_, .allowance = s.allowance, .owed = s.owed, .loan = s.loan, .introduced = true};
  }
  static void put(State& s, const IncomingAccount& account) {
    s.allowance = static_cast<std::uint8_t>(account.allowance);
    s.owed = static_cast<std::uint8_t>(account.owed);
    s.loan = static_cast<std::uint8_t>(account.loan);
  }

  // As p2p::SendPath::launch(), for all that wait, in order.
  void send(State& s) const {
    OutgoingAccount account{s.credit};
    for (; s.sent < s.started && account.pays_envelope(); ++s.sent) {
      const Kind kind = plan_[s.sent];
      const std::uint64_t units = kind == kEmpty ? kEnvelopeUnits : kPayloadUnits;
      const bool affordable =
          wrong_ == Wrong::kSpendsTheReserve ? account.pays_announced(units) : account.pays_whole(units);
      const bool whole = kind != kLarge && affordable;
      const std::uint64_t price = whole || (kind == kLarge && account.pays_announced(units)) ? units : kEnvelopeUnits;
      account.spend(price);
      s.data[s.to_receiver++] = {s.sent, static_cast<std::uint8_t>(price), whole};
    }
    s.credit = static_cast<std::uint8_t>(account.credit);
  }

  void take_credit(State& s) const {
    OutgoingAccount account{s.credit};
    account.gain(s.back[0]);
    s.credit = static_cast<std::uint8_t>(account.credit);
    for (int i = 0; i + 1 < s.to_sender; ++i) s.back[i] = s.back[i + 1];
    s.back[--s.to_sender] = 0;
  }

  void give_back(State& s) const {
    IncomingAccount account = incoming(s);
    s.back[s.to_sender++] = static_cast<std::uint8_t>(account.give_back());
    put(s, account);
  }

  void release(State& s, std::uint64_t units) const {
    IncomingAccount account = incoming(s);
    if (wrong_ == Wrong::kNeverPaidBack)
      account.owed += units;
    else
      account.release(units);
    put(s, account);
    if (account.worth_a_frame()) give_back(s);
  }

  void relieve(State& s) const {
    IncomingAccount account = incoming(s);
    if (!account.exhausted()) return;
    if (wrong_ == Wrong::kLendsMore) {
      account.loan += 2 * kPayloadUnits;
      account.owed += 2 * kPayloadUnits;
    } else if (wrong_ != Wrong::kLendsOnlyWhenNoneOwed || account.owed == 0) {
      account.relieve();
    }
    put(s, account);
    if (s.owed != 0) give_back(s);
  }

  void arrive(State& s) const {
    const Frame frame = s.data[0];
    for (int i = 0; i + 1 < s.to_receiver; ++i) s.data[i] = s.data[i + 1];
    s.data[--s.to_receiver] = {};
    IncomingAccount account = incoming(s);
    if (!account.spend(frame.units)) s.overspent = 1;
    put(s, account);
    const auto bit = static_cast<std::uint8_t>(1u << frame.message);
    if ((s.asked & bit) != 0) {
      s.asked = static_cast<std::uint8_t>(s.asked & ~bit);
      s.received |= bit;
      release(s, frame.units);
    } else {
      s.stored |= bit;
      s.stored_units[frame.message] = frame.units;
      if (!frame.whole) s.announced |= bit;
    }
    if (s.asked != 0 && wrong_ != Wrong::kNoReliefAfterSpending) relieve(s);
  }

  bool ask(State& s, Step& step) const {
    const unsigned begun = unsigned{s.asked} | s.received;
    const int left = kMessages - std::popcount(begun);
    if (left == 0 || std::popcount(unsigned{s.asked}) >= kAhead) return false;
    step.name("receiver: asks for a message");
    int message = 0;
    for (int skip = step.choose(left);; ++message) {
      if ((begun >> message & 1) == 0 && skip-- == 0) break;
    }
    const auto bit = static_cast<std::uint8_t>(1u << message);
    if ((s.stored & bit) != 0) {
      s.stored = static_cast<std::uint8_t>(s.stored & ~bit);
      s.received |= bit;
      const std::uint8_t units = s.stored_units[message];
      s.stored_units[message] = 0;
      release(s, units);
    } else {
      s.asked |= bit;
      if (wrong_ != Wrong::kNoReliefAtPost) relieve(s);
    }
    return true;
  }

  std::uint64_t window_;
  Plan plan_;
  Wrong wrong_;
};

// The first verdict that is not "holds", over all kinds of messages and some windows.
Verdict check_all(Wrong wrong) {
  Verdict verdict;
  std::size_t states = 0;
  for (const std::uint64_t window : {8u, 9u, 11u, 14u}) {
    for (int code = 0; code < 81; ++code) {
      Plan plan;
      for (int i = 0, rest = code; i < kMessages; ++i, rest /= kKinds)
        plan[static_cast<std::size_t>(i)] = Kind(rest % kKinds);
      verdict = check(Credit(window, plan, wrong));
      states += verdict.states;
      if (verdict.kind != Verdict::kHolds) return verdict;
    }
  }
  verdict.states = states;
  return verdict;
}

TEST(CreditModel, EveryMessageComesAndMemoryIsBounded) {
  const Verdict verdict = check_all(Wrong::kNothing);
  EXPECT_EQ(verdict.kind, Verdict::kHolds) << verdict.why;
  RecordProperty("states", static_cast<int>(verdict.states));
}

struct Mutant {
  Wrong wrong;
  Verdict::Kind found;
};

class CreditMutant : public ::testing::TestWithParam<Mutant> {};

TEST_P(CreditMutant, IsFoundOut) {
  const Verdict verdict = check_all(GetParam().wrong);
  EXPECT_EQ(verdict.kind, GetParam().found) << verdict.why;
}

INSTANTIATE_TEST_SUITE_P(Each, CreditMutant,
                         ::testing::Values(Mutant{Wrong::kSpendsTheReserve, Verdict::kBroken},
                                           Mutant{Wrong::kNoReliefAtPost, Verdict::kStuck},
                                           Mutant{Wrong::kNoReliefAfterSpending, Verdict::kStuck},
                                           Mutant{Wrong::kLendsOnlyWhenNoneOwed, Verdict::kStuck},
                                           Mutant{Wrong::kLendsMore, Verdict::kBroken},
                                           Mutant{Wrong::kNeverPaidBack, Verdict::kBroken}));

}  // namespace
}  // namespace lapwing::model
