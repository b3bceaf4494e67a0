// Frames straight on Ethernet (paper 3: Open-MX with a receive queue per endpoint): an AF_XDP socket per rank, on a receive queue of its own, and a
// reliable channel of the library's instead of TCP. For peers that answer a probe, straight or by UDP; others are reached by another transport. Owned
// by the Network; everything runs with the endpoint's lock held.
//
//   Port         this rank's queue, its socket, the program in the kernel that brings packets there
//   Link         one per peer: its packets, and whether it is there (link.h)
//   Neighbours   which peers can be reached, asked once when the job begins (neighbours.h)
//   Seals        the keys of sealed packets (seals.h)
//
// What came is looked for without a system call. Time-outs, pauses and acknowledgements that are due are seen to while a thread polls; an engine's
// timer is set only before one sleeps.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/sparse_table.h"
#include "net/ether/link.h"
#include "net/ether/neighbours.h"
#include "net/ether/port.h"
#include "net/ether/queue_choice.h"
#include "net/ether/seals.h"
#include "net/network.h"
#include "net/refusals.h"
#include "net/transport.h"
#include "wire/handshake.h"

namespace lapwing::net {

class EtherTransport final : public Transport, private engine::FdHandler, private FrameSink {
 public:
  EtherTransport(engine::Engine& engine, const Sinks& sinks, const NetworkConfig& config);
  ~EtherTransport();

  const char* name() const noexcept override { return "ether"; }
  Status publish(wire::Card& card) override;
  Status attach(const wire::CardBook& cards) override;
  bool reaches(PeerId peer) const noexcept override { return neighbours_.present(peer); }
  Capabilities capabilities(PeerId peer) const noexcept override;
  bool post(PeerId peer, SendOp& op) noexcept override;
  bool send_now(PeerId peer, wire::FrameHeader& header, const std::byte* payload, Delivery delivery) noexcept override;
  bool loses_packets(PeerId peer) const noexcept override;
  void heed_resent(PeerId peer, std::uint32_t packets, std::uint64_t bytes) noexcept override;
  FrameSink* packet_sink() noexcept override { return this; }
  void take_detour(Transport& by) noexcept override { detour_ = &by; }
  bool watch_over(PeerId peer) noexcept override;
  bool watch_over_host(PeerId peer) noexcept override { return watch_over(peer); }
  std::int64_t watch_after() const noexcept override;
  bool is_met(PeerId peer) const noexcept override;
  void give_up(PeerId peer, const Status& why) noexcept override;
  void abandon(PeerId peer, const Status& why) noexcept override;
  bool flushed() const noexcept override;
  std::uint64_t records_wrong() const noexcept override { return damaged_; }
  DetourCounters detours() const noexcept override { return context_.detours; }
  void expect_goodbye() noexcept override { context_.goodbye_expected = true; }
  void close() noexcept override;

  bool poll() noexcept override;
  bool arm() noexcept override;
  void disarm() noexcept override { armed_ = false; }
  // The socket announces every packet, so that it is no rest.
  bool rest() noexcept override { return false; }
  bool announces_unasked() const noexcept override { return true; }

 private:
  static constexpr std::int64_t kNever = reliable::PacketLink::kNever;

  struct DueTimer : engine::Timer {
    explicit DueTimer(EtherTransport& owner) noexcept
        : Timer([](Timer& timer) noexcept { static_cast<DueTimer&>(timer).transport.poll(); }, kIdle), transport(owner) {}
    EtherTransport& transport;
  };

  // What is done where that is safe, rather than in the middle of posting or receiving.
  template <void (EtherTransport::*kFunction)() noexcept>
  struct Deferred : engine::Tasklet {
    explicit Deferred(EtherTransport& owner) noexcept
        : Tasklet([](Tasklet& tasklet) noexcept { (static_cast<Deferred&>(tasklet).transport.*kFunction)(); }), transport(owner) {}
    ~Deferred() {
      if (linked()) unlink();
    }
    EtherTransport& transport;
  };
  struct Diverted {
    PeerId from;
    std::vector<std::byte> packet;
  };

  void on_ready(std::uint32_t events) noexcept override;
  Landing on_header(PeerId peer, const wire::FrameHeader& header) noexcept override;
  void on_frame(PeerId peer, const wire::FrameHeader& header) noexcept override;
  void on_peer_lost(PeerId peer, const Status& why, const Landing* landing) noexcept override;
  void on_peer_met(PeerId peer) noexcept override;
  void take_diverted() noexcept;
  Transport* detour_to(PeerId peer) const noexcept;
  ether::Link& link(PeerId peer) noexcept;
  void meet(PeerId peer, std::unique_ptr<ether::Link>& link) noexcept;
  void announce() noexcept;
  void share_memory() noexcept;
  bool receive(std::int64_t now) noexcept;
  bool take_early(std::int64_t now) noexcept;
  void take(std::span<const std::byte> packet, std::int64_t now) noexcept;
  const std::byte* unprotect(const wire::PacketHeader& header, std::span<const std::byte> packet) noexcept;
  const std::byte* unseal(const wire::PacketHeader& header, std::span<const std::byte> packet) noexcept;
  ether::Seals::Directions& seals_with(PeerId peer) { return seals_.with(key_, config_.self, peer, neighbours_.key(peer)); }
  void note_damage() noexcept;
  void touch(ether::Link& link) noexcept;
  bool work_touched(std::int64_t now) noexcept;
  bool work_due(std::int64_t now) noexcept;
  void look_ahead(const ether::Link& link, std::int64_t now) noexcept;
  void leave(std::int64_t now) noexcept;
  void stay_at_queue() const;
  void begin_busy_poll();
  void tell_of_foreign_plan() const;
  void lose_interface() noexcept;
  Status why_interface_lost() const noexcept;
  bool come_back_to_port() noexcept;

  engine::Engine& engine_;
  const Sinks sinks_;
  const NetworkConfig config_;
  wire::JobKey key_;
  wire::CardBook cards_;
  std::vector<ether::QueueService> services_;  // by receive queue of the interface
  ether::Port port_;
  ether::Neighbours neighbours_;
  ether::Seals seals_;
  std::array<std::byte, ether::PacketSocket::kMostFrameBytes> opened_;  // the packet that came sealed
  ether::LinkContext context_;
  SparseTable<std::unique_ptr<ether::Link>> links_;
  std::vector<ether::Link*> met_;      // all of them
  std::vector<ether::Link*> touched_;  // have had packets since they last worked
  std::vector<PeerId> newly_met_;
  Deferred<&EtherTransport::announce> announcement_{*this};  // of the peers that are newly met
  Refusals refusals_;
  Transport* detour_ = nullptr;
  SparseTable<std::vector<std::byte>> landing_;  // of the packet that comes from each peer by the detour
  std::vector<Diverted> diverted_;               // those that have come
  Deferred<&EtherTransport::take_diverted> arrival_{*this};  // a link may end by one, and its sinks hear of that from no frame's midst
  DueTimer timer_{*this};
  std::int64_t timer_at_ = kNever;
  std::int64_t due_ = kNever;  // when some link has something to do, or earlier
  std::uint64_t damaged_ = 0;  // packets that came with a wrong check or seal
  unsigned finds_ = 0;         // polls that found something, since a thread last could sleep
  bool open_ = false;
  bool attached_ = false;
  bool armed_ = false;
  bool outside_ = false;  // of the event port
  bool interface_lost_ = false;  // and links know it
};

}  // namespace lapwing::net
