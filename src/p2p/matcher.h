// Which posted receive a message belongs to, and which message a receive: the two queues of MPI's matching rules (MPI 5.0, section
// 3.5), and nothing of protocols, peers or credit. Owned by the messenger; protected by the endpoint's lock.
//
// Order. Messages of one sender are matched in the order in which they were sent, so post() and keep() are called in that order;
// receives in the order in which they were posted, which a stamp keeps across keys. Every small message passes match(), so that is
// inline, and looks at one key as long as no posted receive has a wildcard.
#pragma once

#include <cstddef>
#include <cstdint>

#include "p2p/match_table.h"
#include "p2p/unexpected_message.h"
#include "p2p/receive_request.h"

namespace lapwing::p2p {

class Matcher {
 public:
  // ---- receives; their keys are set ----

  // `counter` counts it for as long as it is posted.
  void post(ReceiveRequest& receive, std::uint64_t& counter) noexcept {
    receive.stamp = next_stamp_++;
    receive.counter_ = &counter;
    ++counter;
    posted_.insert(receive);
    if (receive.MatchNode::key.has_wildcard()) count_wildcard(receive.MatchNode::key, 1);
  }
  void unpost(ReceiveRequest& receive) noexcept {
    posted_.remove(receive);
    --*receive.counter_;
    if (wildcard_receives_ != 0 && receive.MatchNode::key.has_wildcard()) count_wildcard(receive.MatchNode::key, -1);
  }
  // The posted receive that a message with this envelope belongs to, or null. It stays posted.
  ReceiveRequest* match(MatchKey envelope) noexcept {
    if (wildcard_receives_ != 0) return match_with_wildcards(envelope);
    return static_cast<ReceiveRequest*>(posted_.oldest(envelope));
  }
  std::size_t posted() const noexcept { return posted_.size(); }
  // Of these, those with a wildcard.
  std::uint64_t wildcards() const noexcept { return wildcard_receives_; }
  // Receives posted from now on have this stamp or a higher one.
  std::uint64_t next_stamp() const noexcept { return next_stamp_; }
  MatchTable& posted_table() noexcept { return posted_; }

  // ---- messages that came before their receive ----

  void keep(UnexpectedMessage& message) noexcept {
    unexpected_.insert(static_cast<ByEnvelope&>(message));
    by_context_.insert(static_cast<ByContext&>(message));
  }
  void take(UnexpectedMessage& message) noexcept {
    unexpected_.remove(static_cast<ByEnvelope&>(message));
    by_context_.remove(static_cast<ByContext&>(message));
  }
  // The oldest message for a receive or a probe, or null. It stays. O(1) unless a wildcard must pass over messages that it does not match.
  UnexpectedMessage* find(MatchKey wanted) noexcept { return unexpected_.size() == 0 ? nullptr : search(wanted); }
  // The message with this envelope whose sender knows it by this token, or null.
  UnexpectedMessage* find_sent_as(MatchKey envelope, std::uint64_t sender_token) noexcept;
  std::size_t unexpected() const noexcept { return unexpected_.size(); }
  MatchTable& unexpected_table() noexcept { return unexpected_; }
  static UnexpectedMessage& message_of(MatchNode& node) noexcept {
    return *static_cast<UnexpectedMessage*>(static_cast<ByEnvelope*>(&node));
  }

 private:
  void count_wildcard(MatchKey key, int by) noexcept {
    wildcard_receives_ += by;
    wildcards_[key.peer() == kAnyPeer][key.tag() == kAnyTag] += by;
  }
  ReceiveRequest* match_with_wildcards(MatchKey envelope) noexcept;
  UnexpectedMessage* search(MatchKey wanted) noexcept;

  MatchTable posted_;      // by (context, peer or any, tag or any)
  MatchTable unexpected_;  // by envelope
  MatchTable by_context_;  // the same messages
  std::uint64_t next_stamp_ = 0;
  std::uint64_t wildcards_[2][2] =
      {};  // how many posted receives have [any source][any tag]; those with neither are not counted
  std::uint64_t wildcard_receives_ = 0;  // all of them: usually none
};

}  // namespace lapwing::p2p
