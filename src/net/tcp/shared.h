// What the parts of one TcpTransport share: the way up (sink) and down (engine), the options, and a place for
// connections that ended in the middle of their own callbacks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "net/refusals.h"
#include "net/tcp/connection.h"
#include "net/tcp/interfaces.h"
#include "net/tcp/patrol.h"
#include "net/transport.h"
#include "wire/handshake.h"

namespace lapwing::net {

struct TcpOptions {
  PeerId rank = 0;
  std::uint32_t size = 1;
  std::string job_secret;     // empty: nobody may connect
  std::string host_identity;  // equal to a card's "host": that peer is reached by loopback
  std::string host_name;      // for messages
  bool single_host = false;   // all ranks run here: listen on loopback alone
  std::uint64_t eager_limit = 64 << 10;
  std::vector<std::string> interfaces;  // LAPWING_TCP_INTERFACE
  std::uint16_t first_port = 0;         // LAPWING_TCP_PORTS; 0: any
  std::uint16_t last_port = 0;
  std::int64_t connect_timeout = 10'000'000'000;   // ns, for all addresses of a peer together
  std::int64_t handshake_timeout = 5'000'000'000;  // ns, for whoever connects to this rank
  std::int64_t peer_timeout = 60'000'000'000;      // ns, for a host that does not answer any more
};

struct TcpCounters {
  std::uint64_t connections_made = 0;      // by this rank
  std::uint64_t connections_accepted = 0;  // made by peers
  std::uint64_t strangers_dropped = 0;     // connections that did not prove that they belong to the job
};

namespace tcp {

class Link;

// The links with traffic a moment ago: poll() reads them directly, without asking the event port. When there is traffic on more
// links than that is worth for, the port is asked at every turn instead, and none is read that it does not announce.
//
// A link that poll() has read again and again leaves the port: to announce its packets there costs 3 to 6 % of a small message's
// way. It comes back (and what is there is announced) before somebody sleeps in the port, and before poll() ceases to look at it.
//
// At rest (engine.h) the hot links are in the port, but a watermark hides from it what is for the application's next call. An
// application that comes back finds that by looking at them as ever, and takes no watermark down; arm() does. So a link with a watermark
// is hot. Rest ends where messages follow each other without a pause, or are long: then the port must not be watched.
class HotLinks {
 public:
  explicit HotLinks(engine::Engine& engine) noexcept : engine_(engine) {}

  // Something moved on this link: look at it directly for a while.
  void touch(Link& link) noexcept;
  void forget(Link& link) noexcept;
  bool has(const Link& link) const noexcept;
  bool poll() noexcept;
  // From now on somebody may sleep: watermarks are set, and all links are in the port again. False when it refuses one, and then
  // nobody may.
  bool arm() noexcept;
  // False when there is input to be read, or more links have traffic than poll() looks at.
  bool rest() noexcept;
  bool at_rest() const noexcept { return at_rest_; }
  void end_rest() noexcept {
    if (at_rest_) engine_.end_rest();  // disarm() follows
  }
  // Nobody sleeps: a link that is read all the time may leave the port.
  void disarm() noexcept { armed_ = at_rest_ = false; }
  // The event port has announced input of a hot link, and will not do so again: nobody sleeps before the next poll.
  void expect_input() noexcept { input_expected_ = true; }
  bool input_expected() const noexcept { return input_expected_; }
  // More links have traffic than poll() looks at.
  bool too_many() const noexcept { return too_many_; }

 private:
  // Looking at a socket costs a system call, and the event port looks at all of them with one: only a few are worth it.
  static constexpr std::size_t kMost = 4;
  static constexpr unsigned kPatience = 256;  // looks in vain before a link is left to the event port
  static constexpr unsigned kCalm = 64;       // messages in a row on few links, and they are looked at again
  static constexpr unsigned kSteady = 32;     // looks that found something before a link leaves the port
  struct Hot {
    Link* link;
    unsigned looks_in_vain;
    unsigned finds;  // since somebody last could sleep
  };
  bool all_in_port() noexcept;

  engine::Engine& engine_;
  std::vector<Hot> hot_;
  bool armed_ = false;
  bool at_rest_ = false;
  bool some_outside_ = false;  // of the port
  bool input_expected_ = false;
  bool too_many_ = false;
  unsigned calm_ = 0;
};

struct Shared {
  Shared(engine::Engine& engine_in, const Sinks& sinks_in, const TcpOptions& options_in)
      : engine(engine_in), sinks(sinks_in), options(options_in), patrol(engine_in, options_in.peer_timeout), hot_links(engine_in) {}

  static constexpr std::size_t kScratchBytes = 64 << 10;

  // "rank 3 on host node7".
  std::string describe(PeerId peer) const;
  std::string describe_self() const;
  // Ends a connection; its object lives on until the next poll, because one of its functions may be running.
  void retire(std::unique_ptr<Connection> connection) noexcept;

  engine::Engine& engine;
  const Sinks sinks;
  const TcpOptions options;
  Patrol patrol;
  wire::JobKey key;
  TcpCounters counters;
  HotLinks hot_links;
  Refusals refusals{engine};
  std::vector<Link*> deferred;          // links that keep frames of a burst back until the next poll
  std::vector<Interface> interfaces;    // of this host
  wire::CardBook cards;
  // Where input lands first; used within one receive. Of its pages only those exist that were written to.
  const std::unique_ptr<std::byte[]> scratch = std::make_unique_for_overwrite<std::byte[]>(kScratchBytes);
  bool goodbye_expected = false;
  std::vector<std::unique_ptr<Connection>> retired;
};

}  // namespace tcp
}  // namespace lapwing::net
