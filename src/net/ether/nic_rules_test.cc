#include "net/ether/nic_rules.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <net/if.h>

#include <cerrno>
#include <map>

#include "net/ether/segment_for_tests.h"

namespace lapwing::net::ether::tests {
namespace {

constexpr wire::UdpAddress kFirst{0xc0000207, 27182};  // 192.0.2.7

// A NIC that is made up: what it has, what it lacks, and its rules.
struct Nic {
  unsigned queues = 4;
  std::uint32_t places = 8;
  bool chooses_location = false, takes_addresses = true;
  int no_table = 0, no_more = 0;  // errno values
  int others_turns = 0;
  bool locked = false;
  std::map<std::uint32_t, ethtool_rx_flow_spec> rules;

  int insert(ethtool_rx_flow_spec& rule) {
    EXPECT_TRUE(locked);
    const bool special = (rule.location & RX_CLS_LOC_SPECIAL) != 0;
    if (no_more != 0) return no_more;
    if (special != chooses_location || (!takes_addresses && rule.m_u.udp_ip4_spec.ip4dst != 0)) return EINVAL;
    if (special) {
      for (rule.location = 0; rules.count(rule.location) != 0;) ++rule.location;
    }
    if (rule.location >= places) return ENOSPC;
    rules[rule.location] = rule;  // one that is there is replaced
    return 0;
  }
};

class FakeControl final : public NicControl {
 public:
  explicit FakeControl(Nic& nic) : nic_(nic) {}

  std::string name() const override { return "eth0"; }
  unsigned queues() const override { return 1; }
  bool try_lock() noexcept override { return nic_.locked = --nic_.others_turns < 0; }
  void unlock() noexcept override { nic_.locked = false; }

  int call(ethtool_rxnfc& command, std::span<std::uint32_t> locations) override {
    switch (command.cmd) {
      case ETHTOOL_GRXRINGS:
        command.data = nic_.queues;
        return 0;
      case ETHTOOL_GRXCLSRLCNT:
        command.rule_cnt = static_cast<std::uint32_t>(nic_.rules.size());
        command.data = nic_.chooses_location ? nic_.places | RX_CLS_LOC_SPECIAL : 0;
        return nic_.no_table;
      case ETHTOOL_GRXCLSRLALL:
        return list(command, locations);
      case ETHTOOL_GRXCLSRULE:
        if (nic_.rules.count(command.fs.location) == 0) return ENOENT;
        command.fs = nic_.rules[command.fs.location];
        return 0;
      case ETHTOOL_SRXCLSRLINS:
        return nic_.insert(command.fs);
      case ETHTOOL_SRXCLSRLDEL:
        return nic_.rules.erase(command.fs.location) == 1 ? 0 : ENOENT;
      default:
        return EOPNOTSUPP;
    }
  }

 private:
  int list(ethtool_rxnfc& command, std::span<std::uint32_t> locations) const {
    if (command.rule_cnt != locations.size() || locations.size() < nic_.rules.size()) return EMSGSIZE;
    // In no order.
    std::size_t count = 0;
    for (auto rule = nic_.rules.rbegin(); rule != nic_.rules.rend(); ++rule) locations[count++] = rule->first;
    command.rule_cnt = static_cast<std::uint32_t>(count);
    command.data = nic_.places;
    return 0;
  }

