// The rule of a NIC (n-tuple filtering; what `ethtool -N` sets) by which an endpoint's datagrams come in by its receive queue. A NIC with several
// queues spreads what comes by a hash of its own (RSS) otherwise, and the program in the kernel (steer.bpf.c) takes datagrams for an endpoint from
// its queue alone. Packets straight on Ethernet have no rule: all queues share their EtherType.
//
//   UDP over IPv4, to the endpoint's address and port  ->  its queue
//
// The process that binds the queue with its own rights sets the rule: a rank, or the service. It does so only where the interface has more than one
// queue and the endpoint takes datagrams. Of the rules that take all of the endpoint's datagrams the NIC goes by the first. One that says the same,
// of a rank that was killed or of an administrator, is taken as it is, and never removed. One that leads elsewhere is left alone, and
// LAPWING_LOG=info says so. Where there is neither, a rule is added, and removed when the rank leaves in order. Where the place is this process's to
// choose it is the last one that is free, so that narrower rules of an administrator go before. A NIC that takes no rules, or has no place for one,
// is no error: it chooses the queue as it would without this file, and the probes with which a job begins find out who is reached (neighbours.h).
#pragma once

#include <linux/ethtool.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "net/bpf/bpf.h"
#include "net/ether/steering.h"

namespace lapwing::net::ether {

// The NIC of an interface, as far as rules go; a test has another one.
class NicControl {
 public:
  virtual ~NicControl() = default;

  virtual std::string name() const = 0;
  virtual unsigned queues() const = 0;
  // A command of linux/ethtool.h (ETHTOOL_GRXCLSRLCNT and the others of its kind). An errno value; 0: it is done, and `command` holds the answer.
  // `locations`: room for those that ETHTOOL_GRXCLSRLALL tells.
  virtual int call(ethtool_rxnfc& command, std::span<std::uint32_t> locations) = 0;
  // Processes that set rules do so one after the other, because the place for a rule may be theirs to choose. False: it is another's turn.
  virtual bool try_lock() noexcept = 0;
  virtual void unlock() noexcept = 0;
};

// By the kernel; of the interface with this index of the thread's network namespace.
class InterfaceNic : public NicControl {
 public:
  explicit InterfaceNic(unsigned interface) noexcept : interface_(interface) {}

  std::string name() const override;
  unsigned queues() const override;
  int call(ethtool_rxnfc& command, std::span<std::uint32_t> locations) override;
  bool try_lock() noexcept override;
  void unlock() noexcept override { lock_ = {}; }
  // By which ranks on the interface are reached by UDP.
  bool has_address(std::uint32_t address) const;

 private:
  const unsigned interface_;
  bpf::Descriptor lock_;
};

// The rule of one endpoint.
class NicRule {
 public:
  // For the endpoint that has this queue and number. Says in a sentence, at LAPWING_LOG=info as well, what has become of it; empty: none is needed.
  std::string set(std::unique_ptr<NicControl> nic, const Endpoint& endpoint, std::uint32_t queue, std::uint32_t number);
  // The rank leaves in order. What this process has not added, or is another's by now, stays.
  void remove() noexcept;

 private:
  std::string settle(const wire::UdpAddress& to, std::uint32_t queue);
  std::string add(const wire::UdpAddress& to, std::uint32_t queue, std::uint32_t location);

  std::unique_ptr<NicControl> nic_;
  std::optional<ethtool_rx_flow_spec> added_;
};

// What `lapwing doctor` says of the NIC: how many rules it has, and how many of them are for datagrams of endpoints such as this one, on whatever
// queue; or what it lacks.
std::string describe_rules(NicControl& nic, const Endpoint& endpoint);

}  // namespace lapwing::net::ether
