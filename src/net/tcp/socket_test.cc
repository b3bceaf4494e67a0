#include "net/tcp/socket.h"

#include <gtest/gtest.h>
#include <netinet/tcp.h>

#include <string>

#include "net/tcp/congestion_control.h"
#include "net/tcp/interfaces.h"

namespace lapwing::net::tcp {
namespace {

std::string congestion_control_of(const Socket& socket) {
  char name[16] = {};
  socklen_t length = sizeof name;
  EXPECT_EQ(getsockopt(socket.fd(), IPPROTO_TCP, TCP_CONGESTION, name, &length), 0);
  return name;
}

TEST(Socket, NoSideIsPacedOnLoopback) {
  Address address;
  ASSERT_TRUE(parse_address("127.0.0.1", address));
  Socket listening;
  ASSERT_EQ(Socket::listen(address, {}, listening), 0);
  Socket one, other;
  Address peer;
  ASSERT_EQ(Socket::connect(listening.local_address(), {}, one), 0);
  while (!listening.has_news()) {}
  ASSERT_EQ(listening.accept(other, peer), 0);
  EXPECT_TRUE(peer.same_host_address(one.local_address()));
  EXPECT_EQ(congestion_control_of(one), "reno");
  EXPECT_EQ(congestion_control_of(other), "reno");
}

// 127.0.0.1 counts as loopback, and an address of another interface of this host does not, though packets to it never leave either.
std::string first_address_beyond_loopback() {
  for (const Interface& interface : list_interfaces()) {
    if (!interface.address.is_loopback() && interface.address.family == AF_INET) return interface.address.text_without_port();
  }
  return {};
}

TEST(Socket, BothSidesHaveWhatWasChosenForConnectionsThatLeaveTheHost) {
  const std::string text = first_address_beyond_loopback();
  if (text.empty()) GTEST_SKIP() << "there is no interface but loopback";
  Address address;
  ASSERT_TRUE(parse_address(text, address));
  Socket listening, one, other;
  ASSERT_EQ(Socket::listen(address, "reno", listening), 0);
  ASSERT_EQ(Socket::connect(listening.local_address(), "reno", one), 0);
  while (!listening.has_news()) {}
  Address peer;
  ASSERT_EQ(listening.accept(other, peer), 0);
  EXPECT_EQ(congestion_control_of(one), "reno");
  EXPECT_EQ(congestion_control_of(other), "reno");
}

TEST(Socket, WhatAListenerIsGivenLaterCountsForThoseThatItAcceptsThen) {
  Address address;
  ASSERT_TRUE(parse_address("127.0.0.1", address));
  Socket listening, one, other;
  ASSERT_EQ(Socket::listen(address, {}, listening), 0);
  const Socket fresh(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const std::string default_one = congestion_control_of(fresh);
  ASSERT_EQ(set_congestion_control(listening.fd(), default_one), 0);
  ASSERT_EQ(Socket::connect(listening.local_address(), {}, one), 0);
  while (!listening.has_news()) {}
  Address peer;
  ASSERT_EQ(listening.accept(other, peer), 0);
  EXPECT_EQ(congestion_control_of(other), default_one);
}

TEST(CongestionControl, OneThatTheKernelDoesNotHaveIsNamed) {
  EXPECT_TRUE(check_congestion_control("").ok());
  EXPECT_TRUE(check_congestion_control("reno").ok());
  const Status refused = check_congestion_control("no-such-one");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(std::string(refused.text()).find("no-such-one"), std::string::npos);
  EXPECT_NE(std::string(refused.text()).find("LAPWING_TCP_CONGESTION"), std::string::npos);
}

}  // namespace
}  // namespace lapwing::net::tcp
