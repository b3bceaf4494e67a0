// The way to and from one peer: its frames, and the one connection that carries them.
//
//   state      what it means                                             what a post does
//   kIdle      no frame has been posted to this peer                     starts a connector, queues
//   kConnecting   this rank makes a connection                              queues
//   kAwaiting  the peer prefers the connection it is making to us        queues
//   kOpen      a connection stands                                       sends at once what the socket takes
//   kFinished  the peer said goodbye and left, or this rank closed       completes with an error
//   kLost      the connection broke for good, or none could be made      completes with an error
//
// A connection that breaks. Where both sides have agreed to resume (wire::kFeatureResume), the link goes back to kConnecting, and both ranks connect to
// each other as they did at first. Each side tells the other in the handshake which frame it expects next, and what the other has not had is sent
// again (send_queue.h); a frame that was half here lands once more where it landed before (inbox.h). So does a link whose connection has
// stalled: the kernel would try again after ever longer pauses, and only by the same way. It ends
//
//   - at once, where nothing listens any more at the address that the connection led to, or the peer says that it has given this link up
//   - when LAPWING_PEER_TIMEOUT has passed, unless the peer's host does accept connections: a process that is stopped is waited for
//
// A side that has not noticed the break is asked for another connection while it is kOpen (attempts.h).
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
// doubled. test/model/connect_test.cc tries all orders, and reconnect_test.cc those of connections that break.
#pragma once

#include <memory>
#include <vector>

#include "net/tcp/attempts.h"
#include "net/tcp/burst.h"
#include "net/tcp/connection.h"
#include "net/tcp/connector.h"
#include "net/tcp/diagnosis.h"
#include "net/tcp/inbox.h"
#include "net/tcp/liveness.h"
#include "net/tcp/outbox.h"
#include "net/tcp/send_queue.h"
#include "net/tcp/shared_state.h"
#include "net/tcp/watermark.h"

namespace lapwing::net::tcp {

class Link final : public ConnectionUser, public ConnectorUser {
 public:
  using State = LinkState;

  Link(SharedState& shared, PeerId peer, std::vector<Address> addresses, bool same_host);
  ~Link();

  // ---- for the transport ----

  State state() const noexcept { return state_; }
  bool post(SendOp& op) noexcept;
  bool send_now(wire::FrameHeader& header, const std::byte* payload) noexcept;
  // Makes a connection with nothing to send, so that the kernel watches over the peer's host. A host that cannot be reached is tried
  // again by further calls, and lost after the time of LAPWING_PEER_TIMEOUT. False: there was nothing to begin.
  bool watch_over() noexcept;
  bool flushed() noexcept { return queue_.all_sent() && !broken(); }
  std::uint64_t frame_limit() const noexcept { return frame_limit_; }
  void close() noexcept;
  // Sends what a burst kept back (SharedState::deferred).
  void flush_deferred() noexcept;
  // Tells the peer what has come, unless a frame has done so meanwhile (SharedState::owing).
  void acknowledge() noexcept;
  // Gives some memory back to a thread that may wait for it (SharedState::lending).
  void copy_kept() noexcept;

  // ---- for the acceptor ----

  wire::Verdict judge(const wire::Terms& theirs) noexcept;
  wire::Position position() const noexcept { return {channel_.received(), attempts_.count()}; }
  void open(std::unique_ptr<Connection> connection) noexcept;

  // For the liveness monitor: gives up a peer whose host has not answered for too long, and a connection that has stalled. True while
  // something sent is not acknowledged.
  bool inspect() noexcept;

  // ---- for the busy links ----

  // Reads without having been told that there is something; true when something came.
  bool poll() noexcept;
  // For a link that is polled all the time (Connection::leave_port). False when it is not connected.
  bool leave_port() noexcept;
  bool come_back_to_port() noexcept { return state_ != State::kOpen || connection_->come_back(); }
  // A thread is about to sleep: the event thread is not woken for each packet of a long frame.
  void set_watermark() noexcept;
  // Until end_rest() the port announces input when so much has gathered (tcp.rest_watermark), or the peer can send no more, or has
  // gone. Not before something has come from the peer: the first it sends is answered with credit.
  void rest() noexcept;
  void end_rest() noexcept;

