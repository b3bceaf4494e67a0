// Spin, then block: how long a waiting thread polls before it sleeps (design: paper 4, PIOMan).
//
// The price. A nanosecond of waiting is worth W (engine.wakeup_worth) nanoseconds of a core that is otherwise idle, so being
// woken, which takes a wake-up's time C, is worth polling for W * C and no longer. A wait of length w costs w when the budget covers
// it, and else budget + W * C.
//
// The choice. The policy keeps the lengths of the last kWindow waits, in powers of two between C/16 and 8 C, and takes the budget that
// would have been the cheapest for them (Karlin, Li, Manasse, Owicki: Empirical studies of competitive spinning, 1991). So a little
// more polling is done where it would have caught the wait, and next to none where waits are long anyway. What holds:
//
//   - While waits go on as they were, the cost is at most twice that of the best fixed budget known beforehand: the factor is the width
//     of a power of two. (Waits at random: 1.1 times the cost of the best budget in hindsight; 1.7 where one wait in a hundred is so
//     much longer than the others that the window seldom shows one.)
//   - Whatever comes, no wait polls for longer than W * C on that account, and kWindow waits after a change the past is forgotten.
//   - Waits longer than that, period or not, poll for C/16 each.
//   - Where the past says nothing the budget is C, which is never more than twice as dear as the best choice.
//
// What a program earns. Beside that, one part of the time that it computes between its waits (engine.earned_share) may be spent on
// polling in those that follow, up to engine.most_saved: an iterative program, whose ranks wait for each other as long as their work differs, then
// meets peers that are awake, as if all polled for ever, and polls for at most that part of its time in vain. A rank that only waits earns nothing,
// and sleeps as above.
//
// What a program repeats. Where the waits that follow its computing are longer than what it has saved covers, a thread sleeps through
// the first part of the next (wait_prediction.h), and polls when its end is near: so it catches waits that are much longer. No wait is just
// as long as the last, so half of what is saved is spent before the expected end, and the rest is there for a wait that is longer.
//
// Halt polling in hypervisors grows and shrinks one number instead; with short and long waits in turns that number is always that of
// the other kind.
//
// A thread that polls for longer than C gives its core away at every turn, and so takes it from no other thread: with as many ranks as
// cores, the event thread of another rank may want it. With more ranks than cores every turn does so. Where r ranks share a core, its turns come after
// those of the others, so that waits are r times as long, and polling takes an r-th of the core: there all budgets are r times as long.
//
// What else wants the cores. Other jobs, other containers, and threads of the program itself are not counted beforehand. They are seen by what
// giving the core away takes: a system call's time (0.4 us; 0.7 on slow virtual machines) where no other thread wants it, and two context
// switches (2 us and more; 4 to 10) where one does: at least engine.long_yield, and three times the shortest of all. After a long one every turn
// gives the core away, until engine.short_yields in a row were short. Waits that are all shorter than C never look, and delay another thread by
// no more than that.
//
// What keeps the cores. A thread that computes keeps the core that it is given for a time slice, which is milliseconds, whatever comes for this one
// meanwhile; one that sleeps is run before it when it is notified. So where giving the core away takes engine.computing_yield, and a thread that
// computes is there all the time, this one stops doing so for engine.computing_rest times as long as it took: it sleeps instead, after a wake-up's
// time at most, and at once with more ranks than cores. When is it there all the time?
//
//   With a core for each rank, when it has been there within the last sixteen times as long. Little is lost where that is wrong, because this thread
//   still polls for a wake-up's time.
//   With more ranks than cores, when engine.computing_waits of the last 32 waits have met it (those that ended before a look at the clock do not
//   count). Beside a thread that computes on nearly all do; what runs for some milliseconds once in a while, and a rank that prepares something
//   while the others wait for it, are met in one, for however long, and ranks that slept because of them would wait two to ten times as long for
//   each other from then on. It may also be a rank that computes as this one does, or all the others of this core, one after the other, which will
//   wait for this one in a moment, and would pay for waking it: that is assumed where this one has of late computed for half of what would be each
//   one's share between two waits itself.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/tuning.h"
#include "engine/wait_prediction.h"

namespace lapwing::engine {

class WaitPolicy {
 public:
  WaitPolicy() noexcept { configure(tuning().engine_assumed_wakeup, 1, -1); }
  // `wakeup_cost` in nanoseconds as measured; `fixed_budget` >= 0 overrides everything.
  void configure(std::int64_t wakeup_cost, int ranks_per_core, std::int64_t fixed_budget) noexcept;

