#include "accelerator/session.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <utility>

#include "accelerator/socket_check.h"
#include "base/log.h"
#include "net/kernel/area.h"
#include "net/kernel/zone.h"

namespace lapwing::launch {
namespace {

using net::bpf::Descriptor;
using net::kernel::LocalMessage;
using net::kernel::OwnLoader;
using net::kernel::Received;
using wire::AcceleratorAnswer;
using wire::AcceleratorRequest;
using Kind = AcceleratorRequest::Kind;

constexpr int kPatienceMs = 10'000;


// A rank may ask for nothing for as long as it likes, once it has what it came for.
void wait_without_limit(int socket) noexcept {
  const timeval none{};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
}

}  // namespace

Session::State Session::state_for(Kind kind) noexcept {
  switch (kind) {
    case Kind::kHello:
      return State::kNew;
    case Kind::kLoad:
      return State::kPrepared;
    case Kind::kMemory:
      return State::kGreeted;
    case Kind::kBind:
      return State::kHasSocket;
    case Kind::kJoin:
    case Kind::kLeave:
    case Kind::kWay:
    case Kind::kForget:
      return State::kLoaded;
  }
  return State::kNew;
}

Session::Session(Descriptor connection, uid_t user, Accounts& accounts, Ledger::Id id, EtherPrograms& programs) noexcept
    : connection_(std::move(connection)), user_(user), accounts_(accounts), id_(id), ether_(programs, user) {}

Session::~Session() {
  const int memory[] = {loader_.areas().fd(), loader_.zone().fd(), loader_.notices().fd(), keeper_.fd(), ether_.socket().fd()};
  accounts_.leave(id_, memory);
}

void Session::run() {
  net::kernel::set_limit(connection_.fd(), kPatienceMs);
  LocalMessage message;
  for (;;) {
    const Received received = net::kernel::receive_message(connection_.fd(), message);
    if (received == Received::kBroken) return refuse(Status::error(MPI_ERR_OTHER, "a message is longer than any, or its descriptors are too many"));
    if (received != Received::kMessage || !serve(message)) return;
    message.descriptors.clear();
  }
}

// False: the connection ends.
bool Session::serve(const LocalMessage& message) {
  answered_ = false;
  AcceleratorRequest request;
  Status broken = AcceleratorRequest::decode(message.bytes, request);
  if (broken.ok() && message.descriptors.size() != request.descriptors())
    broken = Status::error(MPI_ERR_OTHER, "a request came with %zu descriptors instead of %zu", message.descriptors.size(), request.descriptors());
  if (broken.ok()) broken = check_order(request);
  if (!broken.ok()) return refuse(broken), false;
  const Status granted = grant(request, message);
  if (granted.ok()) return true;
  if (answered_) return false;  // it could not be sent
  refuse(granted);
  return goes_on();
}

Status Session::check_order(const AcceleratorRequest& request) const {
  const bool ether = state_ == State::kBound && request.kind == Kind::kLeave;
  if (state_ != state_for(request.kind) && !ether) return Status::error(MPI_ERR_OTHER, "a request came out of order");
  if (state_ == State::kLoaded && request.index >= loader_.connections())
    return Status::error(MPI_ERR_OTHER, "there is no connection %u of %u", request.index, loader_.connections());
  return {};
}

Status Session::grant(const AcceleratorRequest& request, const LocalMessage& message) {
  switch (request.kind) {
    case Kind::kHello:
      return prepare(request);
    case Kind::kLoad:
      return load();
    case Kind::kJoin:
      return join(request.index, message.descriptors[0].fd());
    case Kind::kLeave:
      return leave(request.index);
    case Kind::kWay:
      return answer_by(request.index, message.descriptors[0].fd());
    case Kind::kForget:
      return forget(request.index);
    case Kind::kMemory:
      return take_memory(message.descriptors[0].fd());
    case Kind::kBind:
      return bind(request);
  }
  return {};
}

Status Session::prepare(const AcceleratorRequest& hello) {
  if (hello.purpose == AcceleratorRequest::kEther) return greet(hello);
  if (hello.purpose != AcceleratorRequest::kReceive)
    return Status::error(MPI_ERR_OTHER, "it knows no purpose %u: it is of an older release", hello.purpose);
  if (hello.fingerprint != OwnLoader::fingerprint())
    return Status::error(MPI_ERR_OTHER, "it is of another build than the rank's library: start the service of the same installation");
  const std::uint32_t blocks = net::kernel::Zone::blocks(hello.zone_bytes);
  if (hello.connections == 0) return Status::error(MPI_ERR_OTHER, "no connection was asked for");
  const std::uint64_t memory = OwnLoader::memory(hello.connections, blocks);
  LAPWING_TRY(accounts_.reserve(id_, memory, hello.connections));
  LAPWING_TRY(loader_.prepare(hello.connections, blocks));
  state_ = State::kPrepared;
  log_info("accelerator: a rank of user %u: %u connections, %llu MiB", static_cast<unsigned>(user_), hello.connections,
           static_cast<unsigned long long>(memory >> 20));
  const int descriptors[] = {loader_.zone().fd()};
  return answer(descriptors);
}

Status Session::load() {
  LAPWING_TRY(loader_.load());
  LAPWING_TRY(loader_.make_keeper(keeper_));
  state_ = State::kLoaded;
  wait_without_limit(connection_.fd());
  const int descriptors[] = {loader_.areas().fd(), keeper_.fd(), loader_.notices().fd()};
  return answer(descriptors);
}

Status Session::join(std::uint32_t index, int socket) {
  LAPWING_TRY(check_socket(socket, user_));
  LAPWING_TRY(loader_.join(index, socket).status);
  return answer();
}

// By this socket bytes leave that the rank could as well write to it.
Status Session::answer_by(std::uint32_t index, int socket) {
  LAPWING_TRY(check_socket(socket, user_));
  net::kernel::Permission permission = loader_.answer_by(index, socket);
  LAPWING_TRY(std::move(permission.why));
  return answer();
}

Status Session::leave(std::uint32_t index) {
  if (state_ == State::kBound)
    LAPWING_TRY(ether_.leave(index));
  else
    loader_.leave(index);
  return answer();
}

Status Session::forget(std::uint32_t index) {
  loader_.forget(index);
  return answer();
}

// ---- raw Ethernet -----------------------------------------------------------------------------------------------------

Status Session::greet(const AcceleratorRequest& hello) {
  LAPWING_TRY(ether_.check(hello));
  LAPWING_TRY(accounts_.reserve(id_, EtherEndpoint::memory(), 0));
  state_ = State::kGreeted;
  return answer();
}

Status Session::take_memory(int file) {
  LAPWING_TRY(ether_.take_memory(file));
  state_ = State::kHasSocket;
  const int descriptors[] = {ether_.socket().fd()};
  return answer(descriptors);
}

Status Session::bind(const AcceleratorRequest& bind) {
  bool taken = false;
  Status bound = ether_.bind(bind, taken);
  if (taken) return Status::error(MPI_ERR_OTHER, "%s", AcceleratorAnswer::kQueueTaken);
  LAPWING_TRY(std::move(bound));
  state_ = State::kBound;
  wait_without_limit(connection_.fd());
  log_info("accelerator: a rank of user %u: receive queue %u", static_cast<unsigned>(user_), bind.index);
  const int descriptors[] = {ether_.link().fd()};
  return answer(descriptors);
}

// ---- answers ----------------------------------------------------------------------------------------------------------

Status Session::answer(std::span<const int> descriptors) {
  answered_ = true;
  const AcceleratorAnswer granted{true, static_cast<std::uint16_t>(descriptors.size()), ""};
  return net::kernel::send_message(connection_.fd(), granted.encode(), descriptors);
}

void Session::refuse(const Status& why) {
  log_info("accelerator: a rank of user %u is refused: %s", static_cast<unsigned>(user_), why.text());
  turn_away(connection_.fd(), why);
}

void turn_away(int connection, const Status& why) {
  [[maybe_unused]] const Status sent = net::kernel::send_message(connection, AcceleratorAnswer{false, 0, why.text()}.encode());
}

}  // namespace lapwing::launch
