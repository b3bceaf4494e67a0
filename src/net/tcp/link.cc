#include "net/tcp/link.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/delay_point.h"
#include "base/internal_error.h"
#include "base/log.h"
#include "net/tcp/candidates.h"

namespace lapwing::net::tcp {
namespace {

// Bursts. A system call for each of many small messages costs far more than the messages. So from the second message on that
// is posted to one peer in quick succession, frames wait for the next poll, in which all leave together: the application's own
// (any function that waits or tests), or the event thread's, when the lazy timer finds that the application has left to compute. A
// lone message never waits.
constexpr std::int64_t kBurstGap = 5'000;  // ns from the end of one post of a burst to the next, at most
constexpr unsigned kSentAtOnce = 1;
constexpr unsigned kMostKeptBack = 128;
constexpr std::uint64_t kLargestKeptBack = 4096;  // payload bytes; longer messages take the queue along at once

// Watermarks. To be woken takes an event thread some 30 us of the core that it shares with the computation, so it takes a long frame in
// large pieces: nothing else on the link can be had before its last byte. The pieces get smaller towards the end, so that little
// is left to copy when that has come, and are a part of the receive buffer, so that the peer can go on. A thread that waits has nothing
// better to do than to copy early; and over loopback, where all comes at once, to be woken early costs less than to be late.
constexpr std::uint64_t kLargestPiece = 256 << 10, kLastPiece = 64 << 10, kSmallRest = 16 << 10;
constexpr std::uint64_t kPiecesPerBuffer = 4;

std::uint64_t next_piece(std::uint64_t missing, std::uint64_t buffer) noexcept {
  const std::uint64_t wanted = missing <= kLastPiece ? missing : std::clamp(missing / 2, kLastPiece, kLargestPiece);
  return std::max<std::uint64_t>(std::min(wanted, buffer / kPiecesPerBuffer), 1);
}

constexpr int kMostReadsAtClose = 1024;  // of a scratch buffer each; a peer that still sends then is not waited for

}  // namespace

Link::Link(SharedState& shared, PeerId peer, std::vector<Address> addresses, bool same_host)
    : shared_(shared),
      peer_(peer),
      addresses_(std::move(addresses)),
      same_host_(same_host),
      outbox_(channel_),
      inbox_(shared.sinks, channel_, peer),
      await_(*this),
      resumption_(*this) {}

Link::~Link() {
  shared_.engine.cancel_timer(await_);
  std::erase(shared_.deferred, this);
  if (resumption_.linked()) resumption_.unlink();
}

// ---- sending --------------------------------------------------------------------------------------------------------

bool Link::post(SendOp& op) noexcept {
  if (state_ == State::kFinished || state_ == State::kLost) {
    shared_.refusals.add(op, failure_.copy());
    return false;
  }
  if (op.header.payload_bytes() <= kLargestKeptBack && copy(op.header, op.data, op.walk)) return true;
  const bool free = state_ == State::kOpen && (outbox_.empty() || kept_back_ > 0);  // not waiting for the socket
  outbox_.push(op);
  if (state_ == State::kIdle) {
    connect();
  } else if (free) {
    leave_or_join_burst(false);
  }
  keep_engine_awake();
  return free && outbox_.has_taken(op);
}

bool Link::send_now(wire::FrameHeader& header, const std::byte* payload) noexcept {
  return copy(header, payload, nullptr);
}

// When the outbox waits for the socket, the copy leaves with the rest.
bool Link::copy(wire::FrameHeader& header, const std::byte* payload, ByteWalk* walk) noexcept {
  if (state_ != State::kOpen || !failure_.ok()) return false;
  const bool free = outbox_.empty() || kept_back_ > 0;
  if (!outbox_.copy(header, payload, walk)) return false;
  if (free) leave_or_join_burst(true);
  keep_engine_awake();
  return true;
}

void Link::leave_or_join_burst(bool small) noexcept {
  const std::int64_t now = shared_.engine.clock().now();
  burst_length_ = now - last_post_ <= kBurstGap && !burst_ended_ ? burst_length_ + 1 : 0;
  burst_ended_ = false;
  const bool joins = burst_length_ >= kSentAtOnce && small && shared_.engine.has_event_thread();
  shared_.busy_links.touch(*this);
  if (joins && kept_back_ < kMostKeptBack) {
    last_post_ = now;
    return defer_flush();
  }
  flush();
  last_post_ = shared_.engine.clock().now();  // the system call may take longer than the gap
}

void Link::defer_flush() noexcept {
  ++kept_back_;
  LAPWING_DELAY_POINT("tcp.defer");
  if (!listed_) shared_.deferred.push_back(this);
  listed_ = true;
  shared_.engine.want_turn();
}

void Link::flush_deferred() noexcept {
  listed_ = false;
  if (kept_back_ > 0 && state_ == State::kOpen) flush_and_tell();
}

void Link::flush() noexcept {
  kept_back_ = 0;
  LAPWING_DELAY_POINT("tcp.flush");
  switch (outbox_.flush(connection_->fd(), shared_.engine.system_calls())) {
    case Outbox::Result::kDrained:
      connection_->want_writable(false);
      break;
    case Outbox::Result::kBlocked:
      LAPWING_DELAY_POINT("tcp.blocked");
      connection_->want_writable(true);
      break;
    case Outbox::Result::kBroken:
      // What the peer sent before it went may still be here, its goodbye above all: read first, then judge.
      fail_soon(connection_lost(outbox_.error()));
      break;
  }
  if (!connection_->remote().is_loopback()) shared_.liveness_monitor.something_sent();
  keep_engine_awake();
}

// Where frames may be posted again: not from inside post().
void Link::flush_and_tell() noexcept {
  flush();
  outbox_.deliver_taken();
}

void Link::keep_engine_awake() noexcept {
  const bool waiting = !outbox_.empty();
  if (waiting == held_) return;
  held_ = waiting;
  if (waiting)
    shared_.engine.hold();
  else
    shared_.engine.unhold();
}

// ---- the connection -------------------------------------------------------------------------------------------------

bool Link::watch_over() noexcept {
  if (state_ != State::kIdle) return false;
  watch_only_ = true;
  connect();
  return true;
}

// What was posted meanwhile has all its time before it. A watch goes on until the host has not been reached for as long as a
// connection may be silent.
void Link::connecting_failed() noexcept {
  if (!std::exchange(watch_only_, false)) return lose(std::move(failure_));
  if (unreached_since_ == kReached) unreached_since_ = connecting_since_;
  const bool long_enough = shared_.engine.clock().now() - unreached_since_ >= shared_.liveness_monitor.patience();
  if (long_enough) return lose(unanswered_watch());
  state_ = State::kIdle;
  connector_.reset();
  failure_ = Status();
  if (!outbox_.empty()) connect();
}

void Link::connect() noexcept {
  state_ = State::kConnecting;
  connecting_since_ = shared_.engine.clock().now();
  const auto route = [this](const Address& address) { return find_route(address, shared_.interfaces); };
  std::vector<Address> candidates = order_candidates(addresses_, shared_.interfaces, same_host_, route);
  if (candidates.empty()) return fail_soon(no_route());
  connector_ = std::make_unique<Connector>(shared_, peer_, std::move(candidates), *this);
  connector_->start();
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
  lose(Status::error(MPI_ERR_OTHER,
                     "%s and %s connected to each other at the same time, but the connection of the latter did "
                     "not arrive",
                     shared_.describe_self().c_str(), shared_.describe(peer_).c_str()));
}

// A rank listens as long as it lives, and within a host nothing stands in the way.
void Link::on_unreachable(Status why) noexcept {
  if (same_host_ && connector_->refused())
    why = Status::error(MPI_ERR_PROC_ABORTED,
                        "%s cannot reach %s, where nothing listens any more. That process has ended; look at what it printed "
                        "last",
                        shared_.describe_self().c_str(), shared_.describe(peer_).c_str());
  fail_soon(std::move(why));
}

wire::Verdict Link::judge() noexcept {
  switch (state_) {
    case State::kIdle:
    case State::kAwaiting:
      return wire::Verdict::kAccepted;
    case State::kConnecting: {
      const bool ours_wins = shared_.options.rank < peer_ && connector_ && connector_->committed();
      return ours_wins ? wire::Verdict::kDuplicate : wire::Verdict::kAccepted;
    }
    case State::kOpen:
      return wire::Verdict::kDuplicate;
    case State::kFinished:
    case State::kLost:
      break;
  }
  return wire::Verdict::kGone;
}

void Link::open(std::unique_ptr<Connection> connection) noexcept {
  shared_.engine.cancel_timer(await_);
  connector_.reset();
  failure_ = Status();
  watch_only_ = false;
  unreached_since_ = kReached;
  connection_ = std::move(connection);
  connection_->hand_over(*this);
  LAPWING_CHECK(channel_.up(0).ok());  // the terms of the handshake say so
  outbox_.number_waiting();
  state_ = State::kOpen;
  if (log_enabled(LogLevel::kInfo))
    log_info("%s: connected by tcp, at %s", shared_.describe(peer_).c_str(), connection_->remote().text().c_str());
  shared_.busy_links.touch(*this);
  flush_and_tell();
  // Frames may have come with the end of the handshake, whose readiness is used up.
  resume_soon();
}

// ---- receiving ------------------------------------------------------------------------------------------------------

void Link::on_ready(Connection& connection, std::uint32_t events) noexcept {
  if (state_ != State::kOpen || &connection != connection_.get()) return;
  shared_.busy_links.end_rest();
  if ((events & EPOLLOUT) != 0) flush_and_tell();
  if ((events & ~std::uint32_t{EPOLLOUT}) != 0) {
    // A busy link is read by the next poll, without a second system call for the same bytes.
    if ((events & ~std::uint32_t{EPOLLIN | EPOLLOUT}) == 0 && shared_.busy_links.has(*this)) {
      shared_.busy_links.expect_input();
      return;
    }
    shared_.busy_links.touch(*this);
    receive();
    // An end that was announced together with the last bytes makes no new edge, and a short read has not shown it.
    if ((events & EPOLLRDHUP) != 0 && state_ == State::kOpen) connection_->announce_again();
  }
}

bool Link::poll() noexcept {
  if (state_ != State::kOpen) return false;
  // Outside the port nobody says that the socket takes more.
  if (connection_->outside_port() && connection_->wants_writable()) flush_and_tell();
  const std::uint64_t before = inbox_.bytes_received();
  receive();
  return state_ != State::kOpen || inbox_.bytes_received() != before;
}

bool Link::leave_port() noexcept {
  if (state_ != State::kOpen) return false;
  LAPWING_DELAY_POINT("tcp.leave_port");
  connection_->leave_port();
  return true;
}

void Link::resume_soon() noexcept {
  if (!resumption_.linked()) shared_.engine.defer(resumption_);
}

void Link::resume() noexcept {
  if (state_ == State::kOpen) {
    receive();
  } else if (state_ == State::kConnecting && !failure_.ok()) {
    connecting_failed();
  }
}

void Link::receive() noexcept {
  LAPWING_DELAY_POINT("tcp.receive");
  engine::SystemCalls& calls = shared_.engine.system_calls();
  const std::uint64_t before = inbox_.bytes_received();
  const Inbox::Result result = inbox_.receive(connection_->fd(), shared_.scratch.get(), SharedState::kScratchBytes, calls);
  if (inbox_.bytes_received() != before) burst_ended_ = true;  // what comes next may be an answer that somebody waits for
  if (!rests_) {
    if (inbox_.missing() < watermark_) announce_from(1);
  } else if (inbox_.missing() >= kRestWatermark / 2) {
    shared_.busy_links.end_rest();
  }
  switch (result) {
    case Inbox::Result::kDrained:
      if (!failure_.ok()) lose(std::move(failure_));  // sending had failed
      break;
    case Inbox::Result::kMore:
      LAPWING_DELAY_POINT("tcp.more");
      connection_->announce_again();
      break;
    case Inbox::Result::kEnded:
      lose(connection_lost("closed by the peer"));
      break;
    case Inbox::Result::kBroken:
      lose(connection_lost(inbox_.error()));
      break;
    case Inbox::Result::kViolation:
      lose(Status::error(MPI_ERR_OTHER, "%s broke the rules of the wire (%s): %s. Do all ranks run the same Lapwing?",
                         shared_.describe(peer_).c_str(), connection_->remote().text().c_str(),
                         inbox_.violation().text()));
      break;
  }
}

void Link::rest() noexcept {
  if (state_ != State::kOpen || inbox_.bytes_received() == 0) return;
  rests_ = true;
  const std::uint64_t missing = inbox_.missing();
  announce_from(missing == 0 ? kRestWatermark : std::min(kRestWatermark, next_piece(missing, connection_->socket().receive_buffer())));
}

void Link::end_rest() noexcept {
  if (!rests_) return;
  rests_ = false;
  if (state_ == State::kOpen) announce_from(1);
}

void Link::set_watermark() noexcept {
  if (state_ != State::kOpen || connection_->remote().is_loopback() || inbox_.missing() < kSmallRest) return;
  const bool at_once = shared_.engine.somebody_waits();
  announce_from(at_once ? 1 : next_piece(inbox_.missing(), connection_->socket().receive_buffer()));
}

// The kernel announces at once what is there already.
void Link::announce_from(std::uint64_t bytes) noexcept {
  if (bytes == watermark_) return;
  watermark_ = bytes;
  connection_->socket().announce_from(static_cast<int>(bytes));
}

// ---- the end --------------------------------------------------------------------------------------------------------

Status Link::no_route() const {
  std::string theirs, ours;
  for (const Address& address : addresses_) {
    if (!address.is_loopback()) theirs += (theirs.empty() ? "" : ", ") + address.text();
  }
  for (const Interface& interface : shared_.interfaces) {
    if (!interface.up || interface.address.is_loopback() || interface.address.is_link_local()) continue;
    ours += (ours.empty() ? "" : ", ") + interface.name + " " + interface.address.text_without_port();
  }
  return Status::error(
      MPI_ERR_OTHER,
      "%s cannot reach %s by TCP: that rank offers %s, and this host (%s) has no route there. Check "
      "that the networks of both hosts are up, and choose one that joins them with LAPWING_TCP_INTERFACE",
      shared_.describe_self().c_str(), shared_.describe(peer_).c_str(),
      theirs.empty() ? "no address outside its host" : theirs.c_str(),
      ours.empty() ? "no network but loopback" : ours.c_str());
}

Status Link::connection_lost(const char* what) const {
  return Status::error(MPI_ERR_PROC_ABORTED,
                       "%s lost its connection to %s (%s): %s. That process has ended%s; look at what it printed last",
                       shared_.describe_self().c_str(), shared_.describe(peer_).c_str(),
                       connection_->remote().text().c_str(), what,
                       same_host_ ? "" : ", or the network between the hosts broke");
}

// What the kernel says when its probes were not answered.
Status Link::connection_lost(int error) const {
  const bool nobody_answers = error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH;
  return nobody_answers ? silent() : connection_lost(std::strerror(error));
}

Status Link::silent() const {
  return Status::error(
      MPI_ERR_PROC_ABORTED,
      "%s lost its connection to %s (%s): that host has not answered for %.3g s. It has gone, or the network between the "
      "hosts is cut; LAPWING_PEER_TIMEOUT says how long to wait",
      shared_.describe_self().c_str(), shared_.describe(peer_).c_str(), connection_->remote().text().c_str(),
      static_cast<double>(shared_.liveness_monitor.patience()) / 1e9);
}

bool Link::inspect() noexcept {
  if (state_ != State::kOpen || connection_->remote().is_loopback()) return false;
  const Socket::Acknowledgement heard = connection_->socket().acknowledgement();
  if (silence_.lasts(shared_.engine.clock().now(), heard, shared_.liveness_monitor.patience())) {
    lose(silent());
    return false;
  }
  return heard.bytes_missing > 0;
}

Status Link::unanswered_watch() const {
  return Status::error(
      MPI_ERR_PROC_ABORTED,
      "%s waits for messages and could not reach %s for %.3g s. It has gone, or the network between the hosts is "
      "cut; LAPWING_PEER_TIMEOUT says how long to wait. The last try: %s",
      shared_.describe_self().c_str(), shared_.describe(peer_).c_str(),
      static_cast<double>(shared_.liveness_monitor.patience()) / 1e9, failure_.text());
}

// For failures found while somebody posts: nobody expects to be told of a lost peer from inside post().
void Link::fail_soon(Status why) noexcept {
  if (failure_.ok()) failure_ = std::move(why);
  resume_soon();
}

void Link::lose(Status why) noexcept {
  const bool orderly = inbox_.goodbye() || (shared_.goodbye_expected && inbox_.half_received() == nullptr);
  if (inbox_.goodbye())
    why =
        Status::error(MPI_ERR_OTHER, "%s has finalized, so nothing can be sent to it", shared_.describe(peer_).c_str());
  end(orderly ? State::kFinished : State::kLost, std::move(why));
  if (!orderly) return shared_.sinks.peer_lost(peer_, failure_, inbox_.header(), inbox_.half_received());
  if (!shared_.goodbye_expected) shared_.sinks.peer_left(peer_, failure_);
}

void Link::end(State state, Status why) noexcept {
  state_ = state;
  failure_ = std::move(why);
  shared_.busy_links.forget(*this);
  std::erase(shared_.deferred, this);
  kept_back_ = 0;
  shared_.engine.cancel_timer(await_);
  connector_.reset();
  shared_.retire(std::move(connection_));
  channel_.end();
  outbox_.fail(failure_);
  keep_engine_awake();
}

// Others go on in their sessions: the end of this connection shall not look like this process's failure.
void Link::say_goodbye() noexcept {
  wire::FrameHeader goodbye = wire::goodbye();
  if (outbox_.copy(goodbye, nullptr)) flush();
}

void Link::close() noexcept {
  if (state_ == State::kFinished || state_ == State::kLost) return;
  if (state_ == State::kOpen) {
    if (!shared_.goodbye_expected) say_goodbye();
    if (kept_back_ > 0) flush();
    ::shutdown(connection_->fd(), SHUT_WR);
    // Closing a socket with unread input resets the connection and throws away what we sent last.
    for (int reads = 0; reads < kMostReadsAtClose; ++reads) {
      if (::recv(connection_->fd(), shared_.scratch.get(), SharedState::kScratchBytes, MSG_DONTWAIT) <= 0) break;
    }
  }
  end(State::kFinished, Status::error(MPI_ERR_OTHER, "%s has closed its connections", shared_.describe_self().c_str()));
}

}  // namespace lapwing::net::tcp
