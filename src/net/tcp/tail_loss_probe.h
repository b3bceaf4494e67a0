// Finds out that the last records of a protected link were swallowed on the way although TCP has acknowledged them: by an attacker, or by a
// middlebox that ends TCP connections itself and forgets what it has taken. Whatever follows a missing record shows the gap (wire/record.h), but
// behind the last one nothing follows, and both sides would wait for ever. So the sender asks the peer to acknowledge what it has had, and breaks
// the connection when the answer is overdue; then it is mended, and what is missing is sent again. (The idea is that of TCP's own tail loss probe,
// RFC 8985, section 7.)
//
// A round of the liveness monitor in which TCP has had everything acknowledged and the peer has acknowledged nothing more counts:
//
//   the first            kAsk: the peer is asked, unless it has been
//   after some more      kBreak: no answer has come
//
// Rounds are counted and not time, because between two of them this process has read what was there: one that was stopped, or has computed with
// LAPWING_PROGRESS=polling, does not take its own absence for the peer's silence.
//
// A peer that is stopped, or computes with LAPWING_PROGRESS=polling, answers late, and its connection is broken in vain: that loses nothing. The
// next break over this link then takes twice as many rounds, up to a bound, so a program that computes for long between its calls pays for few of
// them. Where the peer has said in the handshake that it polls only, its silence says little, and the bound holds from the beginning. Nothing else
// could be asked in its place: that its kernel is there TCP has said already, and what is looked for here is lost behind TCP.
//
// Pure; one side of one link. test/model/tail_loss_test.cc swallows records between any two steps of two such sides.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lapwing::net::tcp {

class TailLossProbe {
 public:
  enum class Action { kNone, kAsk, kBreak };

  // Rounds behind the question: at first, and at most. In the monitor's rounds of half a second (tcp.stall), 2 and 32 s.
  static constexpr unsigned kFirstPatience = 4, kLongestPatience = 64;

  explicit TailLossProbe(unsigned first = kFirstPatience, unsigned longest = kLongestPatience) noexcept : patience_(first), longest_(longest) {}

  // A round. `needed`: how many frames the peer must have, of which it has acknowledged so many; `under_way`: TCP has not had all bytes acknowledged.
  Action judge(std::uint64_t needed, std::uint64_t acknowledged, bool under_way) noexcept {
    const bool moved = acknowledged != acknowledged_;
    acknowledged_ = acknowledged;
    if (moved || under_way || acknowledged >= needed) {
      rounds_ = 0;
      return Action::kNone;
    }
    if (rounds_++ == 0) return Action::kAsk;
    if (rounds_ <= patience_) return Action::kNone;
    broke_at_ = needed;
    return Action::kBreak;
  }

  // Another connection stands, whose handshake says how many frames the peer has had, and whether it polls only. True: this has broken the one
  // before in vain.
  bool stands(std::uint64_t acknowledged, bool polls = false) noexcept {
    const bool in_vain = broke_at_ != 0 && acknowledged >= broke_at_;
    if (in_vain) patience_ = std::min(2 * patience_, longest_);
    if (polls) patience_ = longest_;
    broke_at_ = 0;
    rounds_ = 0;
    acknowledged_ = acknowledged;
    return in_vain;
  }

 private:
  std::uint64_t acknowledged_ = 0;
  std::uint64_t broke_at_ = 0;  // frames that the peer had to have when this broke the connection; 0: it did not
  std::uint64_t rounds_ = 0;    // in a row that counted
  unsigned patience_, longest_;
};

}  // namespace lapwing::net::tcp
