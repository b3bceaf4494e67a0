#include "net/kernel/service_loader.h"

#include <utility>

#include "net/kernel/area.h"
#include "net/kernel/own_loader.h"

namespace lapwing::net::kernel {
namespace {

using wire::AcceleratorRequest;
using Outcome = AcceleratorClient::Outcome;

// The kernel's proof takes a fraction of a second, and the ranks of a host come together.
constexpr int kPatienceMs = 5'000, kPatienceWithProofMs = 60'000;

}  // namespace

Status ServiceLoader::prepare(std::uint32_t connections, std::uint32_t zone_blocks) {
  if (!service_.connected()) LAPWING_TRY(service_.connect(kPatienceMs));
  AcceleratorRequest hello;
  hello.connections = connections;
  hello.fingerprint = OwnLoader::fingerprint();
  hello.zone_bytes = std::uint64_t{zone_blocks} * kZoneBlock;
  std::vector<Descriptor> descriptors;
  LAPWING_TRY(service_.fetch(hello, kPatienceMs, -1, 1, descriptors));
  zone_ = std::move(descriptors[0]);
  joined_.assign(connections, false);
  return {};
}

Status ServiceLoader::load() {
  AcceleratorRequest load;
  load.kind = AcceleratorRequest::Kind::kLoad;
  std::vector<Descriptor> descriptors;
  LAPWING_TRY(service_.fetch(load, kPatienceWithProofMs, -1, 2, descriptors));
  areas_ = std::move(descriptors[0]);
  keeper_ = std::move(descriptors[1]);
  return {};
}

Joining ServiceLoader::join(std::uint32_t index, int socket) {
  AcceleratorRequest join;
  join.kind = AcceleratorRequest::Kind::kJoin;
  join.index = index;
  const AcceleratorClient::Reply reply = service_.ask(join, kPatienceMs, socket);
  joined_[index] = reply.outcome == Outcome::kGranted || reply.outcome == Outcome::kNoAnswer;
  if (reply.outcome == Outcome::kGranted) return {};
  return {service_.refused(reply.why), reply.outcome != Outcome::kNoAnswer};
}

// A service that has gone lets no other socket have the area, so nothing comes of one that is still noted.
void ServiceLoader::forget(std::uint32_t index) noexcept {
  if (!joined_[index]) return;
  joined_[index] = false;
  AcceleratorRequest leave;
  leave.kind = AcceleratorRequest::Kind::kLeave;
  leave.index = index;
  service_.ask(leave, kPatienceMs);
}

}  // namespace lapwing::net::kernel
