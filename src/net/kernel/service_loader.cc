#include "net/kernel/service_loader.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <span>
#include <utility>

#include "base/own_descriptors.h"
#include "net/kernel/area.h"
#include "net/kernel/local_message.h"
#include "net/kernel/own_loader.h"

namespace lapwing::net::kernel {
namespace {

using wire::AcceleratorAnswer;
using wire::AcceleratorRequest;

// The kernel's proof takes a fraction of a second, and the ranks of a host come together.
constexpr int kPatienceMs = 5'000, kPatienceWithProofMs = 60'000;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace

ServiceLoader::~ServiceLoader() {
  close_own_descriptor(connection_);
}

void ServiceLoader::adopt(Descriptor connection) {
  close_own_descriptor(connection_);
  connection_ = ::fcntl(connection.fd(), F_DUPFD_CLOEXEC, 0);
  own_descriptor(connection_);
}

Status ServiceLoader::refused(const std::string& why) const {
  return Status::error(MPI_ERR_OTHER, "the service `lapwing accelerator` at %s (LAPWING_ACCELERATOR) does not stand in: %s", path_.c_str(),
                       why.c_str());
}

// ---- who it is ------------------------------------------------------------------------------------------------------

Status ServiceLoader::connect() {
  Descriptor connection;
  if (const Status connected = connect_local(path_, kPatienceMs, connection); !connected.ok()) return refused(connected.text());
  adopt(std::move(connection));
  return check_trust();
}

Status ServiceLoader::check_trust() const {
  ucred peer{};
  socklen_t length = sizeof peer;
  struct stat folder {};
  if (::getsockopt(connection_, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || ::stat(folder_of(path_).c_str(), &folder) != 0)
    return refused("it is not known who runs it");
  if (peer.uid == 0 || peer.uid == ::geteuid()) return {};
  if (peer.uid == folder.st_uid && (folder.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return refused("user " + std::to_string(peer.uid) + " runs it, whom the folder of its socket does not belong to alone");
}

// ---- requests -------------------------------------------------------------------------------------------------------

ServiceLoader::Reply ServiceLoader::ask(const AcceleratorRequest& request, int patience_ms, int socket) {
  if (connection_ < 0) return {Outcome::kNotAsked, "it has gone", {}};
  set_limit(connection_, patience_ms);
  const std::span<const int> descriptors(&socket, socket >= 0 ? 1 : 0);
  const Status sent = send_message(connection_, request.encode(), descriptors);
  // A service that has refused before it was asked has left its reason.
  Reply reply = hear();
  if (!sent.ok() && reply.outcome == Outcome::kNoAnswer) reply = {Outcome::kNotAsked, sent.text(), {}};
  if (reply.outcome == Outcome::kGranted || (reply.outcome == Outcome::kRefused && sent.ok())) return reply;
  close_own_descriptor(std::exchange(connection_, -1));
  return reply;
}

ServiceLoader::Reply ServiceLoader::hear() {
  LocalMessage message;
  const Received received = receive_message(connection_, message);
  if (received == Received::kNothingInTime) return {Outcome::kNoAnswer, "it does not answer", {}};
  if (received != Received::kMessage) return {Outcome::kNoAnswer, "it has ended the connection", {}};
  AcceleratorAnswer answer;
  const Status decoded = AcceleratorAnswer::decode(message.bytes, answer);
  if (!decoded.ok()) return {Outcome::kNoAnswer, decoded.text(), {}};
  if (answer.descriptors != message.descriptors.size()) return {Outcome::kNoAnswer, "it has sent other descriptors than it says", {}};
  return {answer.granted ? Outcome::kGranted : Outcome::kRefused, std::move(answer.text), std::move(message.descriptors)};
}

Status ServiceLoader::fetch(const AcceleratorRequest& request, int patience_ms, std::size_t count, std::vector<Descriptor>& descriptors) {
  Reply reply = ask(request, patience_ms);
  if (reply.outcome != Outcome::kGranted) return refused(reply.why);
  if (reply.descriptors.size() != count) return refused("it has sent too few descriptors, or too many");
  descriptors = std::move(reply.descriptors);
  return {};
}

// ---- as a loader ----------------------------------------------------------------------------------------------------

Status ServiceLoader::prepare(std::uint32_t connections, std::uint32_t zone_blocks) {
  if (connection_ < 0) LAPWING_TRY(connect());
  AcceleratorRequest hello;
  hello.connections = connections;
  hello.fingerprint = OwnLoader::fingerprint();
  hello.zone_bytes = std::uint64_t{zone_blocks} * kZoneBlock;
  std::vector<Descriptor> descriptors;
  LAPWING_TRY(fetch(hello, kPatienceMs, 1, descriptors));
  zone_ = std::move(descriptors[0]);
  joined_.assign(connections, false);
  return {};
}

Status ServiceLoader::load() {
  AcceleratorRequest load;
  load.kind = AcceleratorRequest::Kind::kLoad;
  std::vector<Descriptor> descriptors;
  LAPWING_TRY(fetch(load, kPatienceWithProofMs, 2, descriptors));
  areas_ = std::move(descriptors[0]);
  keeper_ = std::move(descriptors[1]);
  return {};
}

Joining ServiceLoader::join(std::uint32_t index, int socket) {
  AcceleratorRequest join;
  join.kind = AcceleratorRequest::Kind::kJoin;
  join.index = index;
  const Reply reply = ask(join, kPatienceMs, socket);
  joined_[index] = reply.outcome == Outcome::kGranted || reply.outcome == Outcome::kNoAnswer;
  if (reply.outcome == Outcome::kGranted) return {};
  return {refused(reply.why), reply.outcome != Outcome::kNoAnswer};
}

// A service that has gone lets no other socket have the area, so nothing comes of one that is still noted.
void ServiceLoader::forget(std::uint32_t index) noexcept {
  if (!joined_[index]) return;
  joined_[index] = false;
  AcceleratorRequest leave;
  leave.kind = AcceleratorRequest::Kind::kLeave;
  leave.index = index;
  ask(leave, kPatienceMs);
}

}  // namespace lapwing::net::kernel
