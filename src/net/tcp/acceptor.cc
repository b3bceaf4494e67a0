#include "net/tcp/acceptor.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "net/tcp/liveness.h"

namespace lapwing::net::tcp {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kPause = 50 * kMillisecond;
// Connections that are accepted before other work has its turn, and failures to accept in a row before a pause. A failure may
// concern one connection, which broke while it waited, or every one from now on: nothing says which.
constexpr int kMostAtOnce = 128;
constexpr int kMostFailures = 8;

}  // namespace

Acceptor::Acceptor(SharedState& shared, AcceptorUser& user) : shared_(shared), user_(user), resume_(*this) {}

Acceptor::~Acceptor() {
  close();
}

Status Acceptor::open(const std::vector<Interface>& interfaces, std::vector<Address>& published) {
  std::string failures;
  for (const Interface& interface : interfaces) {
    Socket socket;
    if (const int error = listen_on(interface.address, socket); error != 0) {
      failures += (failures.empty() ? "" : "; ") + interface.address.text_without_port() + " (" + interface.name +
                  "): " + std::strerror(error);
      continue;
    }
    Address address = interface.address;
    address.port = socket.local_address().port;
    published.push_back(address);
    listeners_.push_back(std::make_unique<Listener>(*this, std::move(socket)));
  }
  if (!listeners_.empty()) {
    if (!failures.empty()) log_info("not listening on %s", failures.c_str());
    return {};
  }
  return Status::error(MPI_ERR_OTHER,
                       "%s can listen on no address for TCP (%s); see LAPWING_TCP_INTERFACE and LAPWING_TCP_PORTS",
                       shared_.describe_self().c_str(), failures.empty() ? "this host has none" : failures.c_str());
}

// Ranks of one host begin to look for a free port at different places of the range.
int Acceptor::listen_on(Address address, Socket& socket) const noexcept {
  if (shared_.options.first_port == 0) {
    address.port = 0;
    return Socket::listen(address, shared_.congestion_control, socket);
  }
  const unsigned count = shared_.options.last_port - shared_.options.first_port + 1u;
  int error = EADDRINUSE;
  for (unsigned i = 0; i < count && error == EADDRINUSE; ++i) {
    address.port = static_cast<std::uint16_t>(shared_.options.first_port + (shared_.own_name().rank + i) % count);
    error = Socket::listen(address, shared_.congestion_control, socket);
  }
  return error;
}

Status Acceptor::start() {
  for (const auto& listener : listeners_) {
    LAPWING_TRY(shared_.engine.port().add(listener->socket().fd(), EPOLLIN | EPOLLET, *listener));
  }
  started_ = true;
  return {};
}

void Acceptor::close() noexcept {
  shared_.engine.cancel_timer(resume_);
  for (const auto& listener : listeners_) {
    if (started_) shared_.engine.port().remove(listener->socket().fd());
  }
  listeners_.clear();
  started_ = false;
  for (auto& stranger : std::exchange(strangers_, {})) {
    admission_.leave(stranger.get());
    shared_.retire(std::move(stranger));
  }
}

// ---- accepting ------------------------------------------------------------------------------------------------------

void Acceptor::accept_from(Listener& listener) noexcept {
  int failures = 0;
  for (int accepted = 0; accepted < kMostAtOnce; ++accepted) {
    if (!may_accept()) return;
    Socket socket;
    Address from;
    const int error = listener.socket().accept(socket, from);
    // Without a descriptor the kernel says so even where no connection waits.
    if (error == EAGAIN || (error != 0 && !listener.socket().has_news())) return;
    if (error == 0) {
      failures = 0;
      socket.use_congestion_control(from, shared_.congestion_control);
      welcome(std::move(socket), from);
    } else if (cannot_accept(error) || ++failures == kMostFailures) {
      return pause_until(shared_.engine.clock().now() + kPause);
    }
  }
  pause_until(shared_.engine.clock().now());
}

// The others wait in the kernel's queue.
bool Acceptor::may_accept() noexcept {
  Admission::Guest instead = nullptr;
  std::int64_t again = 0;
  if (!admission_.may_accept(shared_.engine.clock().now(), instead, again)) {
    pause_until(again);
    full_ = true;
    return false;
  }
  drop(instead, "it had to make room, and has proven nothing");
  return true;
}

// True when the process has not what another connection takes. A stranger gives back what it has.
bool Acceptor::cannot_accept(int error) noexcept {
  if (error != EMFILE && error != ENFILE && error != ENOBUFS && error != ENOMEM) return false;
  if (!std::exchange(warned_of_descriptors_, true))
    log_warn("cannot accept a connection: %s; raise the limit of open files (ulimit -n)", std::strerror(error));
  drop(admission_.least_wanted(shared_.engine.clock().now()), "there are too many open files");
  return true;
}

void Acceptor::pause_until(std::int64_t when) noexcept {
  shared_.engine.set_timer(resume_, when);
}

