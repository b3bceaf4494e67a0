#include "net/ether/next_hops.h"

#include <arpa/inet.h>
#include <linux/neighbour.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstring>

#include "net/ether/netlink_attribute.h"

namespace lapwing::net::ether {
namespace {

// A question with some attributes of four bytes.
template <typename Body>
class Request {
 public:
  Request(std::uint16_t type, const Body& body) noexcept {
    message_.header.nlmsg_len = NLMSG_LENGTH(sizeof body);
    message_.header.nlmsg_type = type;
    message_.header.nlmsg_flags = NLM_F_REQUEST;
    message_.body = body;
  }
  void add(unsigned short type, std::uint32_t value) noexcept {
    auto* const attribute = reinterpret_cast<rtattr*>(reinterpret_cast<std::byte*>(&message_) + NLMSG_ALIGN(message_.header.nlmsg_len));
    attribute->rta_type = type;
    attribute->rta_len = RTA_LENGTH(sizeof value);
    std::memcpy(RTA_DATA(attribute), &value, sizeof value);
    message_.header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_ALIGN(message_.header.nlmsg_len) + RTA_SPACE(sizeof value));
  }
  const nlmsghdr& message() const noexcept { return message_.header; }

 private:
  struct {
    nlmsghdr header;
    Body body;
    std::byte attributes[64];
  } message_{};
};

// The one answer: its body, with its attributes behind it; null: the kernel has none.
struct Answer {
  alignas(nlmsghdr) std::byte bytes[8192];

  template <typename Body>
  const Body* ask(int netlink, const Request<Body>& request, std::uint16_t type) noexcept {
    if (::send(netlink, &request.message(), request.message().nlmsg_len, 0) < 0) return nullptr;
    const ssize_t received = ::recv(netlink, bytes, sizeof bytes, 0);
    const auto* message = reinterpret_cast<const nlmsghdr*>(bytes);
    if (received < 0 || !NLMSG_OK(message, static_cast<std::size_t>(received)) || message->nlmsg_type != type) return nullptr;
    if (message->nlmsg_len < NLMSG_LENGTH(NLMSG_ALIGN(sizeof(Body)))) return nullptr;
    attributes = reinterpret_cast<const rtattr*>(static_cast<const std::byte*>(NLMSG_DATA(message)) + NLMSG_ALIGN(sizeof(Body)));
    attribute_bytes = message->nlmsg_len - NLMSG_LENGTH(NLMSG_ALIGN(sizeof(Body)));
    return static_cast<const Body*>(NLMSG_DATA(message));
  }
  const rtattr* find(unsigned type) const noexcept { return find_attribute(attributes, attribute_bytes, type); }

  const rtattr* attributes = nullptr;
  std::size_t attribute_bytes = 0;
};

}  // namespace

NextHops::NextHops(const Interface& interface)
    : interface_(interface.index),
      own_(interface.address),
      netlink_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)),
      socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(own_);
  ::bind(socket_.fd(), reinterpret_cast<const sockaddr*>(&own), sizeof own);
}

NextHops::Outcome NextHops::find(const wire::UdpAddress& to, NextHop& hop) {
  if (const auto known = found_.find(to.address); known != found_.end()) {
    hop = known->second;
    return Outcome::kFound;
  }
  const Route route = route_to(to.address);
  if (!route.there) return Outcome::kNone;
  bool sure = false;
  const bool found = neighbour(route.next, hop.mac, sure);
  if (!sure) have_it_found(to);
  if (!found) return Outcome::kLooking;
  hop.mtu = route.mtu;
  found_[to.address] = hop;
  return Outcome::kFound;
}

// A route by another interface is none: a packet from here with that source would come, but no answer.
NextHops::Route NextHops::route_to(std::uint32_t address) {
  rtmsg body{};
  body.rtm_family = AF_INET;
  body.rtm_dst_len = body.rtm_src_len = 32;
  Request request(RTM_GETROUTE, body);
  request.add(RTA_DST, htonl(address));
  request.add(RTA_SRC, htonl(own_));
  Answer answer;
  const rtmsg* told = answer.ask(netlink_.fd(), request, RTM_NEWROUTE);
  std::uint32_t by = 0, next = 0;
  if (told == nullptr || told->rtm_type != RTN_UNICAST || answer.find(RTA_VIA) != nullptr) return {};
  if (!read_attribute(answer.find(RTA_OIF), by) || by != interface_) return {};
  Route route{true, address, 0};
  if (read_attribute(answer.find(RTA_GATEWAY), next)) route.next = ntohl(next);
  if (const rtattr* metrics = answer.find(RTA_METRICS); metrics != nullptr)
    read_attribute(find_attribute(static_cast<const rtattr*>(RTA_DATA(metrics)), RTA_PAYLOAD(metrics), RTAX_MTU), route.mtu);
  return route;
}

bool NextHops::neighbour(std::uint32_t address, Mac& mac, bool& sure) {
  ndmsg body{};
  body.ndm_family = AF_INET;
  body.ndm_ifindex = static_cast<int>(interface_);
  Request request(RTM_GETNEIGH, body);
  request.add(NDA_DST, htonl(address));
  Answer answer;
  const ndmsg* told = answer.ask(netlink_.fd(), request, RTM_NEWNEIGH);
  if (told == nullptr) return false;
  constexpr unsigned kSure = NUD_REACHABLE | NUD_PERMANENT | NUD_NOARP, kKnown = kSure | NUD_STALE | NUD_DELAY | NUD_PROBE;
  sure = (told->ndm_state & kSure) != 0;
  return (told->ndm_state & kKnown) != 0 && read_attribute(answer.find(NDA_LLADDR), mac);
}

// The peer's program in the kernel passes it on, and nothing listens there.
void NextHops::have_it_found(const wire::UdpAddress& to) noexcept {
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_addr.s_addr = htonl(to.address);
  peer.sin_port = htons(to.port);
  ::sendto(socket_.fd(), nullptr, 0, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&peer), sizeof peer);
}

}  // namespace lapwing::net::ether
