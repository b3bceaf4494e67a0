// A link's connections: made, broken and made again, closed.
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/tuning.h"
#include "net/tcp/candidates.h"
#include "net/tcp/link.h"

namespace lapwing::net::tcp {
namespace {

constexpr int kMostReadsAtClose = 1024;  // of a scratch buffer each; a peer that still sends then is not waited for

bool wants_to_resume(Choice choice, bool same_host) noexcept {
  return choice == Choice::kOn || (choice == Choice::kAuto && !same_host);
}

}  // namespace

Link::Link(SharedState& shared, PeerId peer, std::vector<Address> addresses, bool same_host)
    : shared_(shared),
      peer_(peer),
      addresses_(std::move(addresses)),
      same_host_(same_host),
      diagnosis_(shared, peer, same_host),
      queue_(channel_, shared.spare_memory),
      outbox_(queue_),
      inbox_(shared.sinks, channel_, peer),
      await_(*this),
      resume_(*this),
      safe_point_(*this) {}

Link::~Link() {
  shared_.engine.cancel_timer(await_);
  shared_.engine.cancel_timer(resume_);
  shared_.forget(*this);
  if (safe_point_.linked()) safe_point_.unlink();
}

// ---- set-up ---------------------------------------------------------------------------------------------------------

bool Link::watch_over() noexcept {
  if (state_ != State::kIdle) return false;
  watch_only_ = true;
  connect();
  return true;
}

void Link::connect() noexcept {
  state_ = State::kConnecting;
  connecting_since_ = shared_.engine.clock().now();
  const auto route = [this](const Address& address) { return find_route(address, shared_.interfaces); };
  std::vector<Address> candidates = order_candidates(addresses_, shared_.interfaces, same_host_, route);
  if (candidates.empty()) return fail_soon(diagnosis_.no_route(addresses_));
  attempts_.begin();
  const std::int64_t time = time_to_connect(std::ssize(candidates));
  const wire::Terms terms = shared_.terms(wants_to_resume(shared_.options.resume, same_host_), position());
  connector_ = std::make_unique<Connector>(shared_, peer_, std::move(candidates), time, terms, *this);
  connector_->start();
}

// Where a connection broke, packets are lost for some time: an attempt of seconds would meet the kernel's pauses of seconds in the middle. So
// attempts are short at first, and then long enough for any network.
std::int64_t Link::time_to_connect(std::int64_t candidates) noexcept {
  if (!broken()) return shared_.options.connect_timeout;
  constexpr unsigned kDoublings = 5;
  const std::int64_t each = tuning().tcp_first_try << std::min(tries_++, kDoublings);
  return std::min(each * candidates, shared_.options.connect_timeout);
}

// What was posted meanwhile has all its time before it. A watch goes on until the host has not been reached for as long as a
// connection may be silent.
void Link::connecting_failed() noexcept {
  if (broken()) return resuming_failed();
  if (!std::exchange(watch_only_, false)) return lose(std::move(failure_));
  if (unreached_since_ == kReached) unreached_since_ = connecting_since_;
  const bool long_enough = shared_.engine.clock().now() - unreached_since_ >= shared_.liveness_monitor.patience();
  if (long_enough) return lose(diagnosis_.not_reached(failure_));
  state_ = State::kIdle;
  connector_.reset();
  failure_ = Status();
  if (!queue_.all_sent()) connect();
}

void Link::on_connected(std::unique_ptr<Connection> connection) noexcept {
  ++shared_.counters.connections_made;
  open(std::move(connection));
}

void Link::on_duplicate() noexcept {
  state_ = State::kAwaiting;
  connector_.reset();
  shared_.engine.set_timer(await_, shared_.engine.clock().now() + shared_.options.connect_timeout);
}

void Link::on_awaited_in_vain() noexcept {
  if (broken()) return connect();
  lose(diagnosis_.not_arrived());
}

// A rank listens as long as it lives, and within a host nothing stands in the way.
void Link::on_unreachable(Status why) noexcept {
  if (same_host_ && connector_->refused() && !broken()) why = diagnosis_.ended();
  fail_soon(std::move(why));
}

wire::Verdict Link::judge(const wire::Terms& theirs) noexcept {
  const bool ours_wins = shared_.own_name() < shared_.name(peer_) && connector_ && connector_->committed();
  const wire::Verdict verdict = attempts_.judge(state_, theirs.position.attempt, resumes_, ours_wins);
  if (verdict == wire::Verdict::kAccepted && state_ == State::kOpen) {
    why_broken_ = diagnosis_.broken(connection_->remote(), "given up by the peer");
    leave_connection();
  }
  return verdict;
}

void Link::open(std::unique_ptr<Connection> connection) noexcept {
  shared_.engine.cancel_timer(await_);
  shared_.engine.cancel_timer(resume_);
  connector_.reset();
  failure_ = Status();
  watch_only_ = false;
  const bool again = broken();
  const wire::Handshake& handshake = connection->handshake();
  const wire::Position theirs = handshake.peer_position();
  const bool resumes = handshake.has(wire::kFeatureResume);
  frame_limit_ = handshake.peer_terms().frame_limit;
  attempts_.agree(theirs.attempt);
  unreached_since_ = kReached;
  tries_ = 0;
  connection_ = std::move(connection);
  connection_->hand_over(*this);
  state_ = State::kOpen;
  if (const Status begun = queue_.begin(theirs.next_expected, resumes); !begun.ok())
    return lose(diagnosis_.violation(connection_->remote(), begun));
  resumes_ = resumes;
  shared_.counters.connections_resumed += again;
  if (again)
    log_warn("%s: the connection broke, and another has taken its place, at %s", shared_.describe(peer_).c_str(),
             connection_->remote().text().c_str());
  else if (log_enabled(LogLevel::kInfo))
    log_info("%s: connected by tcp, at %s", shared_.describe(peer_).c_str(), connection_->remote().text().c_str());
  shared_.busy_links.touch(*this);
  flush_and_tell();
  // Frames may have come with the end of the handshake, whose readiness is used up.
  act_soon();
}

// ---- a connection that breaks ---------------------------------------------------------------------------------------

void Link::break_off(Status why) noexcept {
  if (silent_ && !inbox_.goodbye()) return lose(diagnosis_.silent(connection_->remote()));
  if (!resumes_ || inbox_.goodbye()) return lose(diagnosis_.ended(why));
  log_info("%s. Connecting again", why.text());
  why_broken_ = std::move(why);
  leave_connection();
  connect();
  if (state_ == State::kConnecting) shared_.engine.set_timer(resume_, unreached_since_ + shared_.liveness_monitor.patience());
}

// It may only be the way that loses packets: then another connection goes on sooner, or goes another way. The time that the peer has to
// be reached began when it fell silent.
void Link::stalled() noexcept {
  const std::int64_t since = silence_.since();
  break_off(diagnosis_.broken(connection_->remote(), "that host does not answer"));
  if (!broken()) return;
  unreached_since_ = since;
  shared_.engine.set_timer(resume_, unreached_since_ + shared_.liveness_monitor.patience());
}

// What has not come whole has not come, and what the peer has not had will be sent again.
void Link::leave_connection() noexcept {
  state_ = State::kConnecting;
  failure_ = Status();
  last_try_ = Status();
  broken_remote_ = connection_->remote();
  unreached_since_ = shared_.engine.clock().now();
  shared_.busy_links.forget(*this);
  shared_.retire(std::move(connection_));
  channel_.down();
  inbox_.interrupt();
  outbox_.reset();
  burst_.flushed();
  watermark_.forget();
  silence_ = Silence();
  keep_engine_awake();
}

// Where a rank listened and nothing listens any more, it has ended. Of an address that another host may have as well that is no proof.
bool Link::peer_has_ended() const noexcept {
  return connector_ && (connector_->peer_is_gone() || (same_host_ ? connector_->refused() : connector_->refused_by(broken_remote_)));
}

void Link::resuming_failed() noexcept {
  if (peer_has_ended()) return lose(diagnosis_.ended(why_broken_));
  last_try_ = std::move(failure_);
  connector_.reset();
  const std::int64_t now = shared_.engine.clock().now();
  shared_.engine.set_timer(resume_, std::min(now + tuning().tcp_retry_pause, unreached_since_ + shared_.liveness_monitor.patience()));
}

// It is time to try again, or to give up.
void Link::resume_or_give_up() noexcept {
  const std::int64_t now = shared_.engine.clock().now(), patience = shared_.liveness_monitor.patience();
  const bool stopped = connector_ && connector_->is_patient();
  if (now - unreached_since_ >= patience && !stopped) return lose(diagnosis_.not_resumed(why_broken_, last_try_));
  if (state_ == State::kConnecting && !connector_) connect();
  if (broken()) shared_.engine.set_timer(resume_, stopped ? now + patience : unreached_since_ + patience);
}

// ---- the end --------------------------------------------------------------------------------------------------------

void Link::act_soon() noexcept {
  if (!safe_point_.linked()) shared_.engine.defer(safe_point_);
}

void Link::at_safe_point() noexcept {
  if (state_ == State::kOpen) {
    receive();
  } else if (state_ == State::kConnecting && !failure_.ok()) {
    connecting_failed();
  }
}

// For failures found while a frame is posted: no owner expects to be told of a lost peer from inside post().
void Link::fail_soon(Status why) noexcept {
  if (failure_.ok()) failure_ = std::move(why);
  act_soon();
}

void Link::lose(Status why) noexcept {
  const bool orderly = inbox_.goodbye() || (shared_.goodbye_expected && inbox_.half_received() == nullptr);
  if (inbox_.goodbye()) why = diagnosis_.finalized();
  end(orderly ? State::kFinished : State::kLost, std::move(why));
  if (!orderly) return shared_.sinks.peer_lost(peer_, failure_, inbox_.header(), inbox_.half_received());
  if (!shared_.goodbye_expected) shared_.sinks.peer_left(peer_, failure_);
}

void Link::end(State state, Status why) noexcept {
  state_ = state;
  failure_ = std::move(why);
  unlist(owing_, shared_.owing);
  unlist(lending_, shared_.lending);
  shared_.forget(*this);
  burst_.flushed();
  shared_.engine.cancel_timer(await_);
  shared_.engine.cancel_timer(resume_);
  connector_.reset();
  shared_.retire(std::move(connection_));
  channel_.end();
  queue_.fail(failure_);
  keep_engine_awake();
}

// Others go on in their sessions, or would take the end of this connection for a break.
void Link::say_goodbye() noexcept {
  wire::FrameHeader goodbye = wire::channel_frame(wire::ChannelWord::kGoodbye);
  if (queue_.copy(goodbye, nullptr, nullptr)) flush();
}

void Link::close() noexcept {
  if (state_ == State::kFinished || state_ == State::kLost) return;
  if (state_ == State::kOpen) {
    if (resumes_ || !shared_.goodbye_expected) say_goodbye();
    if (burst_.keeps_back()) flush();
    ::shutdown(connection_->fd(), SHUT_WR);
    // Closing a socket with unread input resets the connection and throws away what we sent last.
    for (int reads = 0; reads < kMostReadsAtClose; ++reads) {
      if (::recv(connection_->fd(), shared_.scratch.get(), SharedState::kScratchBytes, MSG_DONTWAIT) <= 0) break;
    }
  }
  end(State::kFinished, diagnosis_.closed());
}

}  // namespace lapwing::net::tcp
