// How the segment and the doorbells reach the other ranks of a host: over an abstract AF_UNIX socket, as descriptors.
//
// Every rank opens a listening socket before the cards are exchanged (nobody knows yet who will be the leader), so that a
// later connect cannot fail for want of a listener. Then the lowest local rank serves each of the others exactly once and
// the rest fetch; all close their sockets. The socket's name is random and visible to everybody on the host, so a request
// must also show the token, which travels only in the card, and come from the same user. Others are dropped, and cost the
// leader nothing that a deadline does not bound.
//
//   request (one SEQPACKET message)   token (16 bytes), local rank (u32)
//   answers                           count of descriptors in this message (u32), with the descriptors themselves:
//                                     the segment first, then the doorbell of local rank 0, 1, ...
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "net/shm/owned_fd.h"

namespace lapwing::net::shm {

// What the ranks of one host hold in common.
struct SharedFiles {
  OwnedFd segment;
  std::vector<OwnedFd> doorbells;  // by local rank: eventfds
};

// Fills `count` doorbells.
Status create_doorbells(std::uint32_t count, std::vector<OwnedFd>& doorbells);

class Listener {
 public:
  static constexpr std::size_t kTokenBytes = 16;

  Status open();
  void close() noexcept { socket_.reset(); }
  const std::string& name() const noexcept { return name_; }    // printable
  const std::string& token() const noexcept { return token_; }  // kTokenBytes, any bytes

  // The leader's part: hands `files` to local ranks 1 .. local_ranks-1. Fails when they have not all come by `deadline`,
  // and says how many are missing.
  Status serve(std::uint32_t local_ranks, const SharedFiles& files, Clock& clock, std::int64_t deadline);

 private:
  OwnedFd socket_;
  std::string name_;
  std::string token_;
};

// The others' part. `leader` is the rank in the job, for messages.
Status fetch(std::string_view name, std::string_view token, std::uint32_t leader, std::uint32_t local_rank,
             std::uint32_t local_ranks, Clock& clock, std::int64_t deadline, SharedFiles& files);

// `bytes` random bytes.
Status random_bytes(void* out, std::size_t bytes);
std::string to_hex(const void* data, std::size_t bytes);

}  // namespace lapwing::net::shm
