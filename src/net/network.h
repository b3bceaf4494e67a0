// The network of one job: chooses for every peer the first transport that reaches it, in the order of the registry (registry.h). Frames that have
// an order go by that one. What is left of a long message when its receiver has answered names its receive and its offset, and may go by another,
// which is then the next one that reaches the peer, where the first one says that it is the worse for them (Capabilities::best_up_to), as long as
// packets are not lost.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/sparse_table.h"
#include "net/host_table.h"
#include "net/packet_relay.h"
#include "net/transport.h"
#include "runtime/process_table.h"

namespace lapwing {
class Settings;
}

namespace lapwing::net {

class HostMemoryUser;

struct NetworkConfig {
  PeerId self;             // with the first id of the own job being 0, this is the rank
  std::uint32_t size = 1;  // of the own job
  const runtime::ProcessTable* processes = nullptr;
  std::vector<std::string> transports = {"shm", "tcp"};  // that may be used, by their names (registry.h); self always
  std::string job_secret;                                // 32 bytes, the same on every rank; empty for a singleton
  std::string key_file;                                  // 32 bytes of the user's key file; empty: there is none
  std::string host_identity;                             // equal on ranks that share memory and loopback
  std::string host_name;                                 // for messages
  bool single_host = false;                              // the launcher says that all ranks run on this host
  const Settings* settings = nullptr;
  HostMemoryUser* host_memory_user =
      nullptr;  // of the transport that shares memory (host_memory.h), where there is one

  bool allows(std::string_view transport) const noexcept {
    return std::find(transports.begin(), transports.end(), transport) != transports.end();
  }
};

class Network {
 public:
  Network(engine::Engine& engine, const Sinks& sinks, const NetworkConfig& config);
  ~Network();

  Status publish(wire::Card& card);
  // Fails with one clear text when some peer can be reached by no transport.
  Status attach(const wire::CardBook& cards);

  [[nodiscard]] bool post(PeerId peer, SendOp& op) noexcept { return routes_[peer].transport->post(peer, op); }
  const Capabilities& capabilities(PeerId peer) noexcept { return routes_[peer].capabilities; }
  // By which the data of long messages goes at present.
  Transport& data_route(PeerId peer) noexcept {
    const Route& route = routes_[peer];
    return route.data != route.transport && route.transport->loses_packets(peer) ? *route.transport : *route.data;
  }
  // Before so many bytes of a long message: what has been lost of those before by the other way counts for this one.
  void look_for_losses(PeerId peer, std::uint64_t bytes) noexcept {
    const Route& route = routes_[peer];
    if (route.data != route.transport) route.transport->heed_resent(peer, route.data->packets_resent(peer), bytes);
  }
  Transport& route(PeerId peer) noexcept { return *routes_[peer].transport; }
  // As Transport::watch_after(), over all of them.
  std::int64_t watch_after() const noexcept;
  bool is_met(PeerId peer) const noexcept;
  void give_up(PeerId peer, const Status& why) noexcept { routes_[peer].transport->give_up(peer, why); }
  wire::JobRank name(PeerId peer) const noexcept { return config_.processes->name(peer); }
  // False: it is not in the table.
  bool find(wire::JobRank name, PeerId& peer) const noexcept { return config_.processes->find(name, peer); }
  // "rank 3 on host node7", and of another job "rank 3 of job 17": for messages.
  std::string describe(PeerId peer) const;
  bool same_host(PeerId peer) const;
  // The same on all ranks.
  const HostTable& hosts() const noexcept { return hosts_; }
  // Equal on the ranks of one host, as far as can be known, and on no others.
  std::uint64_t host_key() const;
  // Processes there are, of all jobs.
  std::uint32_t size() const noexcept { return config_.processes->size(); }
  PeerId self() const noexcept { return config_.self; }
  // The table of processes has grown.
  void on_processes_added() { routes_.grow(size()); }

  // Of the first transport that has some; null: none has.
  std::shared_ptr<MessageMemory> message_memory() const noexcept;
  // Over all transports.
  PathCounters paths() const noexcept;
  CopyCounters copies() const noexcept;
  std::uint64_t connections_resumed() const noexcept;
  DetourCounters detours() const noexcept;
  std::uint64_t records_wrong() const noexcept;

  // A transport has lost the peer: no other goes on with it.
  void abandon(PeerId peer, const Status& why) noexcept;

  bool flushed() const noexcept;
  void ask_for_flush() noexcept;
  void expect_goodbye() noexcept;
  void close() noexcept;

 private:
  struct Route {
    Transport* transport = nullptr;
    Capabilities capabilities;  // data_chunk is that of `data`
    Transport* data = nullptr;
  };

  Status check_names() const;
  Status check_cards();
  Status attach_transports(const wire::CardBook& cards);
  void say_without(const char* transport, const Status& why, bool warn) const;
  bool first_of_host(const char* lacking) const;
  void find_route(PeerId peer, Route& route) const;
  Transport* next_to(PeerId peer, const Transport* before) const noexcept;
  Status no_route(PeerId peer) const;
  void tell_route(PeerId peer, const Route& route) const;
  std::string why_none_before(PeerId peer, const Transport& chosen) const;
  // Of a process of the own job; the card book has no others.
  Status read_card(PeerId peer, wire::Card& card) const;

  friend struct NetworkForTests;  // puts a transport of the tests' own in place (p2p/loop_network_for_tests.h)

  engine::Engine& engine_;
  NetworkConfig config_;
  PacketRelay packets_;
  std::vector<std::unique_ptr<Transport>> transports_;
  wire::CardBook cards_;
  HostTable hosts_;
  const char* refused_ = nullptr;  // a transport that could not be published, and why
  Status why_refused_;
  std::vector<PeerId> doubles_;  // on other hosts that call themselves like this one
  SparseTable<Route> routes_;
};

}  // namespace lapwing::net