void Acceptor::resume() noexcept {
  full_ = false;
  for (const auto& listener : listeners_) accept_from(*listener);
}

void Acceptor::welcome(Socket socket, const Address& from) noexcept {
  auto connection = std::make_unique<Connection>(
      shared_.engine, std::move(socket), from,
      wire::Handshake::acceptor(shared_.key, shared_.own_name(), shared_.options.size, wire::random_nonce(),
                                shared_.terms(shared_.wants_to_resume(false)), wire::Secret::random()),
      *this);
  shared_.engine.end_rest();
  if (!connection->watch(false).ok()) return;
  connection->set_deadline(shared_.options.handshake_timeout);
  const Admission::Guest instead = admission_.enter(connection.get(), from, shared_.engine.clock().now());
  strangers_.push_back(std::move(connection));
  drop(instead, "it was the oldest of too many that had proven nothing");
}

// ---- strangers ------------------------------------------------------------------------------------------------------

void Acceptor::on_ready(Connection& connection, std::uint32_t) noexcept {
  switch (connection.advance_handshake()) {
    case Connection::Step::kWaiting:
      if (connection.handshake().state() == wire::Handshake::State::kResponse) {
        admission_.greeted(&connection);
        shared_.liveness_monitor.watch_over(connection.socket(), connection.remote());
        shared_.liveness_monitor.something_sent();
      }
      return;
    case Connection::Step::kClosed:
      return drop(connection, "it closed the connection");
    case Connection::Step::kDone:
      break;
  }
  wire::Handshake& handshake = connection.handshake();
  if (handshake.state() != wire::Handshake::State::kProven) {
    if (handshake.version_differs() && !std::exchange(warned_of_version_, true)) {
      log_warn("refused a connection from %s: %s", connection.remote().text().c_str(), handshake.failure().text());
    }
    return drop(connection, handshake.failure().text());
  }
  PeerId peer;
  if (!shared_.options.processes->find(handshake.peer(), peer)) return drop(connection, "its process is not known");
  const wire::Verdict verdict = user_.judge(peer, handshake.peer_terms());
  const wire::GivingUp how = verdict == wire::Verdict::kGivenUp ? user_.giving_up(peer) : wire::GivingUp();
  handshake.decide(verdict, user_.position(peer, handshake.peer_terms()), how);
  connection.send_handshake();  // if that fails, the owner of the connection reads why
  std::unique_ptr<Connection> known = take(connection);
  known->clear_deadline();
  if (verdict != wire::Verdict::kAccepted) return shared_.retire(std::move(known));
  if (!handshake.has(wire::kFeatureResume)) shared_.liveness_monitor.watch_over(known->socket(), known->remote());  // else the link does
  ++shared_.counters.connections_accepted;
  user_.admit(peer, std::move(known));
}

void Acceptor::on_deadline(Connection& connection) noexcept {
  using State = wire::Handshake::State;
  on_ready(connection, 0);  // what came while this process did not look is in time
  if (!is_inside(connection) || connection.handshake().state() == State::kResponse) return;
  drop(connection, "its time was up");
}

bool Acceptor::inspect() noexcept {
  bool under_way = false;
  std::vector<Connection*> deaf;
  for (const auto& stranger : strangers_) {
    const Socket::Acknowledgement heard = stranger->socket().acknowledgement();
    under_way |= heard.bytes_missing > 0;
    if (heard.resends >= kHandshakeResendsInVain) deaf.push_back(stranger.get());
  }
  for (Connection* connection : deaf) {
    connection->socket().reset_on_close();
    drop(*connection, "nothing that is sent there arrives");
  }
  return under_way;
}

bool Acceptor::is_inside(const Connection& connection) const noexcept {
  return std::any_of(strangers_.begin(), strangers_.end(),
                     [&](const std::unique_ptr<Connection>& stranger) { return stranger.get() == &connection; });
}

void Acceptor::drop(Admission::Guest guest, const char* why) noexcept {
  const auto found = std::find_if(strangers_.begin(), strangers_.end(),
                                  [guest](const std::unique_ptr<Connection>& stranger) { return stranger.get() == guest; });
  if (found != strangers_.end()) drop(**found, why);
}

void Acceptor::drop(Connection& connection, const char* why) noexcept {
  ++shared_.counters.strangers_dropped;
  log_debug("dropped a connection from %s: %s", connection.remote().text().c_str(), why);
  shared_.retire(take(connection));
}

std::unique_ptr<Connection> Acceptor::take(Connection& connection) noexcept {
  const auto found =
      std::find_if(strangers_.begin(), strangers_.end(),
                   [&](const std::unique_ptr<Connection>& stranger) { return stranger.get() == &connection; });
  std::unique_ptr<Connection> taken = std::move(*found);
  strangers_.erase(found);
  admission_.leave(taken.get());
  // Another connection may come in now: not from here, where one is on the way out.
  if (std::exchange(full_, false)) shared_.engine.set_timer(resume_, shared_.engine.clock().now());
  return taken;
}

}  // namespace lapwing::net::tcp
