#include "accelerator/socket_check.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "net/bpf/bpf.h"

namespace lapwing::launch::tests {
namespace {

using net::bpf::Descriptor;

// Two ends of a connection over loopback, and the socket that listened.
struct Connection {
  Descriptor listener, there, here;

  Connection() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t length = sizeof address;
    listener = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    there = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listener.fd(), generic, length), 0);
    EXPECT_EQ(::listen(listener.fd(), 1), 0);
    EXPECT_EQ(::getsockname(listener.fd(), generic, &length), 0);
    EXPECT_EQ(::connect(there.fd(), generic, length), 0);
    here = Descriptor(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  }
};

std::string refusal(int socket, uid_t user = ::geteuid()) {
  return check_socket(socket, user).text();
}

TEST(SocketCheck, AConnectionOfThisUserMayJoin) {
  const Connection connection;
  if (refusal(connection.here.fd()).find("namespace") != std::string::npos) GTEST_SKIP() << "this kernel does not tell of namespaces (Linux 5.14)";
  EXPECT_EQ(refusal(connection.here.fd()), "");
  EXPECT_EQ(refusal(connection.there.fd()), "");
}

TEST(SocketCheck, AnotherUsersMayNot) {
  const Connection connection;
  EXPECT_EQ(refusal(connection.here.fd(), ::geteuid() + 1), "a socket can join only if the user of the rank has made it");
}

TEST(SocketCheck, WhatIsNotConnectedMayNot) {
  const Connection connection;
  EXPECT_EQ(refusal(connection.listener.fd()), "a socket can join only while its connection stands");
  const Descriptor fresh(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(refusal(fresh.fd()), "a socket can join only while its connection stands");
  ::shutdown(connection.here.fd(), SHUT_RDWR);
  EXPECT_NE(refusal(connection.here.fd()), "");
}

TEST(SocketCheck, WhatIsNotTcpMayNot) {
  const std::string expected = "only sockets of TCP can join";
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const Descriptor local(pair[0]), other(pair[1]);
  EXPECT_EQ(refusal(local.fd()), expected);
  const Descriptor datagrams(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(refusal(datagrams.fd()), expected);
  const Descriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(refusal(file.fd()), expected);
  EXPECT_EQ(refusal(-1), expected);
  const Descriptor multipath(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 262));
  if (multipath.open()) {
    EXPECT_EQ(refusal(multipath.fd()), expected);
  }
}

TEST(SocketCheck, OneWithAnUpperProtocolMayNot) {
  const Connection connection;
  if (::setsockopt(connection.here.fd(), IPPROTO_TCP, TCP_ULP, "tls", 3) != 0) GTEST_SKIP() << "this kernel has no TLS";
  EXPECT_EQ(refusal(connection.here.fd()), "a socket with a protocol of the kernel's above TCP cannot join");
}

}  // namespace
}  // namespace lapwing::launch::tests
