#include "net/tcp/connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/tuning.h"

namespace lapwing::net::tcp {
namespace {

constexpr std::uint32_t kReadable = EPOLLIN | EPOLLRDHUP | EPOLLET;

wire::RecordGuard guard_of(const wire::Handshake& handshake, bool peers) {
  if (handshake.protection() != Protection::kSealed) return {};
  const wire::SessionKeys& keys = handshake.session_keys();
  return {keys.cipher, peers ? keys.peers : keys.own};
}

std::unique_ptr<Records> records_of(const wire::Handshake& handshake) {
  if (handshake.protection() == Protection::kPlain) return nullptr;
  const std::uint64_t at_once = handshake.protection() == Protection::kSealed ? tuning().tcp_sealed_at_once : tuning().tcp_checked_at_once;
  return std::unique_ptr<Records>(
      new Records{RecordWriter(guard_of(handshake, false), tuning().tcp_record, at_once), RecordReader(guard_of(handshake, true))});
}

}  // namespace

Connection::Deadline::Deadline(Connection& owner) noexcept
    : Timer([](Timer& timer) noexcept {
        Connection& connection = static_cast<Deadline&>(timer).connection;
        connection.user_->on_deadline(connection);
      }),
      connection(owner) {}

Connection::Connection(engine::Engine& engine, Socket socket, const Address& remote, wire::Handshake handshake,
                       ConnectionUser& user)
    : engine_(engine),
      socket_(std::move(socket)),
      remote_(remote),
      handshake_(std::make_unique<wire::Handshake>(std::move(handshake))),
      user_(&user),
      deadline_(*this) {}

Status Connection::watch(bool writable) {
  LAPWING_TRY(engine_.port().add(fd(), kReadable | (writable ? std::uint32_t{EPOLLOUT} : 0u), *this));
  watched_ = true;
  wants_writable_ = writable;
  return {};
}

std::uint32_t Connection::events() const noexcept {
  return (kReadable & ~(announced_ == Announced::kNotInput ? std::uint32_t{EPOLLIN} : 0u)) | (wants_writable_ ? std::uint32_t{EPOLLOUT} : 0u);
}

void Connection::want_writable(bool wanted) noexcept {
  if (wanted == wants_writable_) return;
  wants_writable_ = wanted;
  announce_again();
}

void Connection::announce_again() noexcept {
  if (!outside_port()) engine_.port().change(fd(), events());
}

void Connection::leave_port() noexcept {
  if (outside_port()) return;
  engine_.port().leave(fd());
  announced_ = Announced::kNothing;
}

bool Connection::come_back(Announced announced) noexcept {
  if (announced_ == announced) return true;
  const bool was_outside = outside_port();
  announced_ = announced;
  if (!was_outside)
    engine_.port().change(fd(), events());
  else if (!engine_.port().come_back(fd(), events()))
    announced_ = Announced::kNothing;
  return !outside_port();
}

void Connection::hand_over(ConnectionUser& user) noexcept {
  user_ = &user;
  records_ = records_of(*handshake_);
  sealed_ = handshake_->protection() == Protection::kSealed;
  handshake_.reset();
}

const char* Connection::protection() const noexcept {
  return records_ ? records_->writer.protection() : name_of(Protection::kPlain);
}

void Connection::close() noexcept {
  clear_deadline();
  if (watched_) engine_.port().remove(fd());
  watched_ = false;
  socket_.close();
}

void Connection::set_deadline(std::int64_t nanoseconds_from_now) noexcept {
  engine_.set_timer(deadline_, engine_.clock().now() + nanoseconds_from_now);
}

bool Connection::send_handshake() noexcept {
  return handshake_->output_bytes() == 0 || socket_.send_small(handshake_->output(), handshake_->output_bytes());
}

Connection::Step Connection::advance_handshake() {
  while (handshake_->wanted() > 0) {
    std::byte bytes[wire::Handshake::kMaxMessageBytes];
    const ssize_t count = ::recv(fd(), bytes, handshake_->wanted(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Step::kWaiting;
    if (count <= 0) return Step::kClosed;
    handshake_->receive(bytes, static_cast<std::size_t>(count));
    if (!send_handshake()) return Step::kClosed;
  }
  return Step::kDone;
}

}  // namespace lapwing::net::tcp
