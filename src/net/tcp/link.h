// The way to and from one peer: its frames, and the one connection that carries them.
//
//   link_setup.h   how the connection is come by, and another one where it breaks; what the states of a link mean
//   sender.h       frames on their way out
//   receiver.h     frames on their way in
//
// This class puts them together: a frame that is posted asks for a connection, one that stands is given to both ways, and what ends one
// is judged here.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "net/tcp/connection.h"
#include "net/tcp/diagnosis.h"
#include "net/tcp/home_watch.h"
#include "net/tcp/link_setup.h"
#include "net/tcp/liveness.h"
#include "net/tcp/receiver.h"
#include "net/tcp/sender.h"
#include "net/tcp/shared_state.h"
#include "net/tcp/tail_loss_probe.h"

namespace lapwing::net::tcp {

class Rails;
class AnswerWay;

// The link that a rail is one of.
class RailUser {
 public:
  // No network leads to the peer any more. The way for answers is not lost as a rail is: the link goes on.
  virtual void rail_lost(Status why) noexcept = 0;
  virtual void answers_stand(int socket) noexcept = 0;
  virtual void answers_lost() noexcept = 0;

 protected:
  ~RailUser() = default;
};

struct Rail {
  std::uint16_t number;
  std::optional<Address> home;  // none: the way for answers
  RailUser* user;
};

class Link final : private RailUser, private LinkSetupUser, private SenderUser, private ReceiverUser {
 public:
  using State = LinkState;

  Link(SharedState& shared, PeerId peer, std::vector<Address> addresses, bool same_host);
  Link(SharedState& shared, PeerId peer, std::vector<Address> addresses, bool same_host, const Rail& rail);
  ~Link();

  // ---- for the transport ----

  State state() const noexcept { return setup_.state(); }
  bool post(SendOp& op) noexcept;
  bool send_now(wire::FrameHeader& header, const std::byte* payload, ByteWalk* walk = nullptr) noexcept;
  // Makes a connection with nothing to send, so that the kernel watches over the peer's host.
  bool watch_over() noexcept { return setup_.watch_over(); }
  bool something_to_send() const noexcept override;
  bool peer_polls() const noexcept override { return peer_polls_; }
  // Nothing is to be sent, and where the link resumes the peer is known to have all that was.
  bool settled() const noexcept;
  // Asks the peer for what settled() depends on.
  void ask() noexcept;
  std::uint64_t frame_limit() const noexcept { return frame_limit_; }
  // Of its own connection; what rails carry besides goes by other networks.
  std::uint32_t packets_resent() const noexcept { return connection_ ? connection_->socket().resends() : 0; }
  // What has been posted and has not left (Sender::backlog).
  std::uint64_t backlog() noexcept { return sender_.backlog(); }
  // As Transport's.
  Asking asking(std::uint64_t bytes) noexcept;
  void asking_took(std::uint64_t bytes, Asking way, std::int64_t time) noexcept;
  // Of the way for answers: one will come.
  void expect_answer() noexcept { shared_.busy_links.touch(receiver_); }
  LentQueue* lent_queue() const noexcept { return receiver_.lent_queue(); }
  void close() noexcept;
  // The peer is known to be lost. What it sent before is taken first.
  void give_up(const Status& why) noexcept;
  // As one of the rails of a link that is over, or because another transport has lost the peer.
  void end_with(const Status& why) noexcept;

  // ---- for the acceptor ----

  // The link that the peer means, itself or one of its rails; null: there is none.
  Link* addressed(const wire::Terms& theirs) noexcept;

  wire::Verdict judge(const wire::Terms& theirs) noexcept;
  wire::Position position() const noexcept { return setup_.position(); }
  wire::GivingUp giving_up() const noexcept { return setup_.giving_up(); }
  void open(std::unique_ptr<Connection> connection) noexcept override;

  // For the liveness monitor: gives up a peer whose host has not answered for too long, and a connection that has stalled. True while
  // something sent is not acknowledged.
  bool inspect() noexcept;

