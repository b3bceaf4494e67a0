// Messages of a rank to itself.
//
// A posted frame is delivered by a tasklet, never from within post(): the layers above may post while they walk their
// queues. The tasklet runs at the end of the same visit to the library, or in the driver's next turn, so nothing sleeps in
// between, and the payload goes from its source to its destination by one copy. A short one that is sent at once is copied
// twice, which costs less than a request that waits for its delivery. Runs with the endpoint's lock held.
#pragma once

#include <memory>

#include "net/network.h"
#include "net/refusals.h"
#include "net/transport.h"

namespace lapwing::net {

class SelfTransport final : public Transport {
 public:
  SelfTransport(engine::Engine& engine, const Sinks& sinks, const NetworkConfig& config);
  ~SelfTransport() override;

  const char* name() const noexcept override { return "self"; }
  Status publish(wire::Card& card) override;
  Status attach(const wire::CardBook& cards) override;
  bool reaches(PeerId peer) const noexcept override { return peer == self_; }
  Capabilities capabilities(PeerId peer) const noexcept override;

  bool post(PeerId peer, SendOp& op) noexcept override;
  bool send_now(PeerId peer, wire::FrameHeader& header, const std::byte* payload, Delivery delivery) noexcept override;
  bool offers_pull(PeerId peer, std::uint64_t bytes) noexcept override;
  PullOp::End pull(PeerId peer, PullOp& op) noexcept override;

  bool flushed() const noexcept override { return queue_.empty(); }
  void expect_goodbye() noexcept override {}
  void close() noexcept override;

  // The tasklet does the work.
  bool poll() noexcept override { return false; }
  bool arm() noexcept override { return queue_.empty(); }
  void disarm() noexcept override {}

 private:
  // A frame that send_now() has taken.
  struct Copy final : SendOp {
    static constexpr std::size_t kMost = 1024;  // bytes of payload

    SelfTransport* owner = nullptr;
    std::byte bytes[kMost];
  };
  static constexpr std::size_t kCopies = 16;  // beyond, a rank that sends to itself time and again posts

  class DeliveryRun final : public engine::Tasklet {
   public:
    explicit DeliveryRun(SelfTransport& owner) noexcept : Tasklet(&DeliveryRun::run), transport(owner) {}
    static void run(engine::Tasklet& tasklet) noexcept;
    SelfTransport& transport;
  };

  void make_copies();
  void queue(SendOp& op) noexcept;
  void deliver_queued() noexcept;
  void deliver(SendOp& op) noexcept;

  engine::Engine& engine_;
  Sinks sinks_;
  PeerId self_;
  std::uint32_t rank_;  // for messages
  IntrusiveList<SendOp> queue_;
  std::unique_ptr<Copy[]> copies_;
  IntrusiveList<SendOp> free_copies_;
  DeliveryRun delivery_{*this};
  Refusals refusals_{engine_};
  std::uint64_t next_ = 0;  // counts frames
  bool open_ = false;
  bool lost_ = false;
  bool scheduled_ = false;
};

}  // namespace lapwing::net
