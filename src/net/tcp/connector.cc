#include "net/tcp/connector.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/log.h"

namespace lapwing::net::tcp {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kPauseWhenExhausted = 50 * kMillisecond;

double seconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

std::string no_answer_within(std::int64_t nanoseconds) {
  char text[64];
  std::snprintf(text, sizeof text, "no answer within %.3g s", seconds(nanoseconds));
  return text;
}

}  // namespace

Connector::Connector(SharedState& shared, PeerId peer, std::vector<Address> candidates, std::int64_t time, const wire::Terms& terms,
                     ConnectorUser& user)
    : shared_(shared),
      peer_(peer),
      candidates_(std::move(candidates)),
      user_(user),
      terms_(terms),
      time_(time),
      share_(std::max(time / std::max<std::int64_t>(std::ssize(candidates_), 1), std::min(kSecond, time))),
      end_(shared.engine.clock().now() + time),
      retry_(*this) {}

Connector::~Connector() {
  shared_.engine.cancel_timer(retry_);
  hang_up();
}

bool Connector::committed() noexcept {
  return connection_ && connection_->handshake().state() == wire::Handshake::State::kVerdict;
}

// Goes through the candidates until one is under way.
void Connector::try_next() noexcept {
  for (; current_ < candidates_.size(); ++current_) {
    if (try_candidate()) return;
  }
  if (silent_ != kNone && !patient_) {
    patient_ = true;
    candidates_ = {candidates_[silent_]};
    current_ = 0;
    if (try_candidate()) return;
  }
  user_.on_unreachable(diagnosis());
}

// True when a connection to the current candidate is under way.
bool Connector::try_candidate() noexcept {
  const std::int64_t left = end_ - shared_.engine.clock().now();
  if (left <= 0 && !patient_) {
    note(why_exhausted_ == 0 ? "not tried for lack of time" : std::strerror(why_exhausted_));
    return false;
  }
  Socket socket;
  if (const int error = Socket::connect(candidate(), socket); error != 0) {
    if (try_again_later(error)) return true;
    note_refusal(error);
    note(std::strerror(error));
    return false;
  }
  why_exhausted_ = 0;
  shared_.liveness_monitor.watch_over(socket, candidate());
  connected_ = false;
  connection_ = std::make_unique<Connection>(
      shared_.engine, std::move(socket), candidate(),
      wire::Handshake::connector(shared_.key, shared_.own_name(), shared_.name(peer_), wire::random_nonce(), terms_), *this);
  if (const Status watched = connection_->watch(true); !watched.ok()) {
    note(watched.text());
    hang_up();
    return false;
  }
  connection_->set_deadline(patient_ ? share_ : std::min(share_, left));
  return true;
}

// What this process lacks says nothing about the peer.
bool Connector::try_again_later(int error) noexcept {
  if (error != EMFILE && error != ENFILE && error != ENOBUFS && error != ENOMEM) return false;
  if (!std::exchange(warned_, true))
    log_warn("no socket for a connection to %s: %s; trying again for %.3g s. Raise the limit of open files (ulimit -n)",
             shared_.describe(peer_).c_str(), std::strerror(error), seconds(time_));
  why_exhausted_ = error;
  shared_.engine.set_timer(retry_, shared_.engine.clock().now() + kPauseWhenExhausted);
  return true;
}

void Connector::try_again() noexcept {
  if (!try_candidate()) {
    ++current_;
    try_next();
  }
}

void Connector::on_ready(Connection& connection, std::uint32_t events) noexcept {
  if (connected_) return advance();
  if (const int error = connection.socket().pending_error(); error != 0) {
    if (error == ECONNRESET) return closed_by_peer();  // it stood for a moment
    note_refusal(error);
    return give_up_candidate(std::strerror(error));
  }
  if ((events & EPOLLOUT) != 0) connected();
}

void Connector::connected() noexcept {
  connected_ = true;
  connection_->want_writable(false);
  if (!connection_->send_handshake()) return closed_by_peer();
  if (patient_) be_patient();
  advance();
}

