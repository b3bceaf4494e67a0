// How a link comes by its connection: the first one, and another where one broke.
//
//   state        what it means                                           what a post does
//   kIdle        no frame has been posted to this peer                   starts a connector, queues
//   kConnecting  this rank makes a connection                            queues
//   kAwaiting    the peer prefers the connection it is making to us      queues
//   kOpen        a connection stands                                     sends at once what the socket takes
//   kFinished    the peer said goodbye and left, or this rank closed     completes with an error
//   kLost        the connection broke for good, or none could be made    completes with an error
//
// A connection that breaks. Where both sides have agreed to resume (wire::kFeatureResume), the link goes back to kConnecting, and both ranks connect
// to each other as they did at first. Each side tells the other in the handshake which frame it expects next, and what the other has not had is sent
// again (send_queue.h); a frame that was half here lands once more where it landed before (inbox.h). So does a link whose connection has stalled: the
// kernel would try again after ever longer pauses, and only by the same way. It ends
//
//   - at once, where nothing listens any more at the address that the connection led to, or the peer says that it has closed this link, or has given
//     this process up: it had not reached it for too long, say, and the network is back
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
#include <optional>
#include <vector>

#include "net/channel.h"
#include "net/tcp/attempts.h"
#include "net/tcp/connector.h"
#include "net/tcp/diagnosis.h"
#include "net/tcp/shared_state.h"

namespace lapwing::net::tcp {

// Which of the connections between two processes a link has: the link itself, one of its rails (rails.h), with the peer's address in the network that
// it is for, or the one by which programs in the kernel answer (answer_way.h), which does not resume.
struct Role {
  std::uint16_t rail = 0;
  std::optional<Address> home;
  bool resumes = true;  // where the two may
};

class LinkSetupUser {
 public:
  // This rank has made a connection; stands() follows.
  virtual void open(std::unique_ptr<Connection> connection) noexcept = 0;
  // None can be made, or no other one; end() follows. Not from inside connect(), watch_over() or mend().
  virtual void lose(Status why) noexcept = 0;
  // The peer has given this process up; end() follows.
  virtual void be_given_up(Status why) noexcept = 0;
  // Frames wait for a connection, or one that broke is to be made again.
  virtual bool something_to_send() const noexcept = 0;
  // The peer has said that it answers only while its application calls MPI.
  virtual bool peer_polls() const noexcept = 0;

 protected:
  ~LinkSetupUser() = default;
};

class LinkSetup final : public ConnectorUser {
 public:
  LinkSetup(SharedState& shared, PeerId peer, Role role, std::vector<Address> addresses, bool same_host, const Diagnosis& diagnosis,
            const Channel& channel, LinkSetupUser& user);
  ~LinkSetup();

  LinkState state() const noexcept { return state_; }
  bool over() const noexcept { return state_ == LinkState::kFinished || state_ == LinkState::kLost; }

  void connect() noexcept;
  // Makes a connection with nothing to send. A host that cannot be reached is tried again by further calls, and lost after the time of
  // LAPWING_PEER_TIMEOUT, but for a rail that has never stood. False: there was nothing to begin.
  bool watch_over() noexcept;
  // For the acceptor: the answer to an attempt of the peer's. `resumes`: a connection that stands may be replaced.
  wire::Verdict judge(const wire::Terms& theirs, bool resumes) const noexcept;
  // What the peer is told when it is asked for a connection, or asks for one.
  wire::Position position() const noexcept { return {channel_.received(), attempts_.count()}; }
  // What it is told when this link is lost.
  wire::GivingUp giving_up() const noexcept;

  // A connection stands, as the peer's attempt of this number. How long there was none (ns), if it takes the place of one that broke.
  std::optional<std::int64_t> stands(std::uint64_t attempt) noexcept;
  // A connection that broke.
  struct Break {
    Status why;
    Address remote;
    std::int64_t since = 0;  // the peer has not been reached from then on
    bool silent = false;     // that way did not answer: others are tried first
  };
  void broke(Break what) noexcept;
  // ... and this rank makes another one, if it can at this address.
  void mend(const std::optional<Address>& first = std::nullopt) noexcept;
  // For the liveness monitor (Dial::inspect).
  bool inspect() noexcept { return connector_ && connector_->inspect(); }
  // kFinished or kLost: no connection is made any more.
  void end(LinkState state) noexcept;

 private:
  template <void (LinkSetup::*kFunction)() noexcept>
  struct SetupTimer : engine::Timer {
    explicit SetupTimer(LinkSetup& owner) noexcept
        : Timer([](Timer& timer) noexcept { (static_cast<SetupTimer&>(timer).setup.*kFunction)(); }), setup(owner) {}
    LinkSetup& setup;
  };
  struct SafePoint : engine::Tasklet {
    explicit SafePoint(LinkSetup& owner) noexcept
        : Tasklet([](Tasklet& tasklet) noexcept { static_cast<SafePoint&>(tasklet).setup.at_safe_point(); }), setup(owner) {}
    LinkSetup& setup;
  };
  // Until another one stands.
  struct Mending : Break {
    Status last_try;
    unsigned tries = 0;
  };

  void on_connected(std::unique_ptr<Connection> connection) noexcept override;
  void on_duplicate() noexcept override;
  void on_unreachable(Status why) noexcept override;
  bool waits_for_answer() const noexcept override { return user_.something_to_send() && !user_.peer_polls(); }

  std::vector<Address> candidates() const;
  void settle(LinkState state) noexcept;
  std::int64_t time_to_connect(std::int64_t candidates) const noexcept;
  std::int64_t length_of_break() const noexcept;
  std::int64_t patience_ends() const noexcept { return unreached_since_ + shared_.liveness_monitor.patience(); }
  void fail_soon(Status why) noexcept;
  void at_safe_point() noexcept;
  void mend_first(const Address& remote) noexcept;
  void watching_failed() noexcept;
  void mending_failed() noexcept;
  void on_awaited_in_vain() noexcept;
  void mend_or_give_up() noexcept;
  void give_up() noexcept;
  bool peer_has_ended() const noexcept;

  SharedState& shared_;
  const PeerId peer_;
  const Role role_;
  const std::vector<Address> addresses_;
  const bool same_host_;
  const Diagnosis& diagnosis_;
  const Channel& channel_;
  LinkSetupUser& user_;
  LinkState state_ = LinkState::kIdle;
  Attempts attempts_;
  std::unique_ptr<Connector> connector_;
  Status failure_;           // of the connector; judged at a safe point
  bool watch_only_ = false;  // connecting for watch_over()
  static constexpr std::int64_t kReached = -1;
  std::int64_t unreached_since_ = kReached;  // by watch_over(), or since the connection broke
  std::int64_t connecting_since_ = 0, ended_at_ = 0, watch_failed_at_ = 0;
  std::optional<Mending> break_;
  std::optional<Address> first_;  // of mend()
  SetupTimer<&LinkSetup::on_awaited_in_vain> await_;
  SetupTimer<&LinkSetup::mend_or_give_up> mend_;
  SafePoint safe_point_;
};

}  // namespace lapwing::net::tcp
