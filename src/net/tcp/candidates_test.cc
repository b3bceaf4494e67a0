#include "net/tcp/candidates.h"

#include <gtest/gtest.h>

namespace lapwing::net::tcp {
namespace {

Address address_of(const char* text) {
  std::vector<Address> list;
  EXPECT_TRUE(decode_addresses(text, list).ok()) << text;
  return list.empty() ? Address{} : list.front();
}

Interface interface_of(const char* name, const char* address, bool point_to_point = false) {
  Interface interface;
  interface.name = name;
  interface.address = address_of(address);
  interface.address.port = 0;
  interface.point_to_point = point_to_point;
  return interface;
}

std::vector<Address> list_of(const char* text) {
  std::vector<Address> list;
  EXPECT_TRUE(decode_addresses(text, list).ok()) << text;
  return list;
}

std::string names(const std::vector<Interface>& interfaces) {
  std::string result;
  for (const Interface& interface : interfaces) result += interface.name + " ";
  return result;
}

TEST(Address, TravelsAsText) {
  const std::string text = "127.0.0.1:4000/8,192.0.2.2:4001/24,[fd00::2]:4002/64,172.17.0.1:1/16~";
  const std::vector<Address> list = list_of(text.c_str());
  ASSERT_EQ(list.size(), 4u);
  EXPECT_TRUE(list[0].is_loopback());
  EXPECT_EQ(list[2].text(), "[fd00::2]:4002");
  EXPECT_TRUE(list[3].last_resort);
  EXPECT_EQ(encode_addresses(list), text);

  sockaddr_storage storage;
  list[2].to_sockaddr(storage);
  EXPECT_EQ(Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&storage)).text(), list[2].text());
}

TEST(Address, RefusesMalformedText) {
  std::vector<Address> list;
  for (const char* text : {"x", "1.2.3.4", "1.2.3.4:5", "1.2.3.4/5", "1.2.3.4:0/8", "1.2.3.4:65536/8", "1.2.3.4:1/33",
                           "fd00::1:5/64", "[1.2.3.4]:5/8", "[fd00::1]:5/129", ",", "1.2.3.4:5/8,,1.2.3.4:5/8",
                           "1.2.3.4:-1/8", "1.2.3.4: 1/8", "1.2.3.4:1/"}) {
    EXPECT_FALSE(decode_addresses(text, list).ok()) << text;
    EXPECT_TRUE(list.empty());
  }
}

TEST(Address, KnowsItsNetwork) {
  EXPECT_TRUE(address_of("10.1.0.1:1/15").network_contains(address_of("10.0.255.1:1/32")));
  EXPECT_FALSE(address_of("10.1.0.1:1/16").network_contains(address_of("10.0.255.1:1/32")));
  EXPECT_TRUE(address_of("[fd00::1]:1/64").network_contains(address_of("[fd00::ffff:1]:1/64")));
  EXPECT_FALSE(address_of("[fd00::1]:1/64").network_contains(address_of("10.0.255.1:1/32")));
  EXPECT_TRUE(address_of("[fe80::1]:1/64").is_link_local());
}

TEST(Interfaces, AutomaticChoice) {
  std::vector<Interface> all{interface_of("lo", "127.0.0.1:1/8"),         interface_of("docker0", "172.17.0.1:1/16"),
                             interface_of("tun0", "10.8.0.2:1/32", true), interface_of("eth1", "192.0.2.9:1/24"),
                             interface_of("eth0", "10.0.0.1:1/24"),       interface_of("eth0", "[fe80::1]:1/64")};
  all[3].up = false;
  std::vector<Interface> usable;
  ASSERT_TRUE(usable_interfaces(all, {}, usable).ok());
  EXPECT_EQ(names(usable), "eth0 docker0 ");
  EXPECT_TRUE(usable[1].address.last_resort);
  EXPECT_EQ(names(loopback_interfaces(all)), "lo ");
}

TEST(Interfaces, TheUsersChoice) {
  const std::vector<Interface> all{interface_of("lo", "127.0.0.1:1/8"), interface_of("tun0", "10.8.0.2:1/32", true),
                                   interface_of("eth1", "192.0.2.9:1/24"), interface_of("eth0", "10.0.0.1:1/24")};
  std::vector<Interface> usable;
  ASSERT_TRUE(usable_interfaces(all, {"192.0.2.0/24", "tun0", "eth1"}, usable).ok());
  EXPECT_EQ(names(usable), "eth1 tun0 ");
  EXPECT_STREQ(usable_interfaces(all, {"ib0", "10.9.0.0/16"}, usable).text(),
               "LAPWING_TCP_INTERFACE=ib0,10.9.0.0/16 matches no network interface that is up; this host has tun0 "
               "(10.8.0.2/32), "
               "eth1 (192.0.2.9/24), eth0 (10.0.0.1/24)");
}

