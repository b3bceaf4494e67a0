// Raw Ethernet for one rank that lacks the rights (net/ether/service_source.h): its socket, and its place in the program that brings packets to the
// sockets of an interface. The program is shared by all ranks of the interface, of whatever user: so no rank gets its maps, in which the tags of
// others are.
//
// A rank that has its socket may send any packet by any interface of the network namespace; Linux has no smaller right. So administrators name the
// interfaces whose queues ranks may have (--ether), and thereby say that users may do so.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "net/bpf/bpf.h"
#include "net/ether/nic_rules.h"
#include "net/ether/steering.h"
#include "wire/accelerator.h"

namespace lapwing::launch {

// The programs that are attached, one for each interface, as long as a rank uses it. Each function may be called by any thread.
class EtherPrograms {
 public:
  // `rules`: a NIC is given rules for its ranks (net/ether/nic_rules.h).
  EtherPrograms(std::vector<std::string> interfaces, std::uint16_t ether_type, std::uint16_t port, bool rules)
      : interfaces_(std::move(interfaces)), ether_type_(ether_type), port_(port), rules_(rules) {}

  Status check(const wire::AcceleratorRequest& bind) const;
  Status join(unsigned interface, std::shared_ptr<net::ether::Steering>& program);
  bool allowed() const noexcept { return !interfaces_.empty(); }
  bool rules() const noexcept { return rules_; }
  std::mutex& mutex() noexcept { return mutex_; }

 private:
  const std::vector<std::string> interfaces_;
  const std::uint16_t ether_type_, port_;
  const bool rules_;
  std::mutex mutex_;  // of the programs' maps as well
  std::map<unsigned, std::weak_ptr<net::ether::Steering>> programs_;
};

class EtherEndpoint {
 public:
  EtherEndpoint(EtherPrograms& programs, uid_t user) noexcept : programs_(programs), user_(user) {}

  static std::uint64_t memory() noexcept;
  Status check(const wire::AcceleratorRequest& hello) const;
  // Checks the memory and makes the socket.
  Status take_memory(int file);
  // `taken`: another socket has the queue.
  Status bind(const wire::AcceleratorRequest& bind, bool& taken);
  // Peers that ask for the endpoint are not answered any more. One that ends without that is told to have gone.
  Status leave(std::uint32_t queue);

  const net::bpf::Descriptor& socket() const noexcept { return socket_; }
  const net::bpf::Descriptor& link() const noexcept { return program_->link(); }

 private:
  Status bind_socket(const wire::AcceleratorRequest& bind, const net::ether::Endpoint& endpoint, bool& taken);

  EtherPrograms& programs_;
  const uid_t user_;
  net::bpf::Descriptor socket_;
  std::shared_ptr<net::ether::Steering> program_;  // null: it is bound to nothing
  net::ether::NicRule rule_;
  std::uint32_t queue_ = 0;
};

}  // namespace lapwing::launch
