// An Ethernet segment of two interfaces (a veth pair), each with an address in a network namespace of its own that this process makes for its tests,
// so that nothing outside sees it. Where that cannot be had (root rights, iproute2, a kernel with AF_XDP), why() says so, and tests skip themselves.
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

  // Of both interfaces.
  bool set_mtu(unsigned mtu) const {
    for (const unsigned interface : {0u, 1u}) {
      const Visit visit(*this, interface);
      const std::string name = kInterfaces[interface];
      if (std::system(("ip link set " + name + " mtu " + std::to_string(mtu)).c_str()) != 0) return false;
    }
    return true;
  }

  // The calling thread is in the interface's namespace as long as this lives: what it opens belongs there.
  class Visit {
   public:
    Visit(const TestSegment& segment, unsigned interface) noexcept : outside_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
      if (segment.ready()) setns(segment.namespaces_[interface], CLONE_NEWNET);
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
  // A thread of its own enters the namespaces; what it runs inherits that.
  TestSegment() {
    std::thread([this] { make(); }).join();
  }
  ~TestSegment() {
    for (const int space : namespaces_) {
      if (space >= 0) ::close(space);
    }
  }

  void make() {
    if (!Steering::built()) return give_up("it was built without the program for the kernel");
    for (int& space : namespaces_) {
      if (unshare(CLONE_NEWNET) != 0) return give_up(std::string("no network namespace: ") + std::strerror(errno));
      space = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    }
    // The thread is in the second one.
    const std::string first = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(namespaces_[0]);
    const std::string pair = "ip link add lwether1 type veth peer name lwether0 netns " + first +
                             " 2>/dev/null && ip address add 198.18.0.2/24 dev lwether1 && ip link set lwether1 up";
    if (std::system(pair.c_str()) != 0) return give_up("no veth pair (iproute2, or the kernel, lacks it)");
    setns(namespaces_[0], CLONE_NEWNET);
    if (std::system("ip address add 198.18.0.1/24 dev lwether0 && ip link set lwether0 up") != 0) return give_up("no address for a veth pair");
    const int socket = ::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (socket < 0) return give_up(std::string("no AF_XDP socket: ") + std::strerror(errno));
    ::close(socket);
  }
  void give_up(const std::string& why) { why_ = "raw Ethernet cannot be had here: " + why; }

  std::string why_;
  int namespaces_[2] = {-1, -1};
};

}  // namespace lapwing::net::ether