  // What passes from here on to the first wait is computing as well.
  void begins(std::int64_t now) noexcept { last_look_ = now; }

  // A thread that polls looks at the clock. `moved`: something has, and what it waits for from now on is a wait of its own. False: it is to sleep,
  // for nap() nanoseconds or, if that is 0, until it is notified.
  bool polls_on(std::int64_t now, bool moved = false) noexcept {
    if (moved) next_wait();
    if (polling_since_ == 0) {
      if (earns_ && last_look_ != 0) after_computing(now - last_look_, now);
      polling_since_ = now;
    }
    last_look_ = now;
    spun_ = now - polling_since_;
    return nap_ == 0 && spun_ < (keeps_core() ? budget_beside_computing() : budget_ + saved_);
  }
  // Whether others are known to want this core.
  bool is_contended() const noexcept { return oversubscribed() || contended_yields_ != 0; }
  // Whether it gives its core away at every turn.
  bool yields() const noexcept { return !keeps_core() && (is_contended() || spun_ >= wakeup_cost_); }
  // The same for a thread that has tested in a loop for so many nanoseconds (test_loop.h).
  bool yields_after(std::int64_t tested, std::int64_t now) const noexcept {
    if (now < keeps_core_until_ && !oversubscribed()) return false;  // it cannot sleep; with more ranks than cores it may test for what one of them sends
    return tested > 0 && (is_contended() || tested >= wakeup_cost_);
  }
  // It has, and had it back at `now`, after so many nanoseconds.
  void yielded(std::int64_t took, std::int64_t now) noexcept {
    last_look_ = now;
    least_yield_ = std::min(least_yield_, took);
    if (took >= tuning().engine_computing_yield && fixed_budget_ < 0 && note_computing(took, now)) {
      computing_until_ = keeps_core_until_ = now + took * tuning().engine_computing_rest;
      contended_yields_ = 0;
    } else if (took >= std::max(tuning().engine_long_yield, kLongYields * least_yield_)) {
      contended_yields_ = tuning().engine_short_yields;
    } else if (contended_yields_ != 0) {
      --contended_yields_;
    }
  }

  // It cannot sleep, because there is something to do: it polls on, from the beginning.
  void stays_awake() noexcept { spun_ = polling_since_ = 0; }

  // Nanoseconds that this wait, or the next, may spin.
  std::int64_t budget() const noexcept { return nap_ != 0 ? 0 : budget_ + saved_; }
  std::int64_t nap() const noexcept { return nap_; }
  // That sleep has ended, and nothing had come.
  void napped(std::int64_t now) noexcept {
    nap_ = polling_since_ = 0;
    last_look_ = now;
  }
  // How long the application may be outside before the event thread is armed: by the same reasoning, arming when a wake-up's
  // worth of time has passed is at most twice as dear as the best possible.
  std::int64_t arm_delay() const noexcept { return std::max(wakeup_cost_, tuning().engine_least_arm_delay); }

  // How the wait has ended: by polling, or by sleep as well, for so long, the wake-up included.
  // Waits too short to measure (0) only count where the policy has become impatient.
  void ended_spinning() noexcept {
    spend();
    if (spun_ != 0 || !as_ever_) record(spun_);
    prediction_.ended(last_look_ - began_);
    spun_ = polling_since_ = 0;
  }
  void ended_sleeping(std::int64_t now, std::int64_t slept) noexcept {
    spend();
    const std::int64_t asleep = std::max<std::int64_t>(slept - wakeup_cost_, 0);
    record(spun_ + asleep);
    prediction_.ended(last_look_ - began_ + asleep);
    spun_ = polling_since_ = 0;
    nap_ = 0;
    last_look_ = now;
  }

 private:
  static constexpr std::int64_t kLeastCost = 2'000, kMostCost = 100'000;
  static constexpr unsigned kWindow = 32;
  static constexpr std::int64_t kLongYields = 3, kFadingComputing = 8, kSlicesUntilNext = 16;
  static constexpr std::int64_t kLongAgo = std::numeric_limits<std::int64_t>::min() / 2;
  // Kinds of waits: kind k is covered by a budget of 2^k C/16, times the ranks of a core; of the last kind, no budget covers any.
  static constexpr int kBudgets = 8, kWakeupKind = 4, kLongKind = kBudgets;
  static constexpr int kOversubscribedKind = 7;  // a thread that gives its core away at every turn may do so for longer

