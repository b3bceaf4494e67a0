// The state of one TcpTransport that its parts share (links, acceptor, connectors): the way up (sinks) and down (engine), the options, what is
// known of this host and of the peers, and the connections that have ended in the middle of their own callbacks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/settings.h"
#include "base/tuning.h"
#include "engine/engine.h"
#include "net/kernel/intakes.h"
#include "net/refusals.h"
#include "net/tcp/busy_links.h"
#include "net/tcp/common_networks.h"
#include "net/tcp/connection.h"
#include "net/tcp/interfaces.h"
#include "net/tcp/liveness_monitor.h"
#include "net/tcp/spare_memory.h"
#include "net/transport.h"
#include "runtime/process_table.h"
#include "wire/handshake.h"

namespace lapwing::net {

struct TcpOptions {
  PeerId self;
  std::uint32_t size = 1;  // of the own job
  const runtime::ProcessTable* processes = nullptr;
  std::string job_secret;     // empty: no peer may connect
  std::string key_file;       // what the key file holds; empty: there is none
  std::string host_identity;  // equal to a card's "host": that peer is reached by loopback
  std::string host_name;      // for messages
  bool single_host = false;   // all ranks run here: listen on loopback alone
  std::uint64_t eager_limit = 64 << 10;
  std::uint64_t local_unasked = 0;  // where that is more: eager_limit to ranks of this host
  std::vector<std::string> interfaces;  // LAPWING_TCP_INTERFACE
  std::string congestion_control;       // LAPWING_TCP_CONGESTION; empty: chosen automatically
  std::uint16_t first_port = 0;         // LAPWING_TCP_PORTS; 0: any
  std::uint16_t last_port = 0;
  std::int64_t connect_timeout = 10'000'000'000;   // ns, for all addresses of a peer together
  std::int64_t handshake_timeout = 5'000'000'000;  // ns, for a connection that is made to this rank
  std::int64_t peer_timeout = 60'000'000'000;      // ns, for a host that does not answer any more
  Choice resume = Choice::kOff;                    // LAPWING_RESUME; counts where the frames are plain: others resume
  Protection wire = Protection::kPlain;            // LAPWING_WIRE
  std::uint32_t links = 0;                         // LAPWING_TCP_LINKS; 0: as many as there are networks
  decltype(&tcp::common_networks) networks = tcp::common_networks;  // in which rails are made; tests have their own
  Receive receive = Receive::kUser;                // LAPWING_RECEIVE
  bool polls = false;                              // LAPWING_PROGRESS=polling: peers are answered only while the application calls MPI
  std::uint64_t receive_memory = 32 << 20;         // LAPWING_RECEIVE_MEMORY
  std::uint64_t receive_zone = 16 << 20;           // LAPWING_RECEIVE_ZONE
  std::string accelerator;                         // LAPWING_ACCELERATOR
  std::uint32_t frame_limit = static_cast<std::uint32_t>(wire::kMaxPayloadBytes);  // payload bytes that this rank takes
};

struct TcpCounters {
  std::uint64_t connections_made = 0;      // by this rank
  std::uint64_t connections_accepted = 0;  // made by peers
  std::uint64_t connections_resumed = 0;   // of those, how many took the place of one that broke
  std::uint64_t records_wrong = 0;         // that came, on connections that are checked or sealed
  std::uint64_t strangers_dropped = 0;     // connections that did not prove that they belong to the job
};

namespace tcp {

class Sender;

struct SharedState {
  SharedState(engine::Engine& engine_in, const Sinks& sinks_in, const TcpOptions& options_in)
      : engine(engine_in), sinks(sinks_in), options(options_in), liveness_monitor(engine_in, options_in.peer_timeout, options_in.resume != Choice::kOff || options_in.wire != Protection::kPlain), busy_links(engine_in) {}

  static constexpr std::size_t kScratchBytes = 64 << 10;

  // "rank 3 on host node7".
  std::string describe(PeerId peer) const;
  wire::JobRank name(PeerId process) const noexcept { return options.processes->name(process); }
  wire::JobRank own_name() const noexcept { return name(options.self); }
  std::string describe_self() const;
  // Whether this rank asks that a connection to a peer on this host, or on another, be made anew when it breaks.
  bool wants_to_resume(bool same_host) const noexcept;
  // What this rank asks of a connection.
  wire::Terms terms(bool resume, const wire::Position& position = {}, std::uint16_t rail = 0) const noexcept;
  // A poll has something to do, for a thread that waits or beside a computation.
  bool has_work(bool thread_waits) const noexcept;
  // Ends a connection; its object lives on until the next poll, because one of its functions may be running.
  void retire(std::unique_ptr<Connection> connection) noexcept;

  engine::Engine& engine;
  const Sinks sinks;
  const TcpOptions options;
  LivenessMonitor liveness_monitor;
  SpareMemory spare_memory{tuning().tcp_most_kept};
  wire::JobKey key;
  TcpCounters counters;
  CopyCounters copies;
  BusyLinks busy_links;
  kernel::Intakes intakes;  // of links that are received in the kernel; empty where none are
  Refusals refusals{engine};
  std::vector<Sender*> deferred;          // links that keep frames of a burst back until the next poll
  std::vector<Sender*> owing;             // links that owe an acknowledgement
  std::vector<Sender*> lending;           // links that keep frames whose memory an owner may wait for
  std::vector<Interface> interfaces;    // of this host
  std::vector<Address> addresses;       // that this rank listens on
  std::string congestion_control = options.congestion_control;  // of connections that leave the host; empty: the system's choice
  wire::CardBook cards;
  // Where input lands first; used within one receive. Of its pages only those exist that were written to.
  const std::unique_ptr<std::byte[]> scratch = std::make_unique_for_overwrite<std::byte[]>(kScratchBytes);
  bool goodbye_expected = false;
  std::vector<std::unique_ptr<Connection>> retired;
};

}  // namespace tcp
}  // namespace lapwing::net
