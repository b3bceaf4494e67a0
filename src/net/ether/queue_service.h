// Which processors serve each receive queue of an interface: there the kernel sees what came in by the queue and hands it on, so there a rank finds
// it in the cache. One of three does, the first that is told counts:
//
//   a thread of the kernel       threaded NAPI (/sys/class/net/IF/threaded)
//   the queue's interrupt        /proc/irq/N
//   receive packet steering      /sys/class/net/IF/queues/rx-N/rps_cpus
//
// Of loopback, and of a veth pair that has none of these, nothing is told: whoever sends does the receiver's work as well.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/processor_list.h"
#include "net/ether/interface.h"

namespace lapwing::net::ether {

struct QueueService {
  enum class By : std::uint8_t { kUnknown, kThread, kInterrupt, kSteering };

  bool known() const noexcept { return by != By::kUnknown; }
  // "interrupt 38", "kernel thread 31007"
  std::string text() const;

  By by = By::kUnknown;
  int number = -1;       // process id of the thread; the interrupt's
  ProcessorSet processors;  // not empty when known
};

// By queue; of the first `most` (LAPWING_ETHER_QUEUES), or with 0 of all.
std::vector<QueueService> queue_services(const Interface& interface, unsigned most = 0);

// The numbers of the interrupts of an interface's receive queues, by queue, as the last words of the lines of /proc/interrupts name them; -1: none is
// named so. `device`: the name of what the interface's driver drives ("virtio2", "0000:3b:00.0"); empty: none.
std::vector<int> parse_interrupts(std::string_view table, std::string_view interface, std::string_view device, unsigned queues);

}  // namespace lapwing::net::ether
