// The second connection of a link, by which programs in the kernels of both sides answer requests that come by the first one (net/kernel/area.h). It
// is a Link of its own, with a number in the handshake's terms as a rail has (rails.h), and no process ever posts a frame to it: an answer between
// two halves of a frame would cut that.
//
//   made        by the side that has a first request for which the peer's program could make the answer. Once: when it cannot be made, or breaks, there is
//               none from then on, and all is answered by the processes
//   numbered    by the program. Nothing is kept for another connection: it does not resume
//   lost        what was answered by it may not have come. The receiver takes in what its program has answered, and answers it once more by the link
//   closed      with the link, after all sends of the job: what waits in the kernel to be sent on it is lost then
#pragma once

#include <memory>
#include <vector>

#include "net/tcp/answer_choice.h"
#include "net/tcp/link.h"

namespace lapwing::net::tcp {

inline constexpr std::uint16_t kAnswerRail = 0xffff;  // no pair of hosts has so many networks in common

class AnswerWay {
 public:
  // `user` hears when it stands, and when it is lost.
  AnswerWay(SharedState& shared, PeerId peer, const std::vector<Address>& addresses, bool same_host, RailUser& user);

  Link& link() noexcept { return link_; }
  // For a message that could ask the peer's program. Makes the connection, the first time.
  Asking asking(std::uint64_t bytes) noexcept;
  void took(std::uint64_t bytes, Asking way, std::int64_t time) noexcept { choice(bytes).took(way, time); }

 private:
  // Those that could be sent whole, and pay for a question more; and longer ones.
  AnswerChoice& choice(std::uint64_t bytes) noexcept { return choices_[bytes > eager_limit_]; }

  Link link_;
  const std::uint64_t eager_limit_;
  AnswerChoice choices_[2];
  bool begun_ = false;
};

}  // namespace lapwing::net::tcp
