#include "p2p/matcher.h"

namespace lapwing::p2p {

// Of at most four candidates the oldest.
ReceiveRequest* Matcher::match_with_wildcards(MatchKey envelope) noexcept {
  MatchNode* best = nullptr;
  for (int any_source = 0; any_source < 2; ++any_source) {
    for (int any_tag = 0; any_tag < 2; ++any_tag) {
      if ((any_source || any_tag) && wildcards_[any_source][any_tag] == 0) continue;
      MatchNode* candidate = posted_.oldest(
          {envelope.context, any_source ? kAnyPeer : envelope.peer(), any_tag ? kAnyTag : envelope.tag()});
      if (candidate != nullptr && (best == nullptr || candidate->stamp < best->stamp)) best = candidate;
    }
  }
  return static_cast<ReceiveRequest*>(best);
}

UnexpectedMessage* Matcher::search(MatchKey wanted) noexcept {
  if (!wanted.has_wildcard()) {
    MatchNode* node = unexpected_.oldest(wanted);
    return node != nullptr ? &message_of(*node) : nullptr;
  }
  MatchNode* node = by_context_.oldest({wanted.context, kAnyPeer, kAnyTag});
  for (; node != nullptr; node = MatchTable::next(*node)) {
    auto* message = static_cast<UnexpectedMessage*>(static_cast<ByContext*>(node));
    if (wanted.covers(message->ByEnvelope::key)) return message;
  }
  return nullptr;
}

UnexpectedMessage* Matcher::find_sent_as(MatchKey envelope, std::uint64_t sender_token) noexcept {
  for (MatchNode* node = unexpected_.oldest(envelope); node != nullptr; node = MatchTable::next(*node)) {
    if (message_of(*node).sender_token == sender_token) return &message_of(*node);
  }
  return nullptr;
}

}  // namespace lapwing::p2p
