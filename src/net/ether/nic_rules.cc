#include "net/ether/nic_rules.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <tuple>
#include <utility>

#include "base/log.h"
#include "net/ether/interface.h"

namespace lapwing::net::ether {
namespace {

using Rule = ethtool_rx_flow_spec;

constexpr std::uint32_t kFlags = FLOW_EXT | FLOW_MAC_EXT | FLOW_RSS;

// ---- what a rule says -------------------------------------------------------------------------------------------------

Rule rule_for(const wire::UdpAddress& to, std::uint32_t queue) noexcept {
  Rule rule{};
  rule.flow_type = UDP_V4_FLOW;
  rule.h_u.udp_ip4_spec.ip4dst = htonl(to.address);
  rule.m_u.udp_ip4_spec.ip4dst = 0xffffffff;
  rule.h_u.udp_ip4_spec.pdst = htons(to.port);
  rule.m_u.udp_ip4_spec.pdst = 0xffff;
  rule.ring_cookie = queue;
  return rule;
}

// What rules that are added differ in.
auto key_of(const Rule& rule) noexcept {
  const ethtool_tcpip4_spec &value = rule.h_u.udp_ip4_spec, &mask = rule.m_u.udp_ip4_spec;
  return std::tuple(rule.flow_type & ~std::uint32_t{FLOW_EXT}, rule.ring_cookie, value.ip4dst, mask.ip4dst, value.pdst, mask.pdst);
}

// A number matches where the mask has ones.
template <typename Number>
bool matches(Number mask, Number value, Number own) noexcept {
  return (mask & (value ^ own)) == 0;
}

// A VLAN, a field of the driver's, or a destination on Ethernet.
bool is_narrower(const Rule& rule) noexcept {
  const ethtool_flow_ext& mask = rule.m_ext;
  const bool by_vlan = (rule.flow_type & FLOW_EXT) != 0 && (mask.vlan_etype != 0 || mask.vlan_tci != 0 || mask.data[0] != 0 || mask.data[1] != 0);
  const bool by_mac = (rule.flow_type & FLOW_MAC_EXT) != 0 && std::any_of(mask.h_dest, mask.h_dest + 6, [](unsigned char byte) { return byte != 0; });
  return by_vlan || by_mac;
}

bool takes_all(const ethtool_tcpip4_spec& value, const ethtool_tcpip4_spec& mask, const wire::UdpAddress& to) noexcept {
  return mask.ip4src == 0 && mask.psrc == 0 && mask.tos == 0 && matches(mask.ip4dst, value.ip4dst, htonl(to.address)) &&
         matches(mask.pdst, value.pdst, htons(to.port));
}

// Its four bytes are the ports, the source's first.
bool takes_all(const ethtool_usrip4_spec& value, const ethtool_usrip4_spec& mask, const wire::UdpAddress& to) noexcept {
  return mask.ip4src == 0 && mask.tos == 0 && (mask.l4_4_bytes & htonl(0xffff0000)) == 0 && matches(mask.ip4dst, value.ip4dst, htonl(to.address)) &&
         matches(mask.l4_4_bytes, value.l4_4_bytes, htonl(to.port)) && matches<std::uint8_t>(mask.proto, value.proto, IPPROTO_UDP);
}

// All datagrams to this address, from wherever.
bool takes_all(const Rule& rule, const wire::UdpAddress& to) noexcept {
  if (is_narrower(rule)) return false;
  switch (rule.flow_type & ~kFlags) {
    case UDP_V4_FLOW:
      return takes_all(rule.h_u.udp_ip4_spec, rule.m_u.udp_ip4_spec, to);
    case IPV4_USER_FLOW:
      return takes_all(rule.h_u.usr_ip4_spec, rule.m_u.usr_ip4_spec, to);
    default:
      return false;
  }
}

bool leads_to(const Rule& rule, std::uint32_t queue) noexcept {
  return (rule.flow_type & FLOW_RSS) == 0 && rule.ring_cookie == queue;
}

std::string target_of(const Rule& rule) {
  if (rule.ring_cookie == RX_CLS_FLOW_DISC) return "nowhere";
  if ((rule.flow_type & FLOW_RSS) != 0) return "several receive queues";
  return "receive queue " + std::to_string(ethtool_get_flow_spec_ring(rule.ring_cookie));
}

// ---- the rules of a NIC -----------------------------------------------------------------------------------------------

struct Table {
  std::vector<Rule> rules;  // by location: of several that take a packet the lowest counts
  std::uint32_t places = 0;
  bool chooses_location = false;  // the driver does
};

ethtool_rxnfc command_of(std::uint32_t number) noexcept {
  ethtool_rxnfc command{};
  command.cmd = number;
  return command;
}

// An errno value.
int read_rule(NicControl& nic, std::uint32_t location, Rule& rule) {
  ethtool_rxnfc command = command_of(ETHTOOL_GRXCLSRULE);
  command.fs.location = location;
  const int error = nic.call(command, {});
  rule = command.fs;
  rule.location = location;
  return error;
}

// An errno value. A rule that goes meanwhile is none.
int read_table(NicControl& nic, Table& table) {
  ethtool_rxnfc command = command_of(ETHTOOL_GRXCLSRLCNT);
  if (const int error = nic.call(command, {}); error != 0) return error;
  table.chooses_location = (command.data & RX_CLS_LOC_SPECIAL) != 0;
  constexpr std::size_t kMoreMeanwhile = 16;
  std::vector<std::uint32_t> locations(command.rule_cnt + kMoreMeanwhile);
  command = command_of(ETHTOOL_GRXCLSRLALL);
  command.rule_cnt = static_cast<std::uint32_t>(locations.size());
  if (const int error = nic.call(command, locations); error != 0) return error;
  table.places = static_cast<std::uint32_t>(command.data);
  locations.resize(std::min<std::size_t>(command.rule_cnt, locations.size()));
  std::sort(locations.begin(), locations.end());
  for (const std::uint32_t location : locations) {
    if (Rule rule; read_rule(nic, location, rule) == 0) table.rules.push_back(rule);
  }
  return 0;
}

// The highest that is free; none: all are taken.
std::optional<std::uint32_t> free_location(const Table& table) noexcept {
  if (table.chooses_location) return RX_CLS_LOC_ANY;
  std::uint32_t above = table.places;
  for (auto rule = table.rules.rbegin(); rule != table.rules.rend() && rule->location + 1 >= above; ++rule) above = std::min(above, rule->location);
  return above == 0 ? std::nullopt : std::optional(above - 1);
}

// Drivers tell of one that is switched off by EOPNOTSUPP, too.
std::string no_rule(const NicControl& nic, int error) {
  return std::string("takes no rule: ") + std::strerror(error) +
         (error == EOPNOTSUPP ? " (n-tuple filtering may be switched off: ethtool -K " + nic.name() + " ntuple on)" : "");
}

// What ETHTOOL_GCHANNELS does not tell, the table of RSS may.
unsigned queues_of(NicControl& nic) {
  ethtool_rxnfc command = command_of(ETHTOOL_GRXRINGS);
  const bool told = nic.call(command, {}) == 0;
  return std::max(nic.queues(), told ? static_cast<unsigned>(command.data) : 1);
}

// To set a rule takes milliseconds, and the ranks of a host come together.
bool wait_for_lock(NicControl& nic) noexcept {
  constexpr int kTries = 400;
  constexpr timespec kPause{0, 5'000'000};
  for (int tried = 0; tried < kTries; ++tried) {
    if (nic.try_lock()) return true;
    nanosleep(&kPause, nullptr);
  }
  return false;
}

}  // namespace

// ---- the rule of an endpoint --------------------------------------------------------------------------------------------

std::string NicRule::set(std::unique_ptr<NicControl> nic, const Endpoint& endpoint, std::uint32_t queue, std::uint32_t number) {
  nic_ = std::move(nic);
  if (!endpoint.rules || endpoint.udp.port == 0 || queues_of(*nic_) < 2) return "";
  const bool locked = wait_for_lock(*nic_);
  const std::string text = nic_->name() + ": datagrams to " + wire::text_of(endpoint.udp_of(number)) +
                           (locked ? settle(endpoint.udp_of(number), queue) : " get no rule: another process is setting rules for too long");
  nic_->unlock();
  log_info("%s", text.c_str());
  return text;
}

std::string NicRule::settle(const wire::UdpAddress& to, std::uint32_t queue) {
  const std::string otherwise = "; they come in by the queue that the NIC chooses", here = " come to receive queue " + std::to_string(queue);
  Table table;
  if (const int error = read_table(*nic_, table); error != 0) return ": the NIC " + no_rule(*nic_, error) + otherwise;
  const auto first = std::find_if(table.rules.begin(), table.rules.end(), [&](const Rule& rule) { return takes_all(rule, to); });
  if (first != table.rules.end()) {
    const std::string where = " by rule " + std::to_string(first->location) + " of the NIC, which was there";
    if (leads_to(*first, queue)) return here + where;
    return " go to " + target_of(*first) + where + ", and not to receive queue " + std::to_string(queue) + "; see ethtool -n " + nic_->name();
  }
  const std::optional<std::uint32_t> location = free_location(table);
  if (!location) return ": the NIC has no place for a rule more than its " + std::to_string(table.rules.size()) + otherwise;
  const std::string refused = add(to, queue, *location);
  if (!refused.empty()) return ": the NIC " + refused + otherwise;
  return here + " by rule " + std::to_string(added_->location) + " of the NIC, as long as this rank is there";
}

// Some NICs want the same masks of all rules, and an administrator's have the port alone. Empty: it is done.
std::string NicRule::add(const wire::UdpAddress& to, std::uint32_t queue, std::uint32_t location) {
  int error = 0;
  for (const bool with_address : {true, false}) {
    ethtool_rxnfc command = command_of(ETHTOOL_SRXCLSRLINS);
    command.fs = rule_for(to, queue);
    if (!with_address) command.fs.h_u.udp_ip4_spec.ip4dst = command.fs.m_u.udp_ip4_spec.ip4dst = 0;
    const Rule wanted = command.fs;
    command.fs.location = location;
    error = nic_->call(command, {});
    if (error != 0) continue;
    added_ = wanted;
    added_->location = command.fs.location;
    return "";
  }
  return no_rule(*nic_, error);
}

void NicRule::remove() noexcept {
  const std::optional<Rule> added = std::exchange(added_, {});
  Rule there;
  if (!added || read_rule(*nic_, added->location, there) != 0 || key_of(there) != key_of(*added)) return;
  ethtool_rxnfc command = command_of(ETHTOOL_SRXCLSRLDEL);
  command.fs.location = added->location;
  if (const int error = nic_->call(command, {}); error != 0)
    log_info("%s: the NIC keeps rule %u: %s", nic_->name().c_str(), unsigned{added->location}, std::strerror(error));
}

std::string describe_rules(NicControl& nic, const Endpoint& endpoint) {
  Table table;
  if (const int error = read_table(nic, table); error != 0) return "the NIC " + no_rule(nic, error);
  const auto serves = [&](const Rule& rule) {
    const auto queue = static_cast<std::uint32_t>(rule.ring_cookie);
    return leads_to(rule, queue) && rule.m_u.udp_ip4_spec.pdst == 0xffff && takes_all(rule, endpoint.udp_of(queue));
  };
  const auto serving = std::count_if(table.rules.begin(), table.rules.end(), serves);
  return "the NIC has a table of rules, with " + std::to_string(table.rules.size()) + " in it, " + std::to_string(serving) +
         " of them for this library's datagrams";
}

// ---- by the kernel ----------------------------------------------------------------------------------------------------

std::string InterfaceNic::name() const {
  char name[IF_NAMESIZE] = {};
  ::if_indextoname(interface_, name);
  return name;
}

bool InterfaceNic::has_address(std::uint32_t address) const {
  Interface interface;
  return choose_interface({name()}, interface).ok() && interface.address == address;
}

unsigned InterfaceNic::queues() const {
  return receive_queues(name());
}

// The locations stand behind the command.
int InterfaceNic::call(ethtool_rxnfc& command, std::span<std::uint32_t> locations) {
  std::vector<std::byte> buffer(sizeof command + locations.size_bytes());
  std::memcpy(buffer.data(), &command, sizeof command);
  ifreq request{};
  request.ifr_data = reinterpret_cast<char*>(buffer.data());
  const bpf::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.open() || ::if_indextoname(interface_, request.ifr_name) == nullptr || ::ioctl(socket.fd(), SIOCETHTOOL, &request) != 0) return errno;
  std::memcpy(&command, buffer.data(), sizeof command);
  std::copy_n(buffer.data() + offsetof(ethtool_rxnfc, rule_locs), locations.size_bytes(), std::as_writable_bytes(locations).begin());
  return 0;
}

// A name that one socket of a network namespace can have; it is free again when the process ends, however it does.
bool InterfaceNic::try_lock() noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "lapwing-rules-%u", interface_);
  lock_ = bpf::Descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  return ::bind(lock_.fd(), reinterpret_cast<const sockaddr*>(&address), bytes) == 0;
}

}  // namespace lapwing::net::ether
