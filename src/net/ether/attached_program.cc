#include "net/ether/attached_program.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "net/ether/netlink_attribute.h"

namespace lapwing::net::ether {
namespace {

constexpr std::uint32_t kMostMaps = 16;

bpf::Descriptor by_id(bpf_cmd command, std::uint32_t id) noexcept {
  bpf_attr attributes{};
  attributes.prog_id = id;  // of whatever the command gives
  return bpf::Descriptor(static_cast<int>(bpf::call(command, attributes)));
}

template <typename Info>
bool tell(const bpf::Descriptor& object, Info& info) noexcept {
  bpf_attr attributes{};
  attributes.info.bpf_fd = static_cast<std::uint32_t>(object.fd());
  attributes.info.info_len = sizeof info;
  attributes.info.info = reinterpret_cast<std::uint64_t>(&info);
  return bpf::call(BPF_OBJ_GET_INFO_BY_FD, attributes) == 0;
}

// The attachment of this program, among all that there are.
bpf::Descriptor find_link(std::uint32_t program) noexcept {
  std::uint32_t id = 0;
  for (;;) {
    bpf_attr attributes{};
    attributes.start_id = id;
    if (bpf::call(BPF_LINK_GET_NEXT_ID, attributes) != 0) return {};
    id = attributes.next_id;
    bpf::Descriptor link = by_id(BPF_LINK_GET_FD_BY_ID, id);
    bpf_link_info info{};
    if (link.open() && tell(link, info) && info.type == BPF_LINK_TYPE_XDP && info.prog_id == program) return link;
  }
}

std::uint32_t program_of(const nlmsghdr* message) noexcept {
  const auto* link = static_cast<const ifinfomsg*>(NLMSG_DATA(message));
  const rtattr* xdp = find_attribute(IFLA_RTA(link), message->nlmsg_len - NLMSG_LENGTH(sizeof *link), IFLA_XDP);
  if (xdp == nullptr) return 0;
  std::uint32_t program = 0;
  read_attribute(find_attribute(static_cast<const rtattr*>(RTA_DATA(xdp)), RTA_PAYLOAD(xdp), IFLA_XDP_PROG_ID), program);
  return program;
}

}  // namespace

Status attached_program(unsigned interface, std::uint32_t& program) {
  program = 0;
  const bpf::Descriptor netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  struct {
    nlmsghdr header;
    ifinfomsg link;
  } request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_GETLINK;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.link.ifi_index = static_cast<int>(interface);
  alignas(nlmsghdr) char answer[16384];
  if (::send(netlink.fd(), &request, sizeof request, 0) < 0) return bpf::refused("tells nothing of an interface");
  const ssize_t bytes = ::recv(netlink.fd(), answer, sizeof answer, 0);
  const auto* message = reinterpret_cast<const nlmsghdr*>(answer);
  if (bytes < 0 || !NLMSG_OK(message, static_cast<std::size_t>(bytes))) return bpf::refused("tells nothing of an interface");
  if (message->nlmsg_type == RTM_NEWLINK) program = program_of(message);
  return {};
}

Status open_attached(std::uint32_t program, AttachedProgram& attached) {
  const bpf::Descriptor opened = by_id(BPF_PROG_GET_FD_BY_ID, program);
  if (!opened.open()) {
    attached.gone = errno == ENOENT;
    return attached.gone ? Status() : bpf::refused("does not show the program that another process has attached");
  }
  std::uint32_t ids[kMostMaps];
  bpf_prog_info info{};
  info.nr_map_ids = kMostMaps;
  info.map_ids = reinterpret_cast<std::uint64_t>(ids);
  if (!tell(opened, info)) return bpf::refused("tells nothing of a program");
  attached.name = info.name;
  attached.link = find_link(program);
  for (std::uint32_t i = 0; i < info.nr_map_ids && i < kMostMaps; ++i) {
    bpf::Descriptor map = by_id(BPF_MAP_GET_FD_BY_ID, ids[i]);
    if (!map.open()) return bpf::refused("does not show a map that another process has made");
    attached.maps.push_back(std::move(map));
  }
  return {};
}

bool is_attached(const bpf::Descriptor& link, unsigned interface) noexcept {
  bpf_link_info info{};
  return tell(link, info) && info.type == BPF_LINK_TYPE_XDP && info.xdp.ifindex == interface;
}

Status map_type(const bpf::Descriptor& map, std::uint32_t& type) {
  bpf_map_info info{};
  if (!tell(map, info)) return bpf::refused("tells nothing of a map");
  type = info.type;
  return {};
}

}  // namespace lapwing::net::ether
