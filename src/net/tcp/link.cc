#include "net/tcp/link.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/tuning.h"
#include "net/tcp/answer_way.h"
#include "net/tcp/rails.h"

namespace lapwing::net::tcp {
namespace {

constexpr int kMostReadsAtClose = 1024;  // of a scratch buffer each; a peer that still sends then is not waited for

}  // namespace

Link::Link(SharedState& shared, PeerId peer, std::vector<Address> addresses, bool same_host, Role role, RailUser* rail_user)
    : shared_(shared),
      peer_(peer),
      same_host_(same_host),
      diagnosis_(shared, peer, same_host),
      role_(std::move(role)),
      rail_user_(rail_user),
      addresses_(std::move(addresses)),
      sender_(shared, channel_, *this),
      receiver_(shared, channel_, peer, rail_user != nullptr, sender_, *this),
      setup_(shared, peer, role_, addresses_, same_host, diagnosis_, channel_, *this),
      home_(role_.home),
      home_watch_(shared.engine, [this] { go_home(); }),
      safe_point_(*this) {}

Link::Link(SharedState& shared, PeerId peer, std::vector<Address> addresses, bool same_host)
    : Link(shared, peer, std::move(addresses), same_host, Role(), nullptr) {}

Link::Link(SharedState& shared, PeerId peer, std::vector<Address> addresses, bool same_host, const Rail& rail)
    : Link(shared, peer, std::move(addresses), same_host, Role{rail.number, rail.home, rail.home.has_value()}, rail.user) {
  if (is_for_answers()) receiver_.announce_all();
}

Link::~Link() {
  if (safe_point_.linked()) safe_point_.unlink();
}

// ---- frames ---------------------------------------------------------------------------------------------------------

bool Link::post(SendOp& op) noexcept {
  const std::uint64_t bytes = op.header.payload_bytes();
  if (setup_.over()) {
    shared_.refusals.add(op, failure_.copy());
    return false;
  }
  if (!op.trailer && bytes <= tuning().tcp_burst_largest && send_now(op.header, op.data, op.walk)) return true;
  if (bytes > frame_limit_) [[unlikely]] {
    shared_.refusals.add(op, diagnosis_.too_long(bytes, frame_limit_));
    return false;
  }
  if (Link* rail = rail_for(op); rail != nullptr) return rail->post(op);
  if (connection_) shared_.busy_links.touch(receiver_);
  const bool taken = sender_.post(op);
  if (state() == State::kIdle) setup_.connect();
  return taken;
}

bool Link::send_now(wire::FrameHeader& header, const std::byte* payload, ByteWalk* walk) noexcept {
  if (!sender_.copy(header, payload, walk)) return false;
  shared_.busy_links.touch(receiver_);
  return true;
}

bool Link::something_to_send() const noexcept {
  return !sender_.all_sent() || channel_.state() == Channel::State::kDown || (rails_ && rails_->something_to_send());
}

bool Link::settled() const noexcept {
  return !something_to_send() && sender_.all_delivered() && (!rails_ || rails_->settled());
}

void Link::ask() noexcept {
  sender_.ask();
  if (rails_) rails_->ask();
}

// ---- rails ----------------------------------------------------------------------------------------------------------

Link* Link::rail_for(const SendOp& op) noexcept {
  if (!op.any_order || !takes_rails_ || rails() == nullptr) return nullptr;
  return rails_->choose(op.header.payload_bytes());
}

// Null: the two hosts have fewer than two networks in common, or must not use them.
Rails* Link::rails() noexcept {
  if (rails_ || !takes_rails_) return rails_.get();
  const bool is_low = shared_.own_name() < shared_.name(peer_);
  std::vector<CommonNetwork> networks =
      is_low ? shared_.options.networks(shared_.addresses, addresses_) : shared_.options.networks(addresses_, shared_.addresses);
  if (shared_.options.links != 0 && networks.size() > shared_.options.links) networks.resize(shared_.options.links);
  if (networks.size() < 2) {
    takes_rails_ = false;
    return nullptr;
  }
  RailUser& user = *this;
  rails_ = std::make_unique<Rails>(shared_, peer_, addresses_, same_host_, networks, user);
  return rails_.get();
}

Link* Link::addressed(const wire::Terms& theirs) noexcept {
  if (theirs.rail == kAnswerRail && rail_user_ == nullptr) return answer_way() != nullptr ? &answer_way_->link() : nullptr;
  if (theirs.rail == 0 || (setup_.over() && !rails_)) return this;  // one that is over makes no rails, and says why
  return rails() != nullptr ? rails_->find(theirs.rail) : nullptr;
}

void Link::rail_lost(Status why) noexcept {
  if (!setup_.over()) lose(std::move(why));
}

// ---- answers by programs in the kernel ------------------------------------------------------------------------------

// Null: neither side's may.
AnswerWay* Link::answer_way() noexcept {
  const bool ours = (shared_.terms(false).features & wire::kFeatureAnswers) != 0;
  if (!answer_way_ && !setup_.over() && (ours || peer_answers_)) {
    RailUser& user = *this;
    answer_way_ = std::make_unique<AnswerWay>(shared_, peer_, addresses_, same_host_, user);
  }
  return answer_way_.get();
}

// Where the data that is asked for comes by rails, some of it may come before the receiver has found the request.
Asking Link::asking(std::uint64_t bytes) noexcept {
  const bool may = peer_answers_ && state() == State::kOpen && rails() == nullptr && answer_way() != nullptr;
  return may ? answer_way_->asking(bytes) : Asking::kNever;
}

void Link::asking_took(std::uint64_t bytes, Asking way, std::int64_t time) noexcept {
  if (answer_way_) answer_way_->took(bytes, way, time);
}

void Link::answers_stand(int socket) noexcept {
  receiver_.answer_by(socket);
}

// What the program has answered is taken in before it is answered again.
void Link::answers_lost() noexcept {
  receiver_.answer_no_more();
  if (!setup_.over()) shared_.sinks.messages().on_answers_lost(peer_);
}

void Link::end_with(const Status& why) noexcept {
  if (setup_.over()) return;
  receiver_.leave_program();
  end(State::kLost, why.copy());
}

// ---- a connection stands --------------------------------------------------------------------------------------------

wire::Verdict Link::judge(const wire::Terms& theirs) noexcept {
  const wire::Verdict verdict = setup_.judge(theirs, receiver_.resumes());
  if (verdict == wire::Verdict::kAccepted && state() == State::kOpen) {
    leave_connection(diagnosis_.broken(connection_->remote(), "given up by the peer"), shared_.engine.clock().now());
    replaced_ = Replaced::kByPeer;
  }
  return verdict;
}

void Link::open(std::unique_ptr<Connection> connection) noexcept {
  const wire::Handshake& handshake = connection->handshake();
  const wire::Position theirs = handshake.peer_position();
  const bool resumes = handshake.has(wire::kFeatureResume);
  const bool peer_first = theirs.attempt > setup_.position().attempt;
  const std::optional<std::int64_t> broken_for = setup_.stands(theirs.attempt);
  frame_limit_ = handshake.peer_terms().frame_limit;
  takes_rails_ = rail_user_ == nullptr && handshake.has(wire::kFeatureRails);
  peer_answers_ = (handshake.peer_terms().features & wire::kFeatureAnswers) != 0;
  peer_polls_ = (handshake.peer_terms().features & wire::kFeaturePolls) != 0;
  failure_ = Status();
  left_.close();
  connection_ = std::move(connection);
  connection_->hand_over(receiver_);
  if (const Status begun = sender_.begin(*connection_, theirs.next_expected, resumes); !begun.ok())
    return lose(diagnosis_.violation(connection_->remote(), begun));
  const bool in_vain = tail_loss_.stands(channel_.acknowledged(), peer_polls_);
  receiver_.begin(*connection_, resumes);
  note_connection(broken_for, peer_first, in_vain);
  look_for_home();
  sender_.flush_and_tell();
  if (resumes && connection_) shared_.liveness_monitor.watch_over(connection_->socket(), connection_->remote(), resumes);
  if (rail_user_ == nullptr) shared_.sinks.peer_met(peer_);
  if (is_for_answers()) rail_user_->answers_stand(connection_->fd());
  // Frames may have come with the end of the handshake, whose readiness is used up.
  read_soon();
}

// One side does: two attempts at a time would only meet each other.
void Link::look_for_home() noexcept {
  if (!home_) home_ = listening_at(connection_->remote());
  away_ = home_ && !is_home(connection_->remote());
  if (!away_) return;
  log_info("%s: %s by another network than %s, at %s", shared_.describe(peer_).c_str(), rail_user_ != nullptr ? "long messages go" : "messages go",
           home_->text_without_port().c_str(), connection_->remote().text().c_str());
  if (receiver_.resumes() && shared_.own_name() < shared_.name(peer_)) home_watch_.begin(*home_);
}

// A connection that the peer has made comes from another port. None: it comes from an address that the peer does not listen on.
std::optional<Address> Link::listening_at(const Address& remote) const noexcept {
  const auto found = std::find_if(addresses_.begin(), addresses_.end(), [&](const Address& address) { return address.same_host_address(remote); });
  return found != addresses_.end() ? std::optional<Address>(*found) : std::nullopt;
}

// Not from a peer that has finalized, and makes no other connection. What a program in the kernel reads ends at once: it would go on with it.
void Link::go_home() noexcept {
  if (!connection_ || receiver_.inbox().goodbye()) return;
  if (receiver_.lent_queue() == nullptr) left_ = Socket(::fcntl(connection_->fd(), F_DUPFD_CLOEXEC, 0));
  leave_connection(diagnosis_.broken(connection_->remote(), "given up for its own network"), shared_.engine.clock().now());
  replaced_ = Replaced::kToGoHome;
  setup_.mend(home_);
}

Link::Standing Link::judge_standing(bool broke) noexcept {
  const Replaced replaced = std::exchange(replaced_, Replaced::kNo);
  if (replaced != Replaced::kNo && away_ && is_home(connection_->remote())) return Standing::kHome;
  if (rail_user_ != nullptr && !broke) return Standing::kFurther;
  if (replaced == Replaced::kToGoHome) return Standing::kNotHomeYet;
  if (replaced == Replaced::kByPeer) return Standing::kInPlaceUnnoticed;
  return broke ? Standing::kInPlace : Standing::kFirst;
}

// `after`: for how long this side has known that there was none, where one broke. `peer_first`: the peer has tried more often to make another one, so
// that is not how long there was none. It may have reset the old one, for one thing, when it was cut off: this side hears that when the network is
// back. `in_vain`: because the peer answered late, as it shows now.
void Link::note_connection(std::optional<std::int64_t> after, bool peer_first, bool in_vain) noexcept {
  const Standing standing = judge_standing(after.has_value());
  const bool is_mended = standing == Standing::kInPlace || standing == Standing::kInPlaceUnnoticed;
  shared_.counters.connections_resumed += is_mended;
  if (!is_mended && !log_enabled(LogLevel::kInfo)) return;
  const std::string peer = shared_.describe(peer_), remote = connection_->remote().text();
  const char* const what = rail_user_ != nullptr ? "long messages go" : "messages go";
  switch (standing) {
    case Standing::kFirst:
      return log_info("%s: connected by tcp, at %s; frames are %s", peer.c_str(), remote.c_str(), connection_->protection());
    case Standing::kFurther:
      return log_info("%s: another connection by tcp, for %s, at %s", peer.c_str(), is_for_answers() ? "answers by the kernel" : "long messages",
                      remote.c_str());
    case Standing::kHome:
      return log_info("%s: %s by their own network again, at %s", peer.c_str(), what, remote.c_str());
    case Standing::kNotHomeYet:
      return log_info("%s: the way back to its own network leads nowhere yet; going on at %s", peer.c_str(), remote.c_str());
    case Standing::kInPlaceUnnoticed:
      return note_another(", before this rank had noticed", in_vain);
    case Standing::kInPlace:
      break;
  }
  char time[64] = "";
  if (!peer_first) std::snprintf(time, sizeof time, ", after %.2f s", static_cast<double>(*after) / 1e9);
  note_another(time, in_vain);
}

// The rank that computes without progress cannot tell whether the other found it late, or the network failed: on a protected link it takes the former
// for likely. Each side of a link warns once of that.
void Link::note_another(const char* after, bool in_vain) noexcept {
  const bool late = in_vain || (shared_.options.polls && connection_->records() != nullptr);
  const auto log = late && std::exchange(warned_of_polling_, true) ? log_info : log_warn;
  const char* const reason = peer_polls_ ? ". Nothing was missing: that rank polls (LAPWING_PROGRESS=polling), and answered late"
                                         : ". Nothing was missing: that rank was stopped or kept busy, and answered late";
  log("%s: the connection broke, and another has taken its place, at %s%s%s", shared_.describe(peer_).c_str(), connection_->remote().text().c_str(),
      after, in_vain ? reason : "");
}

// One line for the first, and for each time that there are twice as many.
void Link::note_wrong_record() noexcept {
  const std::uint64_t count = ++shared_.counters.records_wrong;
  if ((count & (count - 1)) == 0)
    log_warn("%s. The connection is made anew, and nothing is lost; so far this rank has received %" PRIu64 " such records",
             diagnosis_.wrong_record(connection_->remote()).text(), count);
}

void Link::read_soon() noexcept {
  if (!safe_point_.linked()) shared_.engine.defer(safe_point_);
}

// ---- a connection that breaks ---------------------------------------------------------------------------------------

// What the peer sent before it went may still be here, its goodbye above all: read first, then judge.
void Link::sending_failed(int error) noexcept {
  silent_ = Diagnosis::means_silence(error);
  failure_ = error == EFAULT ? diagnosis_.no_memory(connection_->remote(), "to") : diagnosis_.broken(connection_->remote(), error);
  receiver_.sending_failed();
  read_soon();
}

void Link::receiving_ended(Inbox::Result result) noexcept {
  const Address& remote = connection_->remote();
  switch (result) {
    case Inbox::Result::kNothing:
    case Inbox::Result::kDrained:
      if (failure_.error_class() == MPI_ERR_BUFFER) return lose(std::move(failure_));
      return break_off(std::move(failure_), last_reached());
    case Inbox::Result::kEnded:
      return break_off(diagnosis_.broken(remote, "closed by the peer"), last_reached());
    case Inbox::Result::kBroken:
      if (receiver_.inbox().error() == EFAULT) return lose(diagnosis_.no_memory(remote, "from"));
      silent_ |= Diagnosis::means_silence(receiver_.inbox().error());
      return break_off(diagnosis_.broken(remote, receiver_.inbox().error()), last_reached());
    case Inbox::Result::kWrong:
      note_wrong_record();
      if (wrong_records_.note(shared_.engine.clock().now(), channel_.received()) >= shared_.liveness_monitor.patience())
        return lose(diagnosis_.only_wrong_records(remote));
      return break_off(diagnosis_.wrong_record(remote), shared_.engine.clock().now());
    case Inbox::Result::kUncertain:
      return break_off(diagnosis_.broken(remote, "the service that has messages received in the kernel has died while it let the connection join"),
                       shared_.engine.clock().now());
    case Inbox::Result::kTorn:
      return break_off(diagnosis_.broken(remote, "the kernel gave bytes twice to the program that receives; LAPWING_RECEIVE=user does without"),
                       shared_.engine.clock().now());
    case Inbox::Result::kViolation:
      return lose(diagnosis_.violation(remote, receiver_.inbox().violation()));
    case Inbox::Result::kMore:
      break;
  }
}

// The kernel, too, has had patience.
std::int64_t Link::last_reached() const noexcept {
  return shared_.engine.clock().now() - (silent_ ? shared_.liveness_monitor.patience_with_connection() : 0);
}

bool Link::inspect() noexcept {
  const bool rails = rails_ && rails_->inspect();
  const bool answers = answer_way_ && answer_way_->link().inspect();
  return inspect_connection() || rails || answers;
}

bool Link::inspect_connection() noexcept {
  if (!connection_) return setup_.inspect();
  if (!connection_->is_inspected()) return false;
  const Socket::Acknowledgement heard = connection_->socket().acknowledgement();
  const bool under_way = heard.bytes_missing > 0;
  const bool undelivered = connection_->records() != nullptr && inspect_tail(under_way);
  if (connection_ && !connection_->remote().is_loopback()) inspect_host(heard);
  return under_way || undelivered;
}

// True while the peer has not acknowledged all that it must have.
bool Link::inspect_tail(bool under_way) noexcept {
  switch (tail_loss_.judge(sender_.needed(), channel_.acknowledged(), under_way)) {
    case TailLossProbe::Action::kNone:
      break;
    case TailLossProbe::Action::kAsk:
      sender_.ask();
      break;
    case TailLossProbe::Action::kBreak:
      end_unanswered();
      break;
  }
  return !sender_.all_delivered();
}

// The peer's host has taken everything, and the peer says nothing of it.
void Link::end_unanswered() noexcept {
  const std::int64_t now = shared_.engine.clock().now();
  Status why = diagnosis_.unanswered(connection_->remote());
  if (unanswered_.note(now, channel_.acknowledged()) >= shared_.liveness_monitor.patience()) return lose(diagnosis_.all_swallowed(why));
  break_off(std::move(why), now);
}

void Link::inspect_host(const Socket::Acknowledgement& heard) noexcept {
  const Silence::Kind kind = silence_.judge(shared_.engine.clock().now(), heard, tuning().tcp_stall, shared_.liveness_monitor.patience());
  switch (kind) {
    case Silence::Kind::kGone:
    case Silence::Kind::kStall:
      return end_silence(kind);
    case Silence::Kind::kNone:
      break;
  }
}

// It may only be the way that loses packets: then another connection goes on sooner, or goes another way.
void Link::end_silence(Silence::Kind kind) noexcept {
  silent_ = receiver_.resumes() || kind == Silence::Kind::kGone;
  if (silent_)
    break_off(diagnosis_.broken(connection_->remote(), "that host does not answer"), std::max(silence_.since(), last_reached()));
}

// `since`: the peer has not been reached from then on.
void Link::break_off(Status why, std::int64_t since) noexcept {
  const bool over = !receiver_.resumes() || receiver_.inbox().goodbye();
  if (over) return lose(silent_ && !receiver_.inbox().goodbye() ? diagnosis_.silent(connection_->remote()) : diagnosis_.ended(why));
  log_info("%s. Connecting again", why.text());
  leave_connection(std::move(why), since);
  setup_.mend();
}

// What has not come whole has not come, and what the peer has not had will be sent again.
void Link::leave_connection(Status why, std::int64_t since) noexcept {
  receiver_.leave_program();
  home_watch_.end();
  setup_.broke({.why = std::move(why), .remote = connection_->remote(), .since = since, .silent = silent_});
  // The peer may have to be told that this one is over, where its kernel takes nothing of it any more.
  if (silent_) connection_->socket().reset_on_close();
  silent_ = false;
  failure_ = Status();
  silence_ = Silence();
  channel_.down();
  receiver_.interrupt();
  sender_.interrupt();
  shared_.retire(std::move(connection_));
}

// ---- the end --------------------------------------------------------------------------------------------------------

void Link::lose(Status why) noexcept {
  receiver_.leave_program();
  const Inbox& inbox = receiver_.inbox();
  const bool orderly = inbox.goodbye() || (shared_.goodbye_expected && inbox.half_received() == nullptr);
  if (inbox.goodbye()) why = diagnosis_.finalized();
  end(orderly ? State::kFinished : State::kLost, std::move(why));
  if (is_for_answers()) {
    log_info("%s: the kernels give no answers any more: %s", shared_.describe(peer_).c_str(), failure_.text());
    return rail_user_->answers_lost();
  }
  if (rail_user_ != nullptr) {
    if (!orderly) rail_user_->rail_lost(failure_.copy());
    return;
  }
  if (!orderly) return shared_.sinks.peer_lost(peer_, failure_, inbox.header(), inbox.half_received());
  if (!shared_.goodbye_expected) shared_.sinks.peer_left(peer_, failure_);
}

// Before it takes the peer for lost, whose loss it would tell the others.
void Link::be_given_up(Status why) noexcept {
  shared_.sinks.given_up_by(peer_);
  if (!setup_.over()) lose(std::move(why));
}

void Link::give_up(const Status& why) noexcept {
  for (int reads = 0; reads < kMostReadsAtClose && receiver_.receive(); ++reads) {
  }
  if (!setup_.over()) lose(why.copy());
}

void Link::end(State state, Status why) noexcept {
  failure_ = std::move(why);
  if (rails_) rails_->end(failure_);
  if (answer_way_) answer_way_->link().end_with(failure_);
  channel_.end();
  receiver_.end();
  shared_.retire(std::move(connection_));
  left_.close();
  home_watch_.end();
  setup_.end(state);
  sender_.end(failure_);
}

void Link::close() noexcept {
  if (setup_.over()) return;
  if (rails_) rails_->close();
  if (answer_way_) answer_way_->link().close();
  if (connection_) {
    // Others go on in their sessions, or would take the end of this connection for a break.
    if (!is_for_answers()) sender_.send_last(receiver_.resumes() || !shared_.goodbye_expected);
    ::shutdown(connection_->fd(), SHUT_WR);
    // Closing a socket with unread input resets the connection and throws away what we sent last.
    for (int reads = 0; reads < kMostReadsAtClose; ++reads) {
      if (::recv(connection_->fd(), shared_.scratch.get(), SharedState::kScratchBytes, MSG_DONTWAIT) <= 0) break;
    }
  }
  end(State::kFinished, diagnosis_.closed());
}

}  // namespace lapwing::net::tcp
