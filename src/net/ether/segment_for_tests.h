// An Ethernet segment of two interfaces (a veth pair), in a network namespace that this process makes for its tests, so that nothing outside sees it. Where
// that cannot be had (root rights, iproute2, a kernel with AF_XDP), why() says so, and tests skip themselves.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "net/ether/steering.h"

namespace lapwing::net::ether {

class TestSegment {
 public:
  static const TestSegment& get() {
    static const TestSegment segment;
    return segment;
  }
  static constexpr const char* kInterfaces[] = {"lwether0", "lwether1"};

  bool ready() const noexcept { return why_.empty(); }
  const std::string& why() const noexcept { return why_; }

  // The calling thread is in the namespace as long as this lives: what it opens belongs there.
  class Visit {
   public:
    explicit Visit(const TestSegment& segment) noexcept : outside_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
      if (segment.ready()) setns(segment.namespace_, CLONE_NEWNET);
    }
    ~Visit() {
      setns(outside_, CLONE_NEWNET);
      ::close(outside_);
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    int outside_;
  };

 private:
  // A thread of its own enters the namespace; what it runs inherits that.
  TestSegment() {
    std::thread([this] { make(); }).join();
  }
  ~TestSegment() {
    if (namespace_ >= 0) ::close(namespace_);
  }

  void make() {
    if (!Steering::built()) return give_up("it was built without the program for the kernel");
    if (unshare(CLONE_NEWNET) != 0) return give_up(std::string("no network namespace: ") + std::strerror(errno));
    if (std::system("ip link add lwether0 type veth peer name lwether1 2>/dev/null && ip link set lwether0 up && ip link set lwether1 up") != 0)
      return give_up("no veth pair (iproute2, or the kernel, lacks it)");
    const int socket = ::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (socket < 0) return give_up(std::string("no AF_XDP socket: ") + std::strerror(errno));
    ::close(socket);
    namespace_ = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  }
  void give_up(const std::string& why) { why_ = "raw Ethernet cannot be had here: " + why; }

  std::string why_;
  int namespace_ = -1;
};

}  // namespace lapwing::net::ether
