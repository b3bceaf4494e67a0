#include "net/tcp/reception.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"

namespace lapwing::net::tcp {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
// A stranger that has been inside for longer may have to make room; a peer's handshake usually takes far less.
constexpr std::int64_t kGrace = 250 * kMillisecond;
constexpr std::int64_t kPause = 50 * kMillisecond;

}  // namespace

Reception::Reception(Shared& shared, ReceptionUser& user) : shared_(shared), user_(user), resume_(*this) {}

Reception::~Reception() {
  close();
}

Status Reception::open(const std::vector<Interface>& interfaces, std::vector<Address>& published) {
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
int Reception::listen_on(Address address, Socket& socket) const noexcept {
  if (shared_.options.first_port == 0) {
    address.port = 0;
    return Socket::listen(address, socket);
  }
  const unsigned count = shared_.options.last_port - shared_.options.first_port + 1u;
  int error = EADDRINUSE;
  for (unsigned i = 0; i < count && error == EADDRINUSE; ++i) {
    address.port = static_cast<std::uint16_t>(shared_.options.first_port + (shared_.options.rank + i) % count);
    error = Socket::listen(address, socket);
  }
  return error;
}

Status Reception::start() {
  for (const auto& listener : listeners_) {
    LAPWING_TRY(shared_.engine.port().add(listener->socket().fd(), EPOLLIN | EPOLLET, *listener));
  }
  started_ = true;
  return {};
}

void Reception::close() noexcept {
  shared_.engine.cancel_timer(resume_);
  for (const auto& listener : listeners_) {
    if (started_) shared_.engine.port().remove(listener->socket().fd());
  }
  listeners_.clear();
  started_ = false;
  for (auto& stranger : std::exchange(strangers_, {})) shared_.retire(std::move(stranger));
}

// ---- accepting ------------------------------------------------------------------------------------------------------

void Reception::accept_from(Listener& listener) noexcept {
  for (;;) {
    if (!make_room()) return pause();
    Socket socket;
    Address from;
    switch (const int error = listener.socket().accept(socket, from); error) {
      case 0:
        welcome(std::move(socket), from);
        break;
      case EAGAIN:
        return;
      case EMFILE:
      case ENFILE:
      case ENOBUFS:
      case ENOMEM:
        if (!std::exchange(warned_of_descriptors_, true)) {
          log_warn("cannot accept a connection: %s; raise the limit of open files (ulimit -n)", std::strerror(error));
        }
        return pause();
      default:
        break;  // that connection broke while it waited: nothing to do for it
    }
  }
}

// Everybody else waits in the kernel's queue, so a crowd of peers is served in turn, and a crowd of strangers is thrown
// out by the age of its members.
bool Reception::make_room() noexcept {
  if (strangers_.size() < kMaxStrangers) return true;
  Connection& oldest = *strangers_.front();
  if (shared_.engine.clock().now() - oldest.born() < kGrace) return false;
  drop(oldest, "it was the oldest of too many that had proven nothing");
  return true;
}

void Reception::pause() noexcept {
  full_ = strangers_.size() >= kMaxStrangers;
  shared_.engine.set_timer(resume_, shared_.engine.clock().now() + kPause);
}

void Reception::resume() noexcept {
  full_ = false;
  for (const auto& listener : listeners_) accept_from(*listener);
}

void Reception::welcome(Socket socket, const Address& from) noexcept {
  shared_.patrol.watch_over(socket, from);
  auto connection = std::make_unique<Connection>(
      shared_.engine, std::move(socket), from,
      wire::Handshake::acceptor(shared_.key, shared_.options.rank, shared_.options.size, wire::random_nonce()), *this);
  if (!connection->watch(false).ok()) return;
  connection->set_deadline(shared_.options.handshake_timeout);
  strangers_.push_back(std::move(connection));
}

// ---- strangers ------------------------------------------------------------------------------------------------------

void Reception::on_ready(Connection& connection, std::uint32_t) noexcept {
  switch (connection.advance_handshake()) {
    case Connection::Step::kWaiting:
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
  const PeerId peer = handshake.peer();
  const wire::Verdict verdict = user_.judge(peer);
  handshake.decide(verdict);
  connection.send_handshake();  // if that fails, whoever owns the connection next reads why
  std::unique_ptr<Connection> known = take(connection);
  known->clear_deadline();
  if (verdict != wire::Verdict::kAccepted) return shared_.retire(std::move(known));
  ++shared_.counters.connections_accepted;
  user_.admit(peer, std::move(known));
}

void Reception::on_deadline(Connection& connection) noexcept {
  drop(connection, "its time was up");
}

void Reception::drop(Connection& connection, const char* why) noexcept {
  ++shared_.counters.strangers_dropped;
  log_debug("dropped a connection from %s: %s", connection.remote().text().c_str(), why);
  shared_.retire(take(connection));
}

std::unique_ptr<Connection> Reception::take(Connection& connection) noexcept {
  const auto found =
      std::find_if(strangers_.begin(), strangers_.end(),
                   [&](const std::unique_ptr<Connection>& stranger) { return stranger.get() == &connection; });
  std::unique_ptr<Connection> taken = std::move(*found);
  strangers_.erase(found);
  // Somebody else may come in now: not from here, where one is on the way out.
  if (std::exchange(full_, false)) shared_.engine.set_timer(resume_, shared_.engine.clock().now());
  return taken;
}

}  // namespace lapwing::net::tcp
