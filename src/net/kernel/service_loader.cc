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
  permissions_ = std::vector<Permission>(connections);
  return {};
}

Status ServiceLoader::load() {
  AcceleratorRequest load;
  load.kind = AcceleratorRequest::Kind::kLoad;
  std::vector<Descriptor> descriptors;
  LAPWING_TRY(service_.fetch(load, kPatienceWithProofMs, -1, 3, descriptors));
  areas_ = std::move(descriptors[0]);
  keeper_ = std::move(descriptors[1]);
  notices_ = std::move(descriptors[2]);
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

void ServiceLoader::leave(std::uint32_t index) noexcept {
  if (joined_[index]) ask_to_leave(index, AcceleratorRequest::Kind::kLeave);
}

// What the service says of a socket that it was told of before is heard first, so nothing that follows is taken for that.
void ServiceLoader::forget(std::uint32_t index) noexcept {
  if (joined_[index] || permissions_[index].state != Permission::State::kNone) ask_to_leave(index, AcceleratorRequest::Kind::kForget);
  hear();
  permissions_[index] = {};
}

// A service that has gone lets no other socket have the area, so nothing comes of one that is still noted.
void ServiceLoader::ask_to_leave(std::uint32_t index, AcceleratorRequest::Kind kind) noexcept {
  joined_[index] = false;
  AcceleratorRequest leave;
  leave.kind = kind;
  leave.index = index;
  service_.ask(leave, kPatienceMs);
}

// ---- answers --------------------------------------------------------------------------------------------------------

Permission ServiceLoader::answer_by(std::uint32_t index, int socket) {
  AcceleratorRequest way;
  way.kind = AcceleratorRequest::Kind::kWay;
  way.index = index;
  if (Status told = service_.tell(way, socket); !told.ok()) return {Permission::State::kRefused, std::move(told)};
  told_.push_back(index);
  permissions_[index] = {Permission::State::kAsked, {}};
  return permission(index);
}

Permission ServiceLoader::permission(std::uint32_t index) {
  hear();
  return {permissions_[index].state, permissions_[index].why.copy()};
}

void ServiceLoader::hear() {
  AcceleratorClient::Reply reply;
  while (service_.heard(reply)) {
    const bool granted = reply.outcome == Outcome::kGranted;
    permissions_[told_.front()] = granted ? Permission{Permission::State::kGranted, {}}
                                          : Permission{Permission::State::kRefused, service_.refused(reply.why)};
    told_.pop_front();
  }
}

}  // namespace lapwing::net::kernel