void Connector::advance() noexcept {
  using State = wire::Handshake::State;
  const Connection::Step step = connection_->advance_handshake();
  wire::Handshake& handshake = connection_->handshake();
  if (step == Connection::Step::kClosed) return closed_by_peer();
  if (step == Connection::Step::kWaiting) {
    // The peer is the one it should be, and alive. What it still has to say takes as long as it takes.
    if (handshake.state() == State::kVerdict) connection_->clear_deadline();
    return;
  }
  switch (handshake.state()) {
    case State::kAccepted:
      connection_->clear_deadline();
      return user_.on_connected(std::move(connection_));
    case State::kDuplicate:
      hang_up();
      return user_.on_duplicate();
    case State::kGone:
      peer_is_gone_ = true;
      [[fallthrough]];
    default:
      return give_up_candidate(handshake.failure().text());
  }
}

// A rank that is asked by very many at once, or that came back to a connection too late, closes it: worth another try.
// A proof means that it is the right rank, so then the tries do not count. No frame is lost: none flows before the
// verdict.
void Connector::closed_by_peer() noexcept {
  const bool proven = committed();
  ++closed_by_peer_;
  if (!proven && closed_by_peer_ > kRetries) {
    return give_up_candidate("connected, but closed from there: is it a rank of this job, or a proxy?");
  }
  hang_up();
  const std::int64_t delay = (10 * kMillisecond) << std::min(closed_by_peer_, 6u);
  shared_.engine.set_timer(retry_, shared_.engine.clock().now() + delay);
}

void Connector::give_up_candidate(const std::string& why) noexcept {
  note(why);
  hang_up();
  closed_by_peer_ = 0;
  ++current_;
  try_next();
}

void Connector::on_deadline(Connection& connection) noexcept {
  const bool in_time = connected_ ? connection.socket().has_news() : connection.socket().is_connected();
  if (in_time) {
    connection.set_deadline(share_);  // for what follows it
    return on_ready(connection, EPOLLOUT);
  }
  if (!connected_) return give_up_candidate(no_answer_within(share_));
  if (silent_ == kNone) {
    silent_ = current_;
    // No other address to try: stay with this connection.
    if (current_ + 1 == candidates_.size()) return be_patient();
  }
  give_up_candidate("connected, but " + no_answer_within(share_));
}

void Connector::be_patient() noexcept {
  patient_ = true;
  connection_->clear_deadline();
  if (!user_.something_to_send()) return;
  log_warn(
      "waiting for %s, whose host accepts connections at %s while the rank itself does not answer: it may be stopped, "
      "or compute without progress (LAPWING_PROGRESS=polling)",
      shared_.describe(peer_).c_str(), candidate().text().c_str());
}

void Connector::note_refusal(int error) {
  if (error == ECONNREFUSED) refused_.push_back(candidate());
}

bool Connector::refused_by(const Address& address) const noexcept {
  return std::any_of(refused_.begin(), refused_.end(),
                     [&](const Address& other) { return other.same_host_address(address); });
}

void Connector::note(const std::string& why) {
  if (!failures_.empty()) failures_ += "; ";
  failures_ += candidate().text() + ": " + why;
}

Status Connector::diagnosis() const {
  if (why_exhausted_ != 0)
    return Status::error(MPI_ERR_OTHER,
                         "%s has no socket left for a connection to %s: %s. Raise the limit of open files (ulimit -n), also "
                         "where the job is started; each peer takes one",
                         shared_.describe_self().c_str(), shared_.describe(peer_).c_str(), std::strerror(why_exhausted_));
  return Status::error(
      MPI_ERR_OTHER,
      "%s cannot reach %s by TCP (%s). Check that no firewall stands between the two hosts, choose the "
      "network with LAPWING_TCP_INTERFACE or the ports with LAPWING_TCP_PORTS, and run `lapwing doctor` on both",
      shared_.describe_self().c_str(), shared_.describe(peer_).c_str(), failures_.c_str());
}

}  // namespace lapwing::net::tcp
