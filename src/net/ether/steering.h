// The program in the kernel that brings packets to the sockets of an interface's receive queues (steer.bpf.c), shared by all ranks of a host that use
// the interface, of whatever job. The first one attaches it, by a link, which every rank holds a descriptor of; the kernel detaches the program when
// the last of these is closed, however its process ended. A program of another's making that is there already is left alone: then this way is not to
// be had.
//
//   link        descriptor of the attachment
//   endpoints   array by the endpoint's number: which packets are for the rank there
//   sockets     by the endpoint's number: the socket. The kernel takes one out when it is closed
//
// Needs CAP_BPF and CAP_NET_ADMIN, and CAP_SYS_ADMIN to find what another rank has attached.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "net/bpf/bpf.h"
#include "wire/encapsulation.h"

namespace lapwing::net::ether {

// What the program has to know of an endpoint, besides its number and queue.
struct Endpoint {
  std::uint64_t tag = 0;
  std::uint16_t ether_type = 0;  // 0: it takes no packets straight on Ethernet
  wire::UdpAddress udp;          // of endpoint 0; that of endpoint N has a port that is N higher. Without a port: it takes no datagrams
  bool rules = false;            // the NIC is to bring datagrams to the queue (nic_rules.h)
  std::uint64_t job = 0;         // whose ranks may share a queue; 0: they do not

  // So that any NIC can steer: each endpoint has a port of its own.
  wire::UdpAddress udp_of(std::uint32_t number) const noexcept {
    return {udp.address, static_cast<std::uint16_t>(udp.port == 0 ? 0 : udp.port + number)};
  }
};

// What the rank that has bound a queue offers to the others of its job (shared_queue.h): descriptors of its process.
struct Offer {
  std::uint32_t process = 0;
  int socket = -1, memory = -1;
  std::uint64_t cookie = 0;  // of the socket, by which it is known
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
  // From now on packets for this endpoint that come in by this queue go to the socket. Its number is the queue's.
  Status add(std::uint32_t queue, int socket, const Endpoint& endpoint, const Offer& offer = {});
  // The same for one that shares a queue, of so many: its number is the first that no endpoint has of those that are the queue's modulo `queues`. (So
  // a NIC may steer by that, too.)
  Status add_sharing(std::uint32_t queues, std::uint32_t queue, int socket, const Endpoint& endpoint, std::uint32_t& number);
  // Of the rank that has bound this queue. False: it is not of this job, or there is none.
  bool find_offer(std::uint32_t queue, std::uint64_t job, Offer& offer) const noexcept;
  void remove(std::uint32_t number) noexcept;
  // The attachment: the program stays as long as a process has it.
  const bpf::Descriptor& link() const noexcept { return link_; }

 private:
  Status attach(unsigned interface, const std::string& name, bool& taken);
  Status share(std::uint32_t program, const std::string& name, bool& gone);

  bpf::Descriptor link_, endpoints_, sockets_;
};

}  // namespace lapwing::net::ether
