// Where packets for an IPv4 address go first: to the peer itself, or to the router that leads there. The kernel's tables of routes and of neighbours
// are asked (rtnetlink, which needs no rights). An Ethernet address that the kernel does not know, or has not tried of late, it looks for when
// something is sent there: so a datagram without content goes that way by an ordinary socket.
#pragma once

#include <cstdint>
#include <map>

#include "net/bpf/bpf.h"
#include "net/ether/interface.h"
#include "wire/encapsulation.h"

namespace lapwing::net::ether {

struct NextHop {
  Mac mac{};
  unsigned mtu = 0;  // that the route allows; 0: it says nothing
};

class NextHops {
 public:
  // From this interface's address.
  explicit NextHops(const Interface& interface);

  enum class Outcome {
    kFound,
    kLooking,  // the kernel has been asked to find it: ask again in a moment
    kNone,     // no way leads from the interface to there
  };
  Outcome find(const wire::UdpAddress& to, NextHop& hop);

 private:
  struct Route {
    bool there = false;
    std::uint32_t next = 0;  // address
    unsigned mtu = 0;
  };
  Route route_to(std::uint32_t address);
  // `sure`: the kernel has heard from it of late, or has been told.
  bool neighbour(std::uint32_t address, Mac& mac, bool& sure);
  void have_it_found(const wire::UdpAddress& to) noexcept;

  const unsigned interface_;
  const std::uint32_t own_;
  bpf::Descriptor netlink_, socket_;
  std::map<std::uint32_t, NextHop> found_;  // by address: ranks of a host share it
};

}  // namespace lapwing::net::ether