  Nic& nic_;
};

Endpoint endpoint() {
  Endpoint endpoint;
  endpoint.udp = kFirst;
  endpoint.rules = true;
  return endpoint;
}

std::string set(NicRule& rule, Nic& nic, std::uint32_t queue, const Endpoint& for_endpoint = endpoint()) {
  std::string text = rule.set(std::make_unique<FakeControl>(nic), for_endpoint, queue, queue);
  EXPECT_FALSE(nic.locked);
  return text;
}

// As `ethtool -N eth0 flow-type udp4 dst-port PORT action QUEUE`.
ethtool_rx_flow_spec by_port(std::uint16_t port, std::uint64_t queue) {
  ethtool_rx_flow_spec rule{};
  rule.flow_type = UDP_V4_FLOW;
  rule.h_u.udp_ip4_spec.pdst = htons(port);
  rule.m_u.udp_ip4_spec.pdst = 0xffff;
  rule.ring_cookie = queue;
  return rule;
}

// As `ethtool -N eth0 flow-type ip4 l4proto PROTOCOL action QUEUE`.
ethtool_rx_flow_spec by_protocol(std::uint8_t protocol, std::uint64_t queue) {
  ethtool_rx_flow_spec rule{};
  rule.flow_type = IPV4_USER_FLOW;
  rule.h_u.usr_ip4_spec.ip_ver = ETH_RX_NFC_IP4;
  rule.h_u.usr_ip4_spec.proto = protocol;
  rule.m_u.usr_ip4_spec.proto = 0xff;
  rule.ring_cookie = queue;
  return rule;
}

void expect_rule(const Nic& nic, std::uint32_t location, std::uint16_t port, std::uint64_t queue, bool with_address = true) {
  ASSERT_EQ(nic.rules.count(location), 1u);
  const ethtool_rx_flow_spec& rule = nic.rules.at(location);
  EXPECT_EQ(rule.flow_type, std::uint32_t{UDP_V4_FLOW});
  EXPECT_EQ(rule.h_u.udp_ip4_spec.ip4dst, with_address ? htonl(kFirst.address) : 0);
  EXPECT_EQ(rule.m_u.udp_ip4_spec.ip4dst, with_address ? 0xffffffffu : 0);
  EXPECT_EQ(rule.h_u.udp_ip4_spec.pdst, htons(port));
  EXPECT_EQ(rule.m_u.udp_ip4_spec.pdst, 0xffff);
  EXPECT_EQ(rule.m_u.udp_ip4_spec.ip4src, 0u);
  EXPECT_EQ(rule.m_u.udp_ip4_spec.psrc, 0);
  EXPECT_EQ(rule.ring_cookie, queue);
}

// ---- a rule that is added -----------------------------------------------------------------------------------------------

TEST(NicRule, IsTheLastThatIsFreeAndGoesWithTheRank) {
  Nic nic;
  NicRule first, second;
  EXPECT_EQ(set(first, nic, 1), "eth0: datagrams to 192.0.2.7:27183 come to receive queue 1 by rule 7 of the NIC, as long as this rank is there");
  set(second, nic, 2);
  expect_rule(nic, 7, 27183, 1);
  expect_rule(nic, 6, 27184, 2);
  first.remove();
  EXPECT_EQ(nic.rules.size(), 1u);
  set(first, nic, 3);
  expect_rule(nic, 7, 27185, 3);
  first.remove();
  first.remove();
  second.remove();
  EXPECT_TRUE(nic.rules.empty());
}

TEST(NicRule, IsWhereTheDriverChooses) {
  Nic nic;
  nic.chooses_location = true;
  nic.rules[0] = by_port(53, 0);
  NicRule rule;
  EXPECT_NE(set(rule, nic, 1).find("by rule 1 of the NIC"), std::string::npos);
  expect_rule(nic, 1, 27183, 1);
  rule.remove();
  EXPECT_EQ(nic.rules.size(), 1u);
}

TEST(NicRule, HasThePortAloneWhereTheNicTakesNoAddress) {
  Nic nic;
  nic.takes_addresses = false;
  NicRule rule;
  set(rule, nic, 1);
  expect_rule(nic, 7, 27183, 1, false);
  rule.remove();
  EXPECT_TRUE(nic.rules.empty());
}

TEST(NicRule, IsNotRemovedWhenItIsAnothersByNow) {
  Nic nic;
  NicRule rule;
  set(rule, nic, 1);
  nic.rules[7] = by_port(53, 1);
  rule.remove();
  EXPECT_EQ(nic.rules.size(), 1u);
}

TEST(NicRule, IsSetWhenTheOthersHaveHadTheirTurn) {
  Nic nic;
  nic.others_turns = 2;
  NicRule rule;
  set(rule, nic, 1);
  expect_rule(nic, 7, 27183, 1);
}

// ---- rules that are there -----------------------------------------------------------------------------------------------

TEST(NicRule, OfARankThatWasKilledIsTakenAndStays) {
  Nic nic;
  NicRule killed, next;
  set(killed, nic, 1);
  EXPECT_EQ(set(next, nic, 1), "eth0: datagrams to 192.0.2.7:27183 come to receive queue 1 by rule 7 of the NIC, which was there");
  EXPECT_EQ(nic.rules.size(), 1u);
  next.remove();
  expect_rule(nic, 7, 27183, 1);
}

TEST(NicRule, OfAnAdministratorIsTakenAndStays) {
  for (const ethtool_rx_flow_spec& there : {by_port(27183, 1), by_protocol(IPPROTO_UDP, 1)}) {
    Nic nic;
    nic.rules[0] = there;
    NicRule rule;
    EXPECT_NE(set(rule, nic, 1).find("come to receive queue 1 by rule 0 of the NIC, which was there"), std::string::npos);
    rule.remove();
    EXPECT_EQ(nic.rules.size(), 1u);
  }
}

TEST(NicRule, ThatLeadsElsewhereIsLeftAlone) {
  ethtool_rx_flow_spec spreads = by_port(27183, 1), all_ports = by_port(0, 3), ports = by_protocol(IPPROTO_UDP, 3);
  spreads.flow_type |= FLOW_RSS;
  all_ports.m_u.udp_ip4_spec.pdst = 0;
  ports.h_u.usr_ip4_spec.l4_4_bytes = htonl(27183);
  ports.m_u.usr_ip4_spec.l4_4_bytes = htonl(0xffff);
  const std::pair<ethtool_rx_flow_spec, const char*> kThere[] = {{by_port(27183, 3), "receive queue 3"},
                                                                  {by_port(27183, RX_CLS_FLOW_DISC), "nowhere"},
                                                                  {spreads, "several receive queues"},
                                                                  {all_ports, "receive queue 3"},
                                                                  {ports, "receive queue 3"},
                                                                  {by_protocol(IPPROTO_UDP, 0), "receive queue 0"}};
  for (const auto& [there, target] : kThere) {
    Nic nic;
    nic.rules[2] = there;
    NicRule rule;
    EXPECT_EQ(set(rule, nic, 1), "eth0: datagrams to 192.0.2.7:27183 go to " + std::string(target) +
                                     " by rule 2 of the NIC, which was there, and not to receive queue 1; see ethtool -n eth0");
    rule.remove();
    EXPECT_EQ(nic.rules.size(), 1u);
  }
}

TEST(NicRule, OfTwoTheFirstCounts) {
  Nic nic;
  nic.rules[1] = by_port(27183, 1);
  nic.rules[2] = by_port(27183, 2);
  NicRule rule;
  EXPECT_NE(set(rule, nic, 1).find("by rule 1 of the NIC, which was there"), std::string::npos);
  std::swap(nic.rules[1], nic.rules[2]);
  EXPECT_NE(set(rule, nic, 1).find("go to receive queue 2 by rule 1"), std::string::npos);
}

TEST(NicRule, StandsBesideThoseOfOtherPackets) {
  const ethtool_rx_flow_spec port = by_port(27183, 2);
  ethtool_rx_flow_spec from_one = port, of_a_vlan = port, by_mac = port, other_address = port, tcp = port, from_port = by_protocol(IPPROTO_UDP, 2);
  from_one.m_u.udp_ip4_spec.ip4src = 0xffffffff;
  of_a_vlan.flow_type |= FLOW_EXT;
  of_a_vlan.m_ext.vlan_tci = 0xffff;
  by_mac.flow_type |= FLOW_MAC_EXT;
  by_mac.m_ext.h_dest[5] = 0xff;
  other_address.h_u.udp_ip4_spec.ip4dst = htonl(kFirst.address + 1);
  other_address.m_u.udp_ip4_spec.ip4dst = 0xffffffff;
  from_port.m_u.usr_ip4_spec.l4_4_bytes = htonl(0xffff0000);
  tcp.flow_type = TCP_V4_FLOW;
  const ethtool_rx_flow_spec other_port = by_port(27184, 2), other_protocol = by_protocol(IPPROTO_TCP, 2);
  for (const ethtool_rx_flow_spec& there : {from_one, of_a_vlan, by_mac, other_address, from_port, tcp, other_port, other_protocol}) {
    Nic nic;
    nic.rules[7] = there;
    NicRule rule;
    set(rule, nic, 1);
    expect_rule(nic, 6, 27183, 1);
  }
}

// ---- where there is none ------------------------------------------------------------------------------------------------

TEST(NicRule, IsNotNeededWithOneQueueOrWithoutDatagramsOrWhenItIsOff) {
  Nic nic;
  NicRule rule;
  Endpoint raw = endpoint(), off = endpoint();
  raw.udp = {};
  off.rules = false;
  EXPECT_EQ(set(rule, nic, 1, raw), "");
  EXPECT_EQ(set(rule, nic, 1, off), "");
  nic.queues = 1;
  EXPECT_EQ(set(rule, nic, 0), "");
  rule.remove();
  EXPECT_TRUE(nic.rules.empty());
}

TEST(NicRule, IsNotToBeHadOfANicThatRefuses) {
  const std::string switched_off =
      "eth0: datagrams to 192.0.2.7:27183: the NIC takes no rule: Operation not supported (n-tuple filtering may be switched off: ethtool -K eth0 "
      "ntuple on); they come in by the queue that the NIC chooses";
  Nic without_table, off, weak;
  without_table.no_table = EOPNOTSUPP;
  off.no_more = EOPNOTSUPP;
  weak.no_more = EPERM;
  NicRule rule;
  EXPECT_EQ(set(rule, without_table, 1), switched_off);
  EXPECT_EQ(set(rule, off, 1), switched_off);
  EXPECT_EQ(set(rule, weak, 1),
            "eth0: datagrams to 192.0.2.7:27183: the NIC takes no rule: Operation not permitted; they come in by the queue that the NIC chooses");
  rule.remove();
}

TEST(NicRule, IsNotToBeHadOfANicThatIsFull) {
  Nic nic;
  nic.places = 2;
  nic.rules[0] = by_port(53, 0);
  nic.rules[1] = by_port(54, 0);
  NicRule rule;
  EXPECT_EQ(set(rule, nic, 1),
            "eth0: datagrams to 192.0.2.7:27183: the NIC has no place for a rule more than its 2; they come in by the queue that the NIC chooses");
  nic.chooses_location = true;
  EXPECT_NE(set(rule, nic, 1).find("takes no rule: No space left on device"), std::string::npos);
  EXPECT_EQ(nic.rules.size(), 2u);
}

// ---- what is told, and the kernel ---------------------------------------------------------------------------------------

TEST(NicRules, AreCounted) {
  Nic nic;
  NicRule rule;
  set(rule, nic, 1);
  nic.rules[0] = by_port(53, 0);
  nic.rules[1] = by_port(27184, 2);
  nic.rules[2] = by_port(27184, 3);
  nic.rules[3] = by_port(27184, RX_CLS_FLOW_DISC);
  FakeControl control(nic);
  EXPECT_EQ(describe_rules(control, endpoint()), "the NIC has a table of rules, with 5 in it, 2 of them for this library's datagrams");
  nic.no_table = EINVAL;
  EXPECT_EQ(describe_rules(control, endpoint()), "the NIC takes no rule: Invalid argument");
}

TEST(InterfaceNic, OfLoopbackHasNoRules) {
  InterfaceNic loopback(::if_nametoindex("lo"));
  EXPECT_EQ(loopback.name(), "lo");
  EXPECT_NE(describe_rules(loopback, endpoint()).find("the NIC takes no rule: Operation not supported"), std::string::npos);
}

// A veth pair has no NIC that could take a rule.
struct SeveralQueues final : InterfaceNic {
  using InterfaceNic::InterfaceNic;
  unsigned queues() const override { return 3; }
};

TEST(InterfaceNic, OfAVethPairRefuses) {
  const TestSegment& segment = TestSegment::get();
  if (!segment.ready()) GTEST_SKIP() << segment.why();
  const TestSegment::Visit visit(segment, 0);
  auto nic = std::make_unique<SeveralQueues>(::if_nametoindex("lwether0"));
  EXPECT_TRUE(nic->has_address(0xc6120001));
  EXPECT_FALSE(nic->has_address(0xc6120002));
  NicRule rule;
  const std::string text = rule.set(std::move(nic), endpoint(), 1, 1);
  EXPECT_EQ(text.rfind("lwether0: datagrams to 192.0.2.7:27183: the NIC takes no rule: Operation not supported", 0), 0u) << text;
  rule.remove();
}

TEST(InterfaceNic, IsLockedByOneAtATime) {
  constexpr unsigned kNone = 0x7fffffff;  // no interface's
  InterfaceNic one(kNone), other(kNone), elsewhere(kNone - 1);
  ASSERT_TRUE(one.try_lock());
  EXPECT_FALSE(other.try_lock());
  EXPECT_TRUE(elsewhere.try_lock());
  one.unlock();
  EXPECT_TRUE(other.try_lock());
}

}  // namespace
}  // namespace lapwing::net::ether::tests
