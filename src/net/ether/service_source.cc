#include "net/ether/service_source.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>

#include "base/own_descriptors.h"
#include "net/ether/steering.h"
#include "net/ether/xdp_socket.h"
#include "net/kernel/local_message.h"

namespace lapwing::net::ether {
namespace {

using kernel::LocalMessage;
using wire::AcceleratorAnswer;
using wire::AcceleratorRequest;
using Kind = AcceleratorRequest::Kind;

// To load the program takes the kernel a moment, and the ranks of a host come together.
constexpr int kPatienceMs = 20'000;

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

std::uint64_t network_namespace() noexcept {
  std::uint64_t cookie = 0;
  socklen_t length = sizeof cookie;
  const bpf::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return ::getsockopt(socket.fd(), SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &length) == 0 ? cookie : 0;
}

AcceleratorRequest request_of(Kind kind) {
  AcceleratorRequest request;
  request.kind = kind;
  request.purpose = AcceleratorRequest::kEther;
  return request;
}

// That never gets smaller, which the service insists on.
Status make_memory_file(bpf::Descriptor& file) {
  file = bpf::Descriptor(::memfd_create("lapwing-ether", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.open() && ::ftruncate(file.fd(), kMemoryBytes) == 0 && ::fcntl(file.fd(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0) return {};
  return Status::error(MPI_ERR_OTHER, "no memory that could be handed to the service: %s", std::strerror(errno));
}

}  // namespace

ServiceSource::~ServiceSource() {
  close_own_descriptor(connection_);
}

Status ServiceSource::refused(const std::string& why) const {
  return Status::error(MPI_ERR_OTHER, "the service `lapwing accelerator` at %s (LAPWING_ACCELERATOR) does not stand in: %s", path_.c_str(),
                       why.c_str());
}

Status ServiceSource::connect() {
  bpf::Descriptor connection;
  if (const Status connected = kernel::connect_local(path_, kPatienceMs, connection); !connected.ok()) return refused(connected.text());
  connection_ = ::fcntl(connection.fd(), F_DUPFD_CLOEXEC, 0);
  own_descriptor(connection_);
  return check_trust();
}

// Root, this user, or the one whom the folder of the socket belongs to alone.
Status ServiceSource::check_trust() const {
  ucred peer{};
  socklen_t length = sizeof peer;
  struct stat folder {};
  const std::string name = path_.substr(0, path_.rfind('/') + 1);
  if (::getsockopt(connection_, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || ::stat(name.empty() ? "." : name.c_str(), &folder) != 0)
    return refused("it is not known who runs it");
  if (peer.uid == 0 || peer.uid == ::geteuid()) return {};
  if (peer.uid == folder.st_uid && (folder.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return refused("user " + std::to_string(peer.uid) + " runs it, whom the folder of its socket does not belong to alone");
}

// A service that has refused before it was asked has left its reason.
Status ServiceSource::ask(const AcceleratorRequest& request, int descriptor, AcceleratorAnswer& answer, std::vector<bpf::Descriptor>& descriptors) {
  LocalMessage message;
  const Status sent = kernel::send_message(connection_, request.encode(), std::span(&descriptor, descriptor >= 0 ? 1 : 0));
  if (kernel::receive_message(connection_, message) != kernel::Received::kMessage) return refused(sent.ok() ? "it does not answer" : sent.text());
  if (const Status decoded = AcceleratorAnswer::decode(message.bytes, answer); !decoded.ok()) return refused(decoded.text());
  if (answer.descriptors != message.descriptors.size()) return refused("it has sent other descriptors than it says");
  descriptors = std::move(message.descriptors);
  return {};
}

Status ServiceSource::fetch(const AcceleratorRequest& request, int descriptor, bpf::Descriptor* given) {
  AcceleratorAnswer answer;
  std::vector<bpf::Descriptor> descriptors;
  LAPWING_TRY(ask(request, descriptor, answer, descriptors));
  if (!answer.granted) return refused(answer.text);
  if (descriptors.size() != (given != nullptr ? 1 : 0)) return refused("it has sent too few descriptors, or too many");
  if (given != nullptr) *given = std::move(descriptors[0]);
  return {};
}

Status ServiceSource::make(std::byte*& memory, int& fd) {
  LAPWING_TRY(connect());
  AcceleratorRequest hello = request_of(Kind::kHello);
  hello.connections = 1;
  hello.fingerprint = Steering::fingerprint();
  hello.zone_bytes = kMemoryBytes;
  LAPWING_TRY(fetch(hello, -1, nullptr));
  bpf::Descriptor file, socket;
  LAPWING_TRY(make_memory_file(file));
  void* mapped = mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.fd(), 0);
  if (mapped == MAP_FAILED) return Status::error(MPI_ERR_OTHER, "cannot map the memory of an AF_XDP socket: %s", std::strerror(errno));
  madvise(mapped, kMemoryBytes, MADV_DONTFORK);
  if (Status made = fetch(request_of(Kind::kMemory), file.fd(), &socket); !made.ok()) {
    munmap(mapped, kMemoryBytes);
    return made;
  }
  memory = static_cast<std::byte*>(mapped);
  fd = ::fcntl(socket.fd(), F_DUPFD_CLOEXEC, 0);
  return {};
}

Status ServiceSource::bind(int, std::uint32_t queue, bool& taken) {
  AcceleratorRequest bind = request_of(Kind::kBind);
  bind.interface = interface_.index;
  bind.index = queue;
  bind.ether_type = endpoint_.ether_type;
  bind.tag = endpoint_.tag;
  bind.network = network_namespace();
  AcceleratorAnswer answer;
  std::vector<bpf::Descriptor> descriptors;
  LAPWING_TRY(ask(bind, -1, answer, descriptors));
  taken = !answer.granted && answer.text == AcceleratorAnswer::kQueueTaken;
  if (!answer.granted) return refused(answer.text);
  if (descriptors.size() != 1) return refused("it has sent too few descriptors, or too many");
  link_ = std::move(descriptors[0]);
  return {};
}

void ServiceSource::leave(std::uint32_t queue) noexcept {
  AcceleratorRequest leave = request_of(Kind::kLeave);
  leave.index = queue;
  [[maybe_unused]] const Status as_well_as_it_goes = fetch(leave, -1, nullptr);
}

}  // namespace lapwing::net::ether
