#include "net/tcp/socket.h"

#include <gtest/gtest.h>
#include <netinet/tcp.h>

#include <string>

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
  ASSERT_EQ(Socket::listen(address, listening), 0);
  Socket one, other;
  Address peer;
  ASSERT_EQ(Socket::connect(listening.local_address(), one), 0);
  while (!listening.has_news()) {}
  ASSERT_EQ(listening.accept(other, peer), 0);
  EXPECT_TRUE(peer.same_host_address(one.local_address()));
  EXPECT_EQ(congestion_control_of(one), "reno");
  EXPECT_EQ(congestion_control_of(other), "reno");
}

}  // namespace
}  // namespace lapwing::net::tcp
