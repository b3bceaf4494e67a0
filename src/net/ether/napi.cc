#include "net/ether/napi.h"

#include <linux/genetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "net/bpf/bpf.h"
#include "net/ether/netlink_attribute.h"

namespace lapwing::net::ether {
namespace {

// Older headers lack linux/netdev.h.
constexpr char kFamily[] = "netdev";
enum : std::uint8_t { kQueueGet = 10, kNapiGet = 11 };
enum : std::uint16_t { kNapiInterface = 1, kNapiId = 2, kNapiInterrupt = 3, kNapiThread = 4 };
enum : std::uint16_t { kQueueId = 1, kQueueInterface = 2, kQueueType = 3, kQueueNapi = 4 };
constexpr std::uint32_t kReceives = 0;

struct Request {
  nlmsghdr header{};
  genlmsghdr command{};
  rtattr attribute{};
  char value[16] = {};
};

// A command with one attribute of at most 16 bytes.
bool send_request(int netlink, std::uint16_t family, std::uint16_t flags, std::uint8_t command, std::uint16_t type, const void* value,
                  std::size_t bytes) {
  Request request;
  request.command = {command, 1, 0};
  request.attribute.rta_type = type;
  request.attribute.rta_len = static_cast<std::uint16_t>(RTA_LENGTH(bytes));
  std::memcpy(request.value, value, bytes);
  request.header.nlmsg_type = family;
  request.header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  request.header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_LENGTH(GENL_HDRLEN) + RTA_SPACE(bytes));
  return ::send(netlink, &request, request.header.nlmsg_len, 0) >= 0;
}

// Hands each answer's attributes on, until the last. False: the kernel refuses.
template <typename Take>
bool hear_answers(int netlink, bool several, Take take) {
  alignas(nlmsghdr) std::byte answer[32768];
  for (;;) {
    const ssize_t received = ::recv(netlink, answer, sizeof answer, 0);
    if (received <= 0) return false;
    auto left = static_cast<unsigned>(received);
    for (const auto* message = reinterpret_cast<const nlmsghdr*>(answer); NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_type == NLMSG_DONE) return true;
      if (message->nlmsg_type == NLMSG_ERROR || message->nlmsg_len < NLMSG_LENGTH(GENL_HDRLEN)) return false;
      take(std::span(static_cast<const std::byte*>(NLMSG_DATA(message)) + GENL_HDRLEN, message->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN)));
    }
    if (!several) return true;
  }
}

const rtattr* find_in(std::span<const std::byte> attributes, unsigned type) noexcept {
  return find_attribute(reinterpret_cast<const rtattr*>(attributes.data()), attributes.size(), type);
}

bool find_family(int netlink, std::uint16_t& family) {
  family = 0;
  return send_request(netlink, GENL_ID_CTRL, 0, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, kFamily, sizeof kFamily) &&
         hear_answers(netlink, false,
                      [&](std::span<const std::byte> attributes) { read_attribute(find_in(attributes, CTRL_ATTR_FAMILY_ID), family); }) &&
         family != 0;
}

}  // namespace

bool read_napi(std::span<const std::byte> attributes, Napi& napi) noexcept {
  read_attribute(find_in(attributes, kNapiInterrupt), napi.interrupt);
  read_attribute(find_in(attributes, kNapiThread), napi.thread);
  return read_attribute(find_in(attributes, kNapiId), napi.id);
}

bool read_queue(std::span<const std::byte> attributes, QueueNapi& queue) noexcept {
  std::uint32_t type = 0;
  return read_attribute(find_in(attributes, kQueueType), type) && type == kReceives && read_attribute(find_in(attributes, kQueueId), queue.queue) &&
         read_attribute(find_in(attributes, kQueueNapi), queue.napi);
}

std::vector<Napi> match_napis(std::vector<Napi> napis, const std::vector<QueueNapi>& queues, unsigned count) {
  std::sort(napis.begin(), napis.end(), [](const Napi& left, const Napi& right) { return left.id < right.id; });
  if (queues.empty()) return napis.size() == count ? napis : std::vector<Napi>();
  std::vector<Napi> matched(count);
  for (const QueueNapi& queue : queues) {
    const auto found = std::find_if(napis.begin(), napis.end(), [&](const Napi& napi) { return napi.id == queue.napi; });
    if (queue.queue < count && found != napis.end()) matched[queue.queue] = *found;
  }
  return matched;
}

std::vector<Napi> napis_of_queues(unsigned interface, unsigned queues) {
  const bpf::Descriptor netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC));
  std::uint16_t family = 0;
  if (!netlink.open() || !find_family(netlink.fd(), family)) return {};
  std::vector<Napi> napis;
  const bool told = send_request(netlink.fd(), family, NLM_F_DUMP, kNapiGet, kNapiInterface, &interface, sizeof interface) &&
                    hear_answers(netlink.fd(), true, [&](std::span<const std::byte> attributes) {
                      if (Napi napi; read_napi(attributes, napi)) napis.push_back(napi);
                    });
  if (!told) return {};
  std::vector<QueueNapi> pairs;
  if (send_request(netlink.fd(), family, NLM_F_DUMP, kQueueGet, kQueueInterface, &interface, sizeof interface)) {
    hear_answers(netlink.fd(), true, [&](std::span<const std::byte> attributes) {
      if (QueueNapi pair; read_queue(attributes, pair)) pairs.push_back(pair);
    });
  }
  return match_napis(std::move(napis), pairs, queues);
}

}  // namespace lapwing::net::ether
