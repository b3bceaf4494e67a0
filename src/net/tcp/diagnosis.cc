#include "net/tcp/diagnosis.h"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>

#include "wire/machine.h"

namespace lapwing::net::tcp {

Status Diagnosis::no_route(const std::vector<Address>& offered) const {
  std::string theirs, ours;
  for (const Address& address : offered) {
    if (!address.is_loopback()) theirs += (theirs.empty() ? "" : ", ") + address.text();
  }
  for (const Interface& interface : shared_.interfaces) {
    if (!interface.up || interface.address.is_loopback() || interface.address.is_link_local()) continue;
    ours += (ours.empty() ? "" : ", ") + interface.name + " " + interface.address.text_without_port();
  }
  wire::Card card;
  const bool readable = shared_.cards.read(peer_.index, card).ok();
  const char* const why_apart = readable ? wire::why_apart(shared_.options.host_identity, card.get("host")) : "";
  const char* const remedy = theirs.empty()
                                 ? "Check that the network of that host is up; LAPWING_TCP_INTERFACE chooses one. Where mpiexec started all ranks on its host, and some "
                                   "are then taken into another network (a container's, say), all have to be"
                                 : "Check that the networks of both hosts are up, and choose one that joins them with LAPWING_TCP_INTERFACE";
  return Status::error(MPI_ERR_OTHER, "%s cannot reach %s by TCP: that rank offers %s, and this host (%s) has no route there. %s%s%s",
                       shared_.describe_self().c_str(), shared_.describe(peer_).c_str(), theirs.empty() ? "no address outside its host" : theirs.c_str(),
                       ours.empty() ? "no network but loopback" : ours.c_str(), remedy, why_apart[0] == '\0' ? "" : ". They ", why_apart);
}

Status Diagnosis::ended() const {
  return Status::error(MPI_ERR_PROC_ABORTED,
                       "%s cannot reach %s, where nothing listens any more. That process has ended; look at what it printed "
                       "last",
                       shared_.describe_self().c_str(), shared_.describe(peer_).c_str());
}

Status Diagnosis::broken(const Address& remote, const char* what) const {
  return Status::error(MPI_ERR_PROC_ABORTED, "%s lost its connection to %s (%s): %s", shared_.describe_self().c_str(),
                       shared_.describe(peer_).c_str(), remote.text().c_str(), what);
}

Status Diagnosis::broken(const Address& remote, int error) const {
  return broken(remote, means_silence(error) ? "that host does not answer" : std::strerror(error));
}

Status Diagnosis::no_memory(const Address& remote, const char* preposition) const {
  return Status::error(MPI_ERR_BUFFER,
                       "a message %s %s (%s) lies in memory that %s does not have, or may not use so: look at the buffer, count and datatype of that call. Nothing "
                       "more is exchanged with that rank",
                       preposition, shared_.describe(peer_).c_str(), remote.text().c_str(), shared_.describe_self().c_str());
}

Status Diagnosis::ended(const Status& broken) const {
  return Status::error(MPI_ERR_PROC_ABORTED, "%s. That process has ended%s; look at what it printed last", broken.text(),
                       same_host_ ? "" : ", or the network between the hosts broke");
}

// What the kernel says when its probes were not answered.
bool Diagnosis::means_silence(int error) noexcept {
  return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH;
}

Status Diagnosis::wrong_record(const Address& remote) const {
  const char* const cause = shared_.options.wire == Protection::kSealed ? "it was changed, repeated or left out on the way" : "it was damaged on the way";
  return Status::error(MPI_ERR_PROC_ABORTED, "%s received a record from %s (%s) that is not as it was sent: %s", shared_.describe_self().c_str(),
                       shared_.describe(peer_).c_str(), remote.text().c_str(), cause);
}

Status Diagnosis::only_wrong_records(const Address& remote) const {
  return Status::error(MPI_ERR_PROC_ABORTED,
                       "%s. No frame has come through for %.3g s over any connection (LAPWING_PEER_TIMEOUT). Something on the way to that host damages or "
                       "changes what passes; look at network cards and switches, and at who is between",
                       wrong_record(remote).text(), patience());
}

Status Diagnosis::unanswered(const Address& remote) const {
  return broken(remote, "all that was sent has been taken there, and the rank does not say that it has come");
}

Status Diagnosis::all_swallowed(const Status& unanswered) const {
  return Status::error(MPI_ERR_PROC_ABORTED,
                       "%s. Nothing has come through for %.3g s over any connection (LAPWING_PEER_TIMEOUT). Something on the way takes what is sent and does "
                       "not pass it on; look at firewalls and proxies, and at who is between",
                       unanswered.text(), patience());
}

Status Diagnosis::silent(const Address& remote) const {
  return Status::error(
      MPI_ERR_PROC_ABORTED,
      "%s lost its connection to %s (%s): that host has not answered for %.3g s. It has gone, or the network between the "
      "hosts is cut; LAPWING_PEER_TIMEOUT says how long to wait",
      shared_.describe_self().c_str(), shared_.describe(peer_).c_str(), remote.text().c_str(), patience());
}

Status Diagnosis::not_resumed(const Status& broken, double seconds, unsigned tries, const Status& last_try) const {
  return Status::error(MPI_ERR_PROC_ABORTED,
                       "%s. No other connection could be made for %.3g s, in %u tries; LAPWING_PEER_TIMEOUT says how long to try. The last one: %s",
                       broken.text(), seconds, tries, last_try.ok() ? "no answer yet" : last_try.text());
}

Status Diagnosis::not_reached(const Status& last_try) const {
  return Status::error(
      MPI_ERR_PROC_ABORTED,
      "%s waits for messages and could not reach %s for %.3g s. It has gone, or the network between the hosts is "
      "cut; LAPWING_PEER_TIMEOUT says how long to wait. The last try: %s",
      shared_.describe_self().c_str(), shared_.describe(peer_).c_str(), patience(), last_try.text());
}

Status Diagnosis::given_up(const wire::GivingUp& how) const {
  char silence[96] = "";
  if (how.unreached_ms != 0)
    std::snprintf(silence, sizeof silence, ", when it had not reached it for %.3g s", static_cast<double>(how.unreached_ms) / 1e3);
  return Status::error(MPI_ERR_PROC_ABORTED,
                       "%s has been given up by %s %.3g s ago%s. That is final: the other ranks go on without this one, or end. LAPWING_PEER_TIMEOUT, "
                       "on that rank, says how long a rank that cannot be reached is waited for; what it printed says more",
                       shared_.describe_self().c_str(), shared_.describe(peer_).c_str(), static_cast<double>(how.ago_ms) / 1e3, silence);
}

Status Diagnosis::not_arrived() const {
  return Status::error(MPI_ERR_OTHER,
                       "%s and %s connected to each other at the same time, but the connection of the latter did "
                       "not arrive",
                       shared_.describe_self().c_str(), shared_.describe(peer_).c_str());
}

Status Diagnosis::violation(const Address& remote, const Status& rule) const {
  return Status::error(MPI_ERR_OTHER, "%s broke the rules of the wire (%s): %s. Do all ranks run the same Lapwing?",
                       shared_.describe(peer_).c_str(), remote.text().c_str(), rule.text());
}

Status Diagnosis::finalized() const {
  return Status::error(MPI_ERR_OTHER, "%s has finalized, so nothing can be sent to it", shared_.describe(peer_).c_str());
}

Status Diagnosis::closed() const {
  return Status::error(MPI_ERR_OTHER, "%s has closed its connections", shared_.describe_self().c_str());
}

Status Diagnosis::too_long(std::uint64_t bytes, std::uint64_t limit) const {
  return Status::error(MPI_ERR_INTERN, "%s takes frames of %" PRIu64 " bytes at most, and one of %" PRIu64 " was posted",
                       shared_.describe(peer_).c_str(), limit, bytes);
}

}  // namespace lapwing::net::tcp