  void on_ready(Connection& connection, std::uint32_t events) noexcept override;
  void on_deadline(Connection&) noexcept override {}
  void on_connected(std::unique_ptr<Connection> connection) noexcept override;
  void on_duplicate() noexcept override;
  void on_unreachable(Status why) noexcept override;
  bool something_to_send() const noexcept override { return !queue_.all_sent() || broken(); }

 private:
  struct AwaitTimer : engine::Timer {
    explicit AwaitTimer(Link& owner) noexcept
        : Timer([](Timer& timer) noexcept { static_cast<AwaitTimer&>(timer).link.on_awaited_in_vain(); }),
          link(owner) {}
    Link& link;
  };
  struct ResumeTimer : engine::Timer {
    explicit ResumeTimer(Link& owner) noexcept
        : Timer([](Timer& timer) noexcept { static_cast<ResumeTimer&>(timer).link.resume_or_give_up(); }), link(owner) {}
    Link& link;
  };

  // Does at a safe point what must not be done from inside post() or a handshake.
  struct SafePoint : engine::Tasklet {
    explicit SafePoint(Link& owner) noexcept
        : Tasklet([](Tasklet& tasklet) noexcept { static_cast<SafePoint&>(tasklet).link.at_safe_point(); }), link(owner) {}
    Link& link;
  };

  // link.cc: frames
  bool copy(wire::FrameHeader& header, const std::byte* payload, ByteWalk* walk) noexcept;
  void leave_or_join_burst(bool small) noexcept;
  void flush() noexcept;
  void flush_and_tell() noexcept;
  bool receive() noexcept;
  void judge_reading(Inbox::Result result) noexcept;
  void list(bool& listed, std::vector<Link*>& links) noexcept;
  void unlist(bool& listed, std::vector<Link*>& links) noexcept;
  void note_loans() noexcept;
  void take_acknowledgements() noexcept;
  void keep_engine_awake() noexcept;

  // link_setup.cc: connections
  void connect() noexcept;
  std::int64_t time_to_connect(std::int64_t candidates) noexcept;
  void connecting_failed() noexcept;
  void on_awaited_in_vain() noexcept;
  bool broken() const noexcept { return channel_.state() == Channel::State::kDown; }
  void break_off(Status why) noexcept;
  void stalled() noexcept;
  void leave_connection() noexcept;
  void resuming_failed() noexcept;
  void resume_or_give_up() noexcept;
  bool peer_has_ended() const noexcept;
  void act_soon() noexcept;
  void at_safe_point() noexcept;
  void fail_soon(Status why) noexcept;
  void say_goodbye() noexcept;
  void lose(Status why) noexcept;
  void end(State state, Status why) noexcept;

  SharedState& shared_;
  const PeerId peer_;
  const std::vector<Address> addresses_;
  const bool same_host_;
  const Diagnosis diagnosis_;
  State state_ = State::kIdle;
  Status failure_;  // why frames are not sent any more: from now on (kFinished, kLost), or from the next safe point

  Channel channel_;
  SendQueue queue_;
  Outbox outbox_;
  Inbox inbox_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Connector> connector_;

  Burst burst_;
  Watermark watermark_;
  Silence silence_;       // as inspections have found it
  bool deferred_ = false;  // in SharedState::deferred
  bool owing_ = false;     // ... owing
  bool lending_ = false;   // ... lending
  bool held_ = false;      // the engine has been told that frames wait to leave

  bool silent_ = false;   // the kernel says that the host has not answered for long
  bool resumes_ = false;  // both sides have agreed to it
  bool watch_only_ = false;  // connecting for watch_over()
  std::uint64_t frame_limit_ = wire::kLeastFrameLimit;
  Attempts attempts_;
  static constexpr std::int64_t kReached = -1;
  std::int64_t unreached_since_ = kReached;  // by watch_over(), or since the connection broke
  std::int64_t connecting_since_ = 0;
  unsigned tries_ = 0;  // to connect again, since the connection broke
  Status why_broken_, last_try_;
  Address broken_remote_;
  AwaitTimer await_;
  ResumeTimer resume_;
  SafePoint safe_point_;
};

}  // namespace lapwing::net::tcp
