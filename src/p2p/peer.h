// What the messenger keeps about one peer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/intrusive_list.h"
#include "base/status.h"
#include "comm/communicator.h"
#include "net/transport.h"
#include "p2p/credit.h"
#include "p2p/recent_tokens.h"

namespace lapwing::p2p {

class ReceiveRequest;
class SendRequest;
struct HeldTag;
struct UnexpectedMessage;

// Which of the two accounts pays for messages of this context.
inline Account account_of(std::uint64_t context) noexcept {
  return (context & 3) == static_cast<std::uint64_t>(comm::Plane::kPointToPoint) ? kUserAccount : kInternalAccount;
}

// What every message touches lies together: the first line is the sender's, the next two are the receiver's.
struct alignas(64) Peer {
  // The way there, once Common::find_way has found it.
  net::Transport* transport = nullptr;
  std::uint64_t most_at_once = 0;  // bytes that Transport::send_now takes
  OutgoingAccount outgoing[kAccounts];
  IntrusiveList<SendRequest, HeldTag> held[kAccounts];  // sends that wait for credit

  IncomingAccount incoming[kAccounts];
  std::uint64_t wanted[kAccounts] = {};  // posted receives and blocked probes that name this peer
  std::uint64_t controls = 0;            // frames without payload that its transport has not taken yet
  bool lost = false;                     // `why` says why
  bool may_match = true;                 // receives can be lent to it, as far as is known (lending.h)
  bool listed_exhausted = false;         // among CreditFlow's

  // Synchronous messages that the peer's kernel may acknowledge, and has not; and those that a carrier has acknowledged in this process's name.
  std::uint64_t trailers = 0;
  RecentTokens acknowledged;

  // The frame that is arriving.
  ReceiveRequest* landing_receive = nullptr;
  UnexpectedMessage* landing_message = nullptr;
  std::uint64_t timed_above = UINT64_MAX;  // eager messages of more bytes are timed, once its way has been found
  std::byte address[8] = {};  // payload of a pullable RTS
  Status why;

  // ---- the credit field of a header: units, and whose ----

  // What we owe this peer, to go with the next frame to it; 0: nothing.
  std::uint32_t take_owed() noexcept {
    if (incoming[kUserAccount].owed >= incoming[kInternalAccount].owed) [[likely]]
      return incoming[kUserAccount].give_back();
    return incoming[kInternalAccount].give_back() | kInternalAccountBit;
  }
  // That frame has not gone.
  void keep_owed(std::uint32_t credit) noexcept { incoming[paid_to(credit)].keep(credit & kMaxUnitsPerFrame); }
  void gain(std::uint32_t credit) noexcept { outgoing[paid_to(credit)].gain(credit & kMaxUnitsPerFrame); }
  bool holds_sends() const noexcept { return !held[kUserAccount].empty() || !held[kInternalAccount].empty(); }
  // No honest peer ever gives this much; keeps the sums far from overflow.
  bool gives_absurdly(std::uint32_t credit) const noexcept {
    return outgoing[paid_to(credit)].credit + (credit & kMaxUnitsPerFrame) > std::uint64_t{1} << 48;
  }
  static Account paid_to(std::uint32_t credit) noexcept {
    return (credit & kInternalAccountBit) != 0 ? kInternalAccount : kUserAccount;
  }

  // Whether it asks for answers and reads none. All that its credit lets it ask for may wait for a peer that computes. Never with kSome of them.
  static constexpr std::uint64_t kSome = 4096;
  bool leaves_answers() const noexcept {
    const std::uint64_t units = incoming[kUserAccount].window + incoming[kInternalAccount].window;
    return controls > kSome + units / kEnvelopeUnits;
  }
};

}  // namespace lapwing::p2p
