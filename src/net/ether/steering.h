// The program in the kernel that brings packets to the sockets of an interface's receive queues (steer.bpf.c), shared by all ranks of a host that use
// the interface, of whatever job. The first one attaches it, by a link, which every rank holds a descriptor of; the kernel detaches the program when
// the last of these is closed, however its process ended. A program of another's making that is there already is left alone: then this way is not to
// be had.
//
//   link        descriptor of the attachment
//   endpoints   array by receive queue: which packets are for the rank there
//   sockets     by receive queue: the socket. The kernel takes one out when it is closed
//
// Needs CAP_BPF and CAP_NET_ADMIN, and CAP_SYS_ADMIN to find what another rank has attached.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "net/bpf/bpf.h"
#include "wire/encapsulation.h"

namespace lapwing::net::ether {

// What the program has to know of an endpoint, besides its queue.
struct Endpoint {
  std::uint64_t tag = 0;
  std::uint16_t ether_type = 0;  // 0: it takes no packets straight on Ethernet
  wire::UdpAddress udp;          // of queue 0; that of queue N has a port that is N higher. Without a port: it takes no datagrams
  bool rules = false;            // the NIC is to bring datagrams to the queue (nic_rules.h)

  // So that any NIC can steer: each queue has a port of its own.
  wire::UdpAddress udp_of(std::uint32_t queue) const noexcept {
    return {udp.address, static_cast<std::uint16_t>(udp.port == 0 ? 0 : udp.port + queue)};
  }
};

class Steering {
 public:
  static bool built() noexcept;
  // Of this build's program, by which the service and a rank know that they mean the same.
  static std::uint64_t fingerprint() noexcept;
  // Whether a program of this name is this version's.
  static bool is_own(const std::string& name) noexcept;

  // On the interface with this index of the thread's network namespace.
  Status join(unsigned interface, const std::string& name);
  // From now on packets for this endpoint that come in by this queue go to the socket.
  Status add(std::uint32_t queue, int socket, const Endpoint& endpoint);
  void remove(std::uint32_t queue) noexcept;
  // The attachment: the program stays as long as a process has it.
  const bpf::Descriptor& link() const noexcept { return link_; }

 private:
  Status attach(unsigned interface, const std::string& name, bool& taken);
  Status share(std::uint32_t program, const std::string& name, bool& gone);

  bpf::Descriptor link_, endpoints_, sockets_;
};

}  // namespace lapwing::net::ether