 private:
  // Reads at a point where an end may be judged.
  struct SafePoint : engine::Tasklet {
    explicit SafePoint(Link& owner) noexcept
        : Tasklet([](Tasklet& tasklet) noexcept { static_cast<SafePoint&>(tasklet).link.receiver_.receive(); }), link(owner) {}
    Link& link;
  };

  Link(SharedState& shared, PeerId peer, std::vector<Address> addresses, bool same_host, Role role, RailUser* rail_user);
  Link* rail_for(const SendOp& op) noexcept;
  Rails* rails() noexcept;
  void rail_lost(Status why) noexcept override;
  AnswerWay* answer_way() noexcept;
  bool is_for_answers() const noexcept { return !role_.resumes; }
  void answers_stand(int socket) noexcept override;
  void answers_lost() noexcept override;
  bool inspect_connection() noexcept;
  bool inspect_tail(bool under_way) noexcept;
  void inspect_host(const Socket::Acknowledgement& heard) noexcept;
  void end_silence(Silence::Kind kind) noexcept;
  void end_unanswered() noexcept;
  void sending_failed(int error) noexcept override;
  void receiving_ended(Inbox::Result result) noexcept override;
  void read_soon() noexcept;
  bool is_home(const Address& remote) const noexcept { return home_ && home_->same_host_address(remote); }
  std::optional<Address> listening_at(const Address& remote) const noexcept;
  void look_for_home() noexcept;
  void go_home() noexcept;
  // How a connection that stands came to do so.
  enum class Standing : std::uint8_t {
    kFirst,
    kFurther,           // of a link that has one already
    kHome,              // by the peer's own network again
    kNotHomeYet,        // the way there leads nowhere; where it was before
    kInPlace,           // of one that broke
    kInPlaceUnnoticed,  // ... of which only the peer knows
  };
  Standing judge_standing(bool broke) noexcept;
  void note_connection(std::optional<std::int64_t> after, bool peer_first, bool in_vain) noexcept;
  void note_another(const char* after, bool in_vain) noexcept;
  std::int64_t last_reached() const noexcept;
  void note_wrong_record() noexcept;
  void break_off(Status why, std::int64_t since) noexcept;
  void leave_connection(Status why, std::int64_t since) noexcept;
  void lose(Status why) noexcept override;
  void be_given_up(Status why) noexcept override;
  void end(State state, Status why) noexcept;

  SharedState& shared_;
  const PeerId peer_;
  const bool same_host_;
  const Diagnosis diagnosis_;
  const Role role_;
  RailUser* const rail_user_;  // null: this is no rail
  const std::vector<Address> addresses_;
  Channel channel_;
  std::unique_ptr<Connection> connection_;
  Sender sender_;
  Receiver receiver_;
  LinkSetup setup_;
  std::uint64_t frame_limit_ = wire::kLeastFrameLimit;
  Status failure_;         // why frames are not sent any more: from now on (kFinished, kLost), or from the next safe point
  bool silent_ = false;    // the kernel says that the host has not answered for long
  Silence silence_;        // as inspections have found it
  TailLossProbe tail_loss_;
  VainBreaks wrong_records_, unanswered_;
  bool takes_rails_ = false;  // as both have agreed
  bool peer_polls_ = false;
  bool peer_answers_ = false;  // or its kernel
  bool warned_of_polling_ = false;  // that connections are broken because a side answers late
  std::unique_ptr<Rails> rails_;
  std::unique_ptr<AnswerWay> answer_way_;
  std::optional<Address> home_;  // of the peer: in the network that a rail is for, or where the link stood first
  bool away_ = false;            // its connection goes, or went last, by another address
  enum class Replaced : std::uint8_t { kNo, kByPeer, kToGoHome };
  Replaced replaced_ = Replaced::kNo;  // why the last one ended, where it had not broken here
  Socket left_;                        // ... to go home: until another stands, so that the peer does not take its end for a break, and dial as well
  HomeWatch home_watch_;
  SafePoint safe_point_;
};

}  // namespace lapwing::net::tcp
