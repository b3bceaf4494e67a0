// The way to and from one peer: its frames, and the one connection that carries them.
//
//   state      what it means                                             what a post does
//   kIdle      no frame has been posted to this peer                     starts a connector, queues
//   kConnecting   this rank makes a connection                              queues
//   kAwaiting  the peer prefers the connection it is making to us        queues
//   kOpen      the connection stands                                     sends at once what the socket takes
//   kFinished  the peer said goodbye and left, or this rank closed       completes with an error
//   kLost      the connection broke, or none could be made               completes with an error
//
// Simultaneous connects. Both ranks of a pair may connect at the same time; the connection that the lower rank makes wins.
// The point of no return is the connector's Response (handshake.h): before it the acceptor cannot have accepted, after
// it the acceptor may have. So:
//
//   - The higher rank, asked by a proven lower rank while it connects itself, gives up its own attempt, in whatever state, and
//     accepts. The lower rank cannot have accepted that attempt: it would not have sent a Response of its own
//     afterwards.
//   - The lower rank, asked by a proven higher rank while it connects itself, accepts and gives up its own attempt if its own
//     Response is not out yet (the peer cannot have accepted it: perhaps the peer cannot even be reached this way
//     round). Otherwise it answers "duplicate", and the higher rank waits in kAwaiting for the Response that is on its
//     way.
//
// Either way exactly one connection is accepted, and frames flow only on an accepted connection, so none is lost or
// doubled. test/model/connect_test.cc tries all orders.
#pragma once

#include <memory>
#include <vector>

#include "net/tcp/connection.h"
#include "net/tcp/connector.h"
#include "net/tcp/inbox.h"
#include "net/tcp/liveness.h"
#include "net/tcp/outbox.h"
#include "net/tcp/shared_state.h"

namespace lapwing::net::tcp {

// Half of the receive buffer that a connection begins with: the peer is not held up before that is full.
inline constexpr std::uint64_t kRestWatermark = 64 * 1024;
static_assert(kRestWatermark <= kMostUrgentBytes);

class Link final : public ConnectionUser, public ConnectorUser {
 public:
  enum class State { kIdle, kConnecting, kAwaiting, kOpen, kFinished, kLost };

  Link(SharedState& shared, PeerId peer, std::vector<Address> addresses, bool same_host);
  ~Link();

  State state() const noexcept { return state_; }
  bool post(SendOp& op) noexcept;
  bool send_now(wire::FrameHeader& header, const std::byte* payload) noexcept;
  // Makes a connection with nothing to send, so that the kernel watches over the peer's host. A host that cannot be reached is tried
  // again by further calls, and lost after the time of LAPWING_PEER_TIMEOUT. False: there was nothing to begin.
  bool watch_over() noexcept;
  bool flushed() noexcept { return outbox_.empty(); }
  void close() noexcept;

  // For the acceptor.
  wire::Verdict judge() noexcept;
  void open(std::unique_ptr<Connection> connection) noexcept;

  // Sends what a burst kept back (SharedState::deferred).
  void flush_deferred() noexcept;

  // For the liveness_monitor: gives up a peer whose host has not answered for too long. True while something sent is not acknowledged.
  bool inspect() noexcept;

  // Reads without having been told that there is something; true when something came.
  bool poll() noexcept;
  // For a link that is looked at all the time (Connection::leave_port). False when it is not connected.
  bool leave_port() noexcept;
  bool come_back_to_port() noexcept { return state_ != State::kOpen || connection_->come_back(); }

  // Somebody is about to sleep: the event thread is not woken for each packet of a long frame.
  void set_watermark() noexcept;
  // Until end_rest() the port announces input when so much has gathered (kRestWatermark), or the peer can send no more, or has
  // gone. Not before something has come from the peer: the first it sends is answered with credit.
  void rest() noexcept;
  void end_rest() noexcept;

  void on_ready(Connection& connection, std::uint32_t events) noexcept override;
  void on_deadline(Connection&) noexcept override {}
  void on_connected(std::unique_ptr<Connection> connection) noexcept override;
  void on_duplicate() noexcept override;
  void on_unreachable(Status why) noexcept override;
  bool something_to_send() const noexcept override { return !outbox_.empty(); }

 private:
  struct AwaitTimer : engine::Timer {
    explicit AwaitTimer(Link& owner) noexcept
        : Timer([](Timer& timer) noexcept { static_cast<AwaitTimer&>(timer).link.on_awaited_in_vain(); }),
          link(owner) {}
    Link& link;
  };

  // Does at a safe point what must not be done from inside post() or a handshake.
  struct Resumption : engine::Tasklet {
    explicit Resumption(Link& owner) noexcept
        : Tasklet([](Tasklet& tasklet) noexcept { static_cast<Resumption&>(tasklet).link.resume(); }), link(owner) {}
    Link& link;
  };

  void connect() noexcept;
  void connecting_failed() noexcept;
  bool copy(wire::FrameHeader& header, const std::byte* payload, ByteWalk* walk) noexcept;
  void leave_or_join_burst(bool small) noexcept;
  void defer_flush() noexcept;
  void flush() noexcept;
  void flush_and_tell() noexcept;
  void receive() noexcept;
  void announce_from(std::uint64_t bytes) noexcept;
  void on_awaited_in_vain() noexcept;
  void resume_soon() noexcept;
  void resume() noexcept;
  void fail_soon(Status why) noexcept;
  void say_goodbye() noexcept;
  void lose(Status why) noexcept;
  void end(State state, Status why) noexcept;
  void keep_engine_awake() noexcept;
  Status no_route() const;
  Status connection_lost(int error) const;
  Status connection_lost(const char* what) const;
  Status silent() const;
  Status unanswered_watch() const;

  SharedState& shared_;
  const PeerId peer_;
  const std::vector<Address> addresses_;
  const bool same_host_;
  State state_ = State::kIdle;
  std::int64_t last_post_ = 0;  // when the last post ended, ns; for bursts
  unsigned burst_length_ = 0;
  bool burst_ended_ = false;  // something has come from the peer
  unsigned kept_back_ = 0;   // frames in the outbox that wait for the burst's end, not for the socket
  bool listed_ = false;      // in SharedState::deferred
  bool held_ = false;        // the engine has been told that frames wait to leave
  Silence silence_;          // as inspections have found it
  bool watch_only_ = false;  // connecting for watch_over()
  static constexpr std::int64_t kReached = -1;
  std::int64_t unreached_since_ = kReached;  // by watch_over()
  std::int64_t connecting_since_ = 0;
  std::uint64_t watermark_ = 1;  // so many bytes make the socket readable
  bool rests_ = false;           // ... because of rest()
  Status failure_;  // why frames are not sent any more: from now on (kFinished, kLost), or from the next resume()
  Channel channel_;
  Outbox outbox_;
  Inbox inbox_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Connector> connector_;
  AwaitTimer await_;
  Resumption resumption_;
};

}  // namespace lapwing::net::tcp
