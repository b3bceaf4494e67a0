// The receiver's half of credit (credit.h has the protocol and its arithmetic): gives back what peers are owed, and sees to it that a peer
// is not stuck whose message is wanted here. The sender's half is in the send path, which keeps messages back.
#pragma once

#include <cstdint>
#include <vector>

#include "p2p/common.h"
#include "p2p/frame_sender.h"
#include "p2p/match_table.h"

namespace lapwing::p2p {

class CreditFlow {
 public:
  CreditFlow(Common& common, FrameSender& frames) noexcept : common_(common), frames_(frames) {}

  // A posted receive or a blocked probe from any source counts itself here for as long as it waits; one that names its peer, in Peer::wanted.
  std::uint64_t& wanted_from_any(Account account) noexcept { return wanted_from_any_[account]; }
  std::uint64_t& wanted(MatchKey key) noexcept;

  // A receive or a probe found nothing: the peers that could satisfy it must be able to announce a message (rule 3).
  // Of a peer whose account is exhausted.
  void relieve(net::PeerId id, Peer& peer, Account account) noexcept;
  void relieve_any(Account account) noexcept {
    if (!exhausted_.empty()) [[unlikely]]
      relieve_exhausted(account);
  }
  void relieve_for(MatchKey wanted) noexcept;

  // A message has come: gives back what its sender is owed, if that is worth a frame, and looks whether the sender is stuck.
  void after_message(net::PeerId id, Peer& peer, Account account) noexcept {
    if (peer.incoming[account].worth_a_frame()) give_back(id, peer);
    if (peer.incoming[account].exhausted()) [[unlikely]]
      after_spending(id, peer, account);
  }
  // A stored message is gone.
  void release(net::PeerId id, Account account, std::uint64_t units) noexcept;

 private:
  void give_back(net::PeerId id, Peer& peer) noexcept;
  void relieve_exhausted(Account account) noexcept;
  void after_spending(net::PeerId id, Peer& peer, Account account) noexcept;
  void list_exhausted(net::PeerId id, Peer& peer) noexcept;
  void post_credit(net::PeerId id) noexcept;

  Common& common_;
  FrameSender& frames_;
  std::uint64_t wanted_from_any_[kAccounts] = {};
  std::vector<net::PeerId> exhausted_;  // peers that may have no credit left here, each once; cleaned when looked through
};

}  // namespace lapwing::p2p
