// The attempts of a pair of ranks to connect to each other: which is older than the connection that stands, and what a rank answers to one of its
// peer's. Pure; one side of one pair.
//
// Both sides count the attempts of their pair: each side those that it begins, and whenever a connection stands both agree on the higher count. So an
// attempt of before this connection, which may arrive late, is told apart from one that takes its place.
//
// test/model/reconnect_test.cc has two such sides connect, break and connect again in every order.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wire/handshake.h"

namespace lapwing::net::tcp {

// States of a link; link_setup.h says what each means to its user.
enum class LinkState : std::uint8_t { kIdle, kConnecting, kAwaiting, kOpen, kFinished, kLost };

class Attempts {
 public:
  // As far as this side knows.
  std::uint64_t count() const noexcept { return count_; }
  // This side begins another.
  void begin() noexcept { ++count_; }
  // A connection stands. `theirs`: the peer's count.
  void agree(std::uint64_t theirs) noexcept { connection_ = count_ = std::max(count_, theirs); }

  // The answer to the peer's attempt number `theirs`, which has proven that it is the peer's. `resumes`: both have agreed that a link that breaks is
  // made again. `ours_wins`: this side makes an attempt itself, which goes first and cannot be taken back any more.
  wire::Verdict judge(LinkState state, std::uint64_t theirs, bool resumes, bool ours_wins) const noexcept {
    // Its maker has given it up, and what it says of the peer is no longer so.
    if (resumes && theirs <= connection_) return wire::Verdict::kDuplicate;
    switch (state) {
      case LinkState::kIdle:
      case LinkState::kAwaiting:
        return wire::Verdict::kAccepted;
      case LinkState::kConnecting:
        return ours_wins ? wire::Verdict::kDuplicate : wire::Verdict::kAccepted;
      case LinkState::kOpen:  // the peer has noticed that this connection is of no use any more
        return resumes ? wire::Verdict::kAccepted : wire::Verdict::kDuplicate;
      case LinkState::kLost:
        return wire::Verdict::kGivenUp;
      case LinkState::kFinished:
        break;
    }
    return wire::Verdict::kGone;
  }

 private:
  std::uint64_t count_ = 0;
  std::uint64_t connection_ = 0;  // the number of the connection that stood last
};

}  // namespace lapwing::net::tcp
