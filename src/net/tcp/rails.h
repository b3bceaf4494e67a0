// The rails of a link: further connections to the same peer, one in each network that the two hosts share, which carry parts of long messages and
// nothing else. Where there are two or more networks, a long message is as fast as all of them together.
//
// A rail is a Link with a channel of its own: its frames are numbered, acknowledged and sent again by themselves, and its connection is mended like
// any other, by whatever network works. So nothing is lost when one network goes: what was under way there comes by another, and new parts are
// given to the rails that still move. When its own network works again it goes back there (home_watch.h). What has to keep an order never goes by a
// rail: only frames that their owner has marked (SendOp::any_order) do, which name the transfer and the offset of their bytes, and the receiver
// refuses others (FrameSink::may_overtake).
//
//   which networks    common_networks.h: both sides find the same, in the same order. Rail n is for the n-th, and its number stands in the
//                     handshake's terms
//   when              each side begins to make them when it has the first such frame to send. One that cannot be made is tried again after
//                     ever longer pauses. While fewer than two stand, all goes by the link itself
//   shares            a frame goes to the rail that would be done with it first, as what it still has to send and its measured rate say
//                     (drain_meter.h). So a slow rail gets less, one that does not move nothing, and both end at about the same time
//
// When a rail that stood is lost, no network has led to the peer for LAPWING_PEER_TIMEOUT, or it has ended: then the link is lost.
#pragma once

#include <memory>
#include <vector>

#include "net/tcp/common_networks.h"
#include "net/tcp/drain_meter.h"
#include "net/tcp/link.h"
#include "net/tcp/shared_state.h"

namespace lapwing::net::tcp {

class Rails {
 public:
  // `addresses`: all of the peer's; `networks`: those to make rails in. `user` hears of a rail that is lost.
  Rails(SharedState& shared, PeerId peer, const std::vector<Address>& addresses, bool same_host,
        const std::vector<CommonNetwork>& networks, RailUser& user);

  // The rail for the next frame of so many bytes; null: the link itself.
  Link* choose(std::uint64_t bytes) noexcept;
  // For the acceptor; null: there is no such rail.
  Link* find(std::uint16_t number) noexcept { return number >= 1 && number <= rails_.size() ? rails_[number - 1].link.get() : nullptr; }

  bool something_to_send() const noexcept;
  // As Link::settled() and ask().
  bool settled() const noexcept;
  void ask() noexcept;
  // As Link::inspect().
  bool inspect() noexcept;
  void close() noexcept;
  // The link is over, because of `why`.
  void end(const Status& why) noexcept;

 private:
  struct Entry {
    std::unique_ptr<Link> link;
    DrainMeter meter;
    bool stood = false;  // when it was looked at last
  };

  void make_missing(std::int64_t now) noexcept;
  std::size_t look(std::int64_t now) noexcept;
  double fastest() const noexcept;

  SharedState& shared_;
  std::vector<Entry> rails_;
  std::int64_t next_try_ = 0, pause_ = 0;
};

}  // namespace lapwing::net::tcp
