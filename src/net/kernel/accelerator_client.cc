#include "net/kernel/accelerator_client.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <span>

#include "base/own_descriptors.h"
#include "net/kernel/local_message.h"

namespace lapwing::net::kernel {
namespace {

using Reply = AcceleratorClient::Reply;
using Outcome = AcceleratorClient::Outcome;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

Reply reply_of(Received received, LocalMessage& message) {
  if (received == Received::kNothingInTime) return {Outcome::kNoAnswer, "it does not answer", {}};
  if (received != Received::kMessage) return {Outcome::kNoAnswer, "it has ended the connection", {}};
  wire::AcceleratorAnswer answer;
  const Status decoded = wire::AcceleratorAnswer::decode(message.bytes, answer);
  if (!decoded.ok()) return {Outcome::kNoAnswer, decoded.text(), {}};
  if (answer.descriptors != message.descriptors.size()) return {Outcome::kNoAnswer, "it has sent other descriptors than it says", {}};
  return {answer.granted ? Outcome::kGranted : Outcome::kRefused, std::move(answer.text), std::move(message.descriptors)};
}

}  // namespace

AcceleratorClient::~AcceleratorClient() {
  close_own_descriptor(connection_);
}

void AcceleratorClient::adopt(bpf::Descriptor connection) {
  close_own_descriptor(connection_);
  connection_ = ::fcntl(connection.fd(), F_DUPFD_CLOEXEC, 0);
  own_descriptor(connection_);
}

Status AcceleratorClient::refused(const std::string& why) const {
  return Status::error(MPI_ERR_OTHER, "the service `lapwing accelerator` at %s (LAPWING_ACCELERATOR) does not stand in: %s", path_.c_str(),
                       why.c_str());
}

// ---- who it is ------------------------------------------------------------------------------------------------------

Status AcceleratorClient::connect(int patience_ms) {
  bpf::Descriptor connection;
  if (const Status connected = connect_local(path_, patience_ms, connection); !connected.ok()) return refused(connected.text());
  adopt(std::move(connection));
  return check_trust();
}

Status AcceleratorClient::check_trust() const {
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

AcceleratorClient::Reply AcceleratorClient::ask(const wire::AcceleratorRequest& request, int patience_ms, int descriptor) {
  if (connection_ < 0) return {Outcome::kNotAsked, "it has gone", {}};
  set_limit(connection_, patience_ms);
  const std::span<const int> descriptors(&descriptor, descriptor >= 0 ? 1 : 0);
  const Status sent = send_message(connection_, request.encode(), descriptors);
  // A service that has refused before it was asked has left its reason.
  Reply reply;
  hear(reply);
  hear_told(reply);
  if (!sent.ok() && reply.outcome == Outcome::kNoAnswer) reply = {Outcome::kNotAsked, sent.text(), {}};
  if (reply.outcome == Outcome::kGranted || (reply.outcome == Outcome::kRefused && sent.ok())) return reply;
  end();
  return reply;
}

void AcceleratorClient::hear_told(Reply& next) {
  for (; owed_ > 0 && next.outcome != Outcome::kNoAnswer; --owed_) {
    told_.push_back(std::move(next));
    hear(next);
  }
}

Status AcceleratorClient::tell(const wire::AcceleratorRequest& request, int descriptor) {
  if (connection_ < 0) return refused("it has gone");
  const std::span<const int> descriptors(&descriptor, descriptor >= 0 ? 1 : 0);
  if (const Status sent = send_message(connection_, request.encode(), descriptors, MSG_DONTWAIT); !sent.ok()) return refused(sent.text());
  ++owed_;
  return {};
}

bool AcceleratorClient::heard(Reply& reply) {
  if (told_.empty() && owed_ > 0) {
    Reply next{Outcome::kNoAnswer, "it has gone", {}};
    if (connection_ >= 0 && !hear(next, MSG_DONTWAIT)) return false;
    --owed_;
    if (next.outcome == Outcome::kNoAnswer) end();
    told_.push_back(std::move(next));
  }
  if (told_.empty()) return false;
  reply = std::move(told_.front());
  told_.pop_front();
  return true;
}

// False: nothing has come in time.
bool AcceleratorClient::hear(Reply& reply, int flags) {
  LocalMessage message;
  const Received received = receive_message(connection_, message, flags);
  reply = reply_of(received, message);
  return received != Received::kNothingInTime;
}

void AcceleratorClient::end() noexcept {
  close_own_descriptor(std::exchange(connection_, -1));
}

Status AcceleratorClient::fetch(const wire::AcceleratorRequest& request, int patience_ms, int descriptor, std::size_t count,
                                std::vector<bpf::Descriptor>& descriptors) {
  Reply reply = ask(request, patience_ms, descriptor);
  if (reply.outcome != Outcome::kGranted) return refused(reply.why);
  if (reply.descriptors.size() != count) return refused("it has sent too few descriptors, or too many");
  descriptors = std::move(reply.descriptors);
  return {};
}

}  // namespace lapwing::net::kernel
