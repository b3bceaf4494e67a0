// Frames over TCP: one connection per pair of ranks, made on first use by whichever rank posts first, trusted only
// after a handshake with the job's secret (wire/handshake.h). Owned by the Network; everything runs with the endpoint's
// lock held, on whichever thread drives the engine.
//
//   Acceptor   listens, and turns strangers into proven peers or drops them
//   Rails       further connections of a link, for parts of long messages
//   Link        one per peer: its Sender, its Receiver, and its LinkSetup, which says what connection they have
//   Connector   makes a link's connection: several addresses, a Dial each, and the diagnosis
//   BusyLinks   which links poll() reads without asking the event port
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/sparse_table.h"
#include "net/network.h"
#include "net/tcp/link.h"
#include "net/tcp/acceptor.h"
#include "net/tcp/shared_state.h"
#include "net/tcp/watched_hosts.h"
#include "net/transport.h"

namespace lapwing::net {

class TcpTransport final : public Transport, private tcp::AcceptorUser {
 public:
  TcpTransport(engine::Engine& engine, const Sinks& sinks, const TcpOptions& options);
  TcpTransport(engine::Engine& engine, const Sinks& sinks, const NetworkConfig& config);
  ~TcpTransport();

  const char* name() const noexcept override { return "tcp"; }
  Status publish(wire::Card& card) override;
  Status attach(const wire::CardBook& cards) override;
  bool reaches(PeerId peer) const noexcept override;
  Capabilities capabilities(PeerId peer) const noexcept override;
  std::uint64_t frame_limit(PeerId peer) const noexcept override;
  std::uint32_t packets_resent(PeerId peer) const noexcept override;
  bool post(PeerId peer, SendOp& op) noexcept override;
  bool send_now(PeerId peer, wire::FrameHeader& header, const std::byte* payload, Delivery delivery) noexcept override;
  LentQueue* lent_queue(PeerId peer, LentQueue::Key key) noexcept override;
  Asking asking(PeerId peer, std::uint64_t bytes) noexcept override {
    return link_state(peer) == tcp::Link::State::kOpen ? link(peer).asking(bytes) : Asking::kNever;
  }
  void asking_took(PeerId peer, std::uint64_t bytes, Asking way, std::int64_t time) noexcept override { link(peer).asking_took(bytes, way, time); }
  std::shared_ptr<MessageMemory> message_memory() const noexcept override;
  bool watch_over(PeerId peer) noexcept override { return link(peer).watch_over(); }
  bool is_met(PeerId peer) const noexcept override { return link_state(peer) == tcp::Link::State::kOpen; }
  void give_up(PeerId peer, const Status& why) noexcept override;
  void abandon(PeerId peer, const Status& why) noexcept override;
  bool watch_over_host(PeerId peer) noexcept override;
  std::int64_t watch_after() const noexcept override;
  bool flushed() const noexcept override;
  void ask_for_flush() noexcept override;
  void expect_goodbye() noexcept override { shared_.goodbye_expected = true; }
  void close() noexcept override;

  bool poll() noexcept override;
  // The event port announces whatever there is to do, except to send what bursts keep back, to acknowledge and to give memory back; long
  // frames by the piece.
  bool arm() noexcept override;
  // The port announces what has gathered on a link (Receiver::rest), and everything on links that have had no traffic lately.
  bool rest() noexcept override;
  void disarm() noexcept override { shared_.busy_links.disarm(); }
  bool announces_unasked() const noexcept override { return polls_dearly_ && !shared_.busy_links.at_rest(); }

  const TcpCounters& counters() const noexcept { return shared_.counters; }
  CopyCounters copies() const noexcept override { return shared_.copies; }
  std::uint64_t connections_resumed() const noexcept override { return shared_.counters.connections_resumed; }
  std::uint64_t records_wrong() const noexcept override { return shared_.counters.records_wrong; }
  // How many connections are inside that have not proven anything.
  std::size_t strangers() const noexcept { return acceptor_.strangers(); }
  // For tests and for describing a hang; kIdle where no frame was posted to the peer.
  tcp::Link::State link_state(PeerId peer) const noexcept;
  // Whether a program in the kernel receives, and whether it is being loaded.
  bool receives_in_kernel() const noexcept { return shared_.intakes.ready(); }
  bool loads_program() const noexcept { return loading_.under_way; }

 private:
  // Loads the program of receive in the kernel while messages travel.
  struct Loading final : engine::Work {
    explicit Loading(TcpTransport& owner) noexcept;
    static void load(Work& work) noexcept;
    static void finish(Work& work) noexcept;
    TcpTransport& transport;
    Status status;
    bool under_way = false;
  };

  // What the program passes on while only the event thread sleeps.
  struct NoticeHandler final : engine::FdHandler {
    explicit NoticeHandler(tcp::SharedState& shared) noexcept : shared(shared) {}
    void on_ready(std::uint32_t events) noexcept override;
    tcp::SharedState& shared;
  };

  void acknowledge(bool moved) noexcept;
  bool copy_kept() noexcept;
  bool has_work() const noexcept { return shared_.has_work(shared_.engine.application_drives()); }
  Status read_offers();
  Status prepare_kernel();
  void kernel_prepared(Status status) noexcept;
  Status let_links_join();
  tcp::Link& link(PeerId peer) noexcept;
  void meet(PeerId peer, std::unique_ptr<tcp::Link>& link) noexcept;
  bool is_on_this_host(PeerId peer) const noexcept;
  bool may_match() const noexcept { return shared_.intakes.ready() || loading_.under_way; }
  wire::Verdict judge(PeerId peer, const wire::Terms& theirs) noexcept override;
  wire::Position position(PeerId peer, const wire::Terms& theirs) noexcept override;
  wire::GivingUp giving_up(PeerId peer) noexcept override { return link(peer).giving_up(); }
  void admit(PeerId peer, std::unique_ptr<tcp::Connection> connection) noexcept override;

  tcp::SharedState shared_;
  tcp::Acceptor acceptor_;
  SparseTable<std::unique_ptr<tcp::Link>> links_;
  std::vector<bool> offered_;  // which peers have published addresses; empty: all (on a single host it is not asked)
  tcp::WatchedHosts hosts_;    // likewise
  unsigned polls_owing_ = 0;   // polls since an acknowledgement is owed
  bool attached_ = false;
  Loading loading_;
  NoticeHandler notice_handler_{shared_};
};

}  // namespace lapwing::net