Route direct(const Address&) {
  return Route::kDirect;
}

std::string chosen(const char* peer, const std::vector<Interface>& own, bool same_host,
                   const RouteFinder& route = direct) {
  return encode_addresses(order_candidates(list_of(peer), own, same_host, route));
}

TEST(Candidates, LoopbackOnOneHost) {
  EXPECT_EQ(chosen("192.0.2.2:1/24,127.0.0.1:2/8", {}, true), "127.0.0.1:2/8,192.0.2.2:1/24");
}

TEST(Candidates, NeighboursFirst) {
  const std::vector<Interface> own{interface_of("eth0", "10.0.0.1:1/8"), interface_of("eth1", "10.1.2.1:1/24"),
                                   interface_of("docker0", "172.17.0.1:1/16~"),
                                   interface_of("tun0", "10.8.0.2:1/24", true)};
  EXPECT_EQ(chosen("127.0.0.1:1/8,203.0.113.5:1/24,10.8.0.7:1/24,10.1.2.7:1/24,172.17.0.1:1/16~,172.18.0.1:1/16~", own,
                   false),
            "10.1.2.7:1/24,10.8.0.7:1/24,203.0.113.5:1/24,172.18.0.1:1/16~");
}

TEST(Candidates, OnTheSameWireTheProtocolOfShorterHeaders) {
  const std::vector<Interface> own{interface_of("eth0", "[fd00::1]:1/64"), interface_of("eth0", "10.0.0.1:1/24")};
  EXPECT_EQ(chosen("[fd00::2]:1/64,10.0.0.2:1/24", own, false), "10.0.0.2:1/24,[fd00::2]:1/64");
}

// What leads through the interface of an address that did not answer comes last, of whatever family.
TEST(Candidates, TheWayThatDidNotAnswerComesLast) {
  const std::vector<Interface> own{interface_of("eth0", "10.0.0.1:1/24"), interface_of("eth1", "10.1.0.1:1/24"),
                                   interface_of("eth0", "[fd00::1]:1/64"), interface_of("eth1", "[fd01::1]:1/64")};
  std::vector<Address> list = list_of("10.0.0.2:1/24,10.1.0.2:1/24,[fd00::2]:1/64,[fd01::2]:1/64,203.0.113.5:1/24");
  put_last(list, address_of("[fd00::2]:9/64"), own);
  EXPECT_EQ(encode_addresses(list), "10.1.0.2:1/24,[fd01::2]:1/64,203.0.113.5:1/24,10.0.0.2:1/24,[fd00::2]:1/64");
  put_last(list, address_of("203.0.113.5:9/24"), own);
  EXPECT_EQ(encode_addresses(list), "10.1.0.2:1/24,[fd01::2]:1/64,10.0.0.2:1/24,[fd00::2]:1/64,203.0.113.5:1/24");
}

TEST(Candidates, ARouteIsAskedForOnlyWhereItCounts) {
  const std::vector<Interface> own{interface_of("eth0", "10.0.0.1:1/24")};
  std::string asked;
  const auto route = [&asked](const Address& address) {
    asked += address.text() + " ";
    return Route::kDirect;
  };
  EXPECT_EQ(chosen("127.0.0.1:1/8,10.0.0.1:1/24,203.0.113.5:1/24,10.0.0.2:1/24,10.0.0.3:1/24~", own, false, route),
            "10.0.0.2:1/24,203.0.113.5:1/24,10.0.0.3:1/24~");
  EXPECT_EQ(asked, "203.0.113.5:1 10.0.0.3:1 ");
}

TEST(Candidates, OnlyWhatHasARoute) {
  const auto route = [](const Address& address) {
    return address.family == AF_INET6 ? Route::kNone : address.bytes[0] == 10 ? Route::kTunnel : Route::kDirect;
  };
  EXPECT_EQ(chosen("[fd00::1]:1/64,10.0.0.1:1/24,192.0.2.1:1/24", {}, false, route), "192.0.2.1:1/24,10.0.0.1:1/24");
}

}  // namespace
}  // namespace lapwing::net::tcp