  bool oversubscribed() const noexcept { return ranks_per_core_ > 1; }
  bool keeps_core() const noexcept { return last_look_ < keeps_core_until_; }
  // Notes that another thread, which computes, has had the core until now. Whether it always does.
  bool note_computing(std::int64_t took, std::int64_t now) noexcept {
    if (!oversubscribed()) return now - took - std::exchange(computing_until_, now) < kSlicesUntilNext * took;
    if (may_be_ranks(took)) return false;
    met_computing_ |= 1;
    return static_cast<std::uint64_t>(std::popcount(met_computing_)) >= tuning().engine_computing_waits;
  }
  bool may_be_ranks(std::int64_t took) const noexcept { return took < 2 * (ranks_per_core_ - 1) * computed_; }
  std::int64_t budget_beside_computing() const noexcept { return oversubscribed() ? 0 : std::min(budget_, wakeup_cost_); }
  void next_wait() noexcept {
    if (spun_ != 0) ended_spinning();
    end_meeting();
    polling_since_ = 0;
  }
  // What has passed since the last look of all was computing.
  void after_computing(std::int64_t computed, std::int64_t now) noexcept {
    computed_ = std::max(computed, computed_ - computed_ / kFadingComputing);
    saved_ = std::min(saved_ + computed / tuning().engine_earned_share, tuning().engine_most_saved);
    nap_ = 0;
    if (computed < 2 * wakeup_cost_) return;
    began_ = now;
    const WaitPrediction::Expected expected = prediction_.begins(computed);
    if (expected.most <= budget()) return;
    const std::int64_t nap = expected.least - std::max(expected.least / tuning().engine_nap_spread + wakeup_cost_, saved_ / 2);
    if (nap >= std::max(wakeup_cost_, tuning().engine_least_nap)) nap_ = nap;
  }
  std::int64_t budget_of(int kind) const noexcept { return ranks_per_core_ * (wakeup_cost_ << kind) / 16; }
  // A wait ends. Whether a thread that computes is there is not seen in one without a look at the clock, nor while this one keeps the core.
  void end_meeting() noexcept {
    if (polling_since_ != 0 && !keeps_core()) met_computing_ <<= 1;
  }
  void spend() noexcept {
    end_meeting();
    if (spun_ > budget_) saved_ = std::max<std::int64_t>(saved_ - (spun_ - budget_), 0);
  }
  void record(std::int64_t waited) noexcept;
  void choose() noexcept;

  std::int64_t wakeup_cost_ = 0;
  std::int64_t fixed_budget_ = -1;
  std::int64_t budget_ = 0;
  std::int64_t saved_ = 0;      // of what was earned
  std::int64_t nap_ = 0;        // with which the wait that has begun is to begin
  std::int64_t began_ = 0;      // the last wait after computing
  std::int64_t last_look_ = 0;  // at the clock, while an application thread waited; 0: none yet
  std::int64_t polling_since_ = 0;  // the first look of this wait; 0: from the next one on
  std::int64_t spun_ = 0;           // in this wait, as of the last look
  bool earns_ = false;
  bool as_ever_ = true;  // the budget is that of a policy that knows nothing
  int ranks_per_core_ = 1;
  std::int64_t least_yield_ = std::numeric_limits<std::int64_t>::max() / kLongYields;  // that giving the core away has taken
  std::int64_t computed_ = 0;           // the longest between two waits of late: it fades with every wait
  std::int64_t keeps_core_until_ = 0;   // because a thread that computes has had it
  std::int64_t computing_until_ = kLongAgo;  // when a thread that computes was there last, or is thought to be
  std::uint32_t met_computing_ = 0;     // a thread that computes: a bit for each of the last waits, the lowest for this one
  std::uint64_t contended_yields_ = 0;  // that are left until the core counts as wanted by no other thread
  std::array<std::uint8_t, kWindow> window_{};  // kinds of the last waits
  unsigned oldest_ = 0;
  std::array<std::uint8_t, kBudgets + 1> count_{};  // of each kind in the window
  WaitPrediction prediction_;
};

}  // namespace lapwing::engine
