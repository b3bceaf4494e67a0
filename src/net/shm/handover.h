// How the segment and the doorbells reach the other ranks of a host: over an abstract AF_UNIX socket, as descriptors.
//
// Every rank opens a listening socket before the cards are exchanged (no rank knows yet which will be the leader), so that a
// later connect cannot fail for want of a listener. Then the lowest local rank serves each of the others exactly once and
// the rest fetch, and all agree to use the segment (agreement.h) before they close their sockets. The socket's name is random
// and visible to all users of the host, so a request must also show the token, which travels only in the card, and come from
// the same user. Others are dropped, and cost the leader nothing that a deadline does not bound.
//
//   request (one SEQPACKET message)   token, the place of the rank that asks, and a text: empty, or why this rank cannot take part
//   answers                           count of descriptors in this message (u32), with the descriptors themselves:
//                                     the segment first, then the doorbell of local rank 0, 1, ...; or 0 and a text that
//                                     says why the leader has none to give
//
// Requests and answers are laid out as the compiler does it: all ranks of a host that get so far run one library or fail here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "net/shm/agreement.h"
#include "net/shm/owned_fd.h"

namespace lapwing::net::shm {

// What the ranks of one host hold in common.
struct SharedFiles {
  OwnedFd segment;
  std::vector<OwnedFd> doorbells;  // by local rank: eventfds
};

// Where a rank stands among those of its host. Ranks with different ideas of which ranks are on the host get no further.
struct Place {
  std::uint32_t local_rank = 0;
  std::uint32_t local_ranks = 1;
  std::uint64_t members = 0;  // a hash of their ranks in the job
};
Place place_among(const std::vector<std::uint32_t>& ranks, std::uint32_t local_rank) noexcept;

// Fills `count` doorbells.
Status create_doorbells(std::uint32_t count, std::vector<OwnedFd>& doorbells);

class Listener {
 public:
  static constexpr std::size_t kTokenBytes = 16;

  Status open();
  void close() noexcept { socket_.reset(); }
  const std::string& name() const noexcept { return name_; }    // printable
  const std::string& token() const noexcept { return token_; }  // kTokenBytes, any bytes

  // The leader's part: hands `files` to the others until all have agreed to use them. Otherwise the ranks go apart, for the
  // reason that the error gives: a rank said that it cannot, has ended, or did not come before the deadline.
  Status serve(const Place& leader, const SharedFiles& files, Agreement& agreement, Clock& clock, std::int64_t deadline,
               const HasEnded& one_has_ended);
  // Instead, of a leader that has nothing to share: tells the others why.
  void refuse(const Place& leader, const char* why, Clock& clock, std::int64_t deadline, const HasEnded& one_has_ended) noexcept;

 private:
  OwnedFd socket_;
  std::string name_;
  std::string token_;
};

// The others' part. `leader` is the rank in the job, for messages. A failure that the leader cannot know of it is told.
Status fetch(std::string_view name, std::string_view token, std::uint32_t leader, const Place& place, Clock& clock,
             std::int64_t deadline, SharedFiles& files);
// Tells the leader that this rank cannot take part, so that it need not wait for the deadline; warns when it cannot be told.
void decline(std::string_view name, std::string_view token, std::uint32_t leader, const Place& place,
             const char* why) noexcept;

// Whether a listener of this name exists here, which proves that it is in the same kernel and network namespace, whatever
// its host calls itself. Costs three system calls and does not disturb the listener.
bool exists_here(std::string_view name) noexcept;

// `bytes` random bytes.
Status random_bytes(void* out, std::size_t bytes);
std::string to_hex(const void* data, std::size_t bytes);

}  // namespace lapwing::net::shm
