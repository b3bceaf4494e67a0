#include "p2p/credit_flow.h"

#include <utility>

namespace lapwing::p2p {

std::uint64_t& CreditFlow::wanted(MatchKey key) noexcept {
  const Account account = account_of(key.context);
  return key.peer() == kAnyPeer ? wanted_from_any(account) : common_.peers[key.peer()].wanted[account];
}

void CreditFlow::relieve_for(MatchKey wanted) noexcept {
  const Account account = account_of(wanted.context);
  if (wanted.peer() == kAnyPeer) return relieve_any(account);
  Peer& peer = common_.peers[wanted.peer()];
  if (peer.incoming[account].exhausted()) relieve(wanted.peer(), peer, account);
}

void CreditFlow::release(net::PeerId id, Account account, std::uint64_t units) noexcept {
  Peer& peer = common_.peers[id];
  peer.incoming[account].release(units);
  give_back(id, peer);
}

// What is worth a frame of its own.
void CreditFlow::give_back(net::PeerId id, Peer& peer) noexcept {
  for (const IncomingAccount& account : peer.incoming) {
    while (!peer.lost && account.worth_a_frame()) post_credit(id);
  }
}

// The frame takes along what is owed, as every frame does.
void CreditFlow::post_credit(net::PeerId id) noexcept {
  wire::MessageHeader credit;
  credit.kind = wire::MessageKind::kCredit;
  frames_.post_control(id, credit);
}

// A peer without credit may hold back just the message that is asked for here (credit.h, rule 3).
void CreditFlow::relieve(net::PeerId id, Peer& peer, Account account) noexcept {
  if (peer.lost) return;
  peer.incoming[account].relieve();
  while (!peer.lost && (peer.incoming[kUserAccount].owed | peer.incoming[kInternalAccount].owed) != 0) post_credit(id);
}

void CreditFlow::relieve_exhausted(Account account) noexcept {
  std::vector<net::PeerId> suspects;
  suspects.swap(exhausted_);
  for (const net::PeerId id : suspects) common_.peers[id].listed_exhausted = false;
  for (const net::PeerId id : suspects) {
    Peer& peer = common_.peers[id];
    if (peer.incoming[account].exhausted()) relieve(id, peer, account);
    if (peer.incoming[kUserAccount].exhausted() || peer.incoming[kInternalAccount].exhausted()) list_exhausted(id, peer);
  }
}

// A peer that has used its credit up may hold back just what is waited for here.
void CreditFlow::after_spending(net::PeerId id, Peer& peer, Account account) noexcept {
  list_exhausted(id, peer);
  if (peer.wanted[account] != 0 || wanted_from_any_[account] != 0) relieve(id, peer, account);
}

void CreditFlow::list_exhausted(net::PeerId id, Peer& peer) noexcept {
  if (std::exchange(peer.listed_exhausted, true)) return;
  exhausted_.push_back(id);
}

}  // namespace lapwing::p2p
