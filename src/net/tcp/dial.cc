#include "net/tcp/dial.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "net/tcp/liveness.h"

namespace lapwing::net::tcp {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kPauseWhenExhausted = 50 * kMillisecond;

bool is_exhausted(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

// "Invalid argument" is what Linux says of a route that swallows everything.
const char* told(int error) noexcept {
  return std::strerror(error == EINVAL ? EHOSTUNREACH : error);
}

}  // namespace

Dial::Dial(SharedState& shared, PeerId peer, const Address& address, const wire::Terms& terms, DialUser& user)
    : shared_(shared), peer_(peer), address_(address), terms_(terms), user_(user), began_(shared.engine.clock().now()), retry_(*this) {}

Dial::~Dial() {
  shared_.engine.cancel_timer(retry_);
  hang_up();
}

// ---- a connection ---------------------------------------------------------------------------------------------------

// What this process lacks says nothing about the peer.
bool Dial::open() noexcept {
  Socket socket;
  const int error = Socket::connect(address_, shared_.congestion_control, socket);
  exhausted_ = is_exhausted(error) ? error : 0;
  if (exhausted_ != 0) {
    pause(kPauseWhenExhausted);
    return true;
  }
  error_ = error;
  return error == 0 ? connect(std::move(socket)) : give_up(told(error));
}

bool Dial::connect(Socket socket) noexcept {
  state_ = State::kConnecting;
  connection_ = std::make_unique<Connection>(
      shared_.engine, std::move(socket), address_,
      wire::Handshake::connector(shared_.key, shared_.own_name(), shared_.name(peer_), wire::random_nonce(), terms_,
                                 wire::Secret::random()),
      *this);
  const bool greeted = greet_at_once();
  const Status watched = connection_->watch(!greeted);
  if (!watched.ok()) return give_up(watched.text());
  shared_.liveness_monitor.watch_over(connection_->socket(), address_);
  if (greeted) shared_.liveness_monitor.something_sent();
  return true;
}

// To this host, and to one that is near, the connection may stand already. What has ended it the kernel says once, so it is kept.
bool Dial::greet_at_once() noexcept {
  const bool greeted = connection_->send_handshake();
  if (greeted) state_ = State::kGreeting;
  broke_at_once_ = greeted || errno == EAGAIN || errno == EWOULDBLOCK ? 0 : errno;
  return greeted;
}

void Dial::try_again() noexcept {
  if (!open()) user_.on_failed(*this);
}

void Dial::pause(std::int64_t nanoseconds) noexcept {
  hang_up();
  state_ = State::kPausing;
  paused_ += nanoseconds;
  shared_.engine.set_timer(retry_, shared_.engine.clock().now() + nanoseconds);
  user_.on_pausing(*this);
}

bool Dial::give_up(std::string why, wire::Handshake::Fault fault) noexcept {
  failure_ = std::move(why);
  fault_ = fault;
  state_ = State::kOver;
  hang_up();
  return false;
}

void Dial::fail(std::string why, wire::Handshake::Fault fault) noexcept {
  give_up(std::move(why), fault);
  user_.on_failed(*this);
}

// ---- the handshake --------------------------------------------------------------------------------------------------

void Dial::on_ready(Connection& connection, std::uint32_t events) noexcept {
  if (state_ != State::kConnecting) return advance();
  if (const int error = broke_at_once_ != 0 ? broke_at_once_ : connection.socket().pending_error(); error != 0) {
    if (error == ECONNRESET || error == EPIPE) return closed_by_peer();  // it stood for a moment
    error_ = error;
    return fail(std::strerror(error));
  }
  if ((events & EPOLLOUT) != 0) connected();
}

void Dial::connected() noexcept {
  state_ = State::kGreeting;
  connection_->want_writable(false);
  if (!connection_->send_handshake()) return closed_by_peer();
  shared_.liveness_monitor.something_sent();
  advance();
}

void Dial::advance() noexcept {
  using Handshake = wire::Handshake::State;
  const Connection::Step step = connection_->advance_handshake();
  const Handshake reached = handshake().state();
  if (state_ == State::kGreeting && reached != Handshake::kChallenge && reached != Handshake::kFailed) {
    state_ = State::kProven;
    was_proven_ = true;
    resumes_ = handshake().has(wire::kFeatureResume);
    shared_.liveness_monitor.something_sent();
    user_.on_proven(*this);
  }
  if (step == Connection::Step::kClosed) return closed_by_peer();
  if (step == Connection::Step::kWaiting) return;
  if (reached == Handshake::kFailed) return handshake_failed();
  user_.on_verdict(*this);
}

// A rank that is asked by very many at once, or that came back to a connection too late, closes it: worth another try.
// A proof means that it is the right rank, so then the tries do not count. No frame is lost: none flows before the
// verdict.
void Dial::closed_by_peer() noexcept {
  fail_or_pause("connected, but closed from there: is it a rank of this job, or a proxy?");
}

// Where frames are protected, what arrives may not be what was sent: worth another try, too.
void Dial::handshake_failed() noexcept {
  const std::string why = handshake().failure().text();
  const wire::Handshake::Fault fault = handshake().fault();
  if (shared_.options.wire == Protection::kPlain) return fail(why, fault);
  fail_or_pause(why, fault);
}

// A connection may break in the handshake as it may later, and a link that resumes survives that. Time in which this process did not run counts for
// nothing.
bool Dial::tried_enough() const noexcept {
  const bool in_time = (terms_.features & wire::kFeatureResume) != 0 && paused_ < shared_.options.connect_timeout;
  return state_ != State::kProven && ended_early_ > kRetries && !in_time;
}

void Dial::fail_or_pause(std::string why, wire::Handshake::Fault fault) noexcept {
  ++ended_early_;
  if (tried_enough()) return fail(std::move(why), fault);
  if (!user_.may_try_again(*this)) return fail("connected, but closed from there before it was accepted");
  failure_ = std::move(why);
  fault_ = fault;
  pause((10 * kMillisecond) << std::min(ended_early_, 6u));
}

// ---- as time passes -------------------------------------------------------------------------------------------------

bool Dial::has_news() const noexcept {
  if (!connection_) return false;
  return state_ == State::kConnecting ? connection_->socket().is_connected() : connection_->socket().has_news();
}

void Dial::catch_up() noexcept {
  on_ready(*connection_, EPOLLOUT);
}

bool Dial::host_answers() const noexcept {
  return connection_ && state_ != State::kConnecting && !connection_->socket().acknowledgement().unanswered;
}

// Where links do not resume, a peer that has the proof may have accepted the connection, and there is no other.
bool Dial::inspect() noexcept {
  const bool greeting = state_ == State::kGreeting;
  if (!greeting && state_ != State::kProven) return false;
  const Socket::Acknowledgement heard = connection_->socket().acknowledgement();
  if (heard.resends < kHandshakeResendsInVain || (!greeting && !resumes_)) return heard.bytes_missing > 0;
  connection_->socket().reset_on_close();
  const char* const why = "connected, but nothing that is sent there arrives";
  if (greeting)
    fail_or_pause(why);
  else
    fail(why);
  return true;
}

double Dial::seconds_so_far() const noexcept {
  return static_cast<double>(shared_.engine.clock().now() - began_) / 1e9;
}

}  // namespace lapwing::net::tcp
