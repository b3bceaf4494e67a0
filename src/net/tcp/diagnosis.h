// What is told about a peer that cannot be reached, or not any more: rank, address, cause, and what to do.
#pragma once

#include <vector>

#include "net/tcp/shared_state.h"

namespace lapwing::net::tcp {

class Diagnosis {
 public:
  Diagnosis(const SharedState& shared, PeerId peer, bool same_host) noexcept : shared_(shared), peer_(peer), same_host_(same_host) {}

  Status no_route(const std::vector<Address>& offered) const;
  // Nothing listens at an address where a rank listens as long as it lives.
  Status ended() const;
  // The connection to `remote` broke; then what that means: that the process has ended, or that no other connection could be made in time.
  Status broken(const Address& remote, const char* what) const;
  Status broken(const Address& remote, int error) const;
  // The kernel finds no memory where a call of the program's said that some is, to send from or to receive into.
  Status no_memory(const Address& remote, const char* preposition) const;
  Status ended(const Status& broken) const;
  Status not_resumed(const Status& broken, double seconds, unsigned tries, const Status& last_try) const;
  // An errno value says that the host does not answer.
  static bool means_silence(int error) noexcept;
  // What came by the connection to `remote` is not what the peer sent.
  Status wrong_record(const Address& remote) const;
  Status only_wrong_records(const Address& remote) const;
  // The kernel at `remote` has acknowledged what the peer has not; then that this is so over every connection.
  Status unanswered(const Address& remote) const;
  Status all_swallowed(const Status& unanswered) const;
  Status silent(const Address& remote) const;
  Status not_reached(const Status& last_try) const;
  // The peer has done with this process as it says.
  Status given_up(const wire::GivingUp& how) const;
  Status not_arrived() const;
  Status violation(const Address& remote, const Status& rule) const;
  Status finalized() const;
  Status closed() const;
  Status too_long(std::uint64_t bytes, std::uint64_t limit) const;

 private:
  double patience() const noexcept { return static_cast<double>(shared_.liveness_monitor.patience()) / 1e9; }

  const SharedState& shared_;
  const PeerId peer_;
  const bool same_host_;
};

}  // namespace lapwing::net::tcp
