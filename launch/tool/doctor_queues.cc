// The receive queues of the interface that raw Ethernet would use, and what serves them: what to change where ranks could be bound to their queues.
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "base/processor_list.h"
#include "base/settings.h"
#include "net/ether/interface.h"
#include "net/ether/queue_service.h"
#include "tool/doctor.h"

extern char** environ;

namespace lapwing::launch {
namespace {

using net::ether::Interface;
using net::ether::QueueService;

constexpr const char* kSubject = "receive queues";
constexpr std::size_t kMostShown = 8;

struct Coalescing {
  bool told = false, adaptive = false;
  unsigned microseconds = 0;
};

// How long the NIC waits for more packets before it interrupts.
Coalescing read_coalescing(const std::string& interface) {
  ethtool_coalesce asked{};
  asked.cmd = ETHTOOL_GCOALESCE;
  ifreq request{};
  std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&asked);
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool told = fd >= 0 && ::ioctl(fd, SIOCETHTOOL, &request) == 0;
  if (fd >= 0) ::close(fd);
  return {told, told && asked.use_adaptive_rx_coalesce != 0, told ? asked.rx_coalesce_usecs : 0};
}

std::string text_of(const Coalescing& coalescing) {
  if (!coalescing.told) return "";
  return "; interrupts wait for " + std::to_string(coalescing.microseconds) + " us" + (coalescing.adaptive ? ", as the NIC sees fit" : "");
}

std::string text_of(const std::vector<QueueService>& services) {
  std::string text;
  for (std::size_t queue = 0; queue < std::min(services.size(), kMostShown); ++queue) {
    const QueueService& service = services[queue];
    text += (queue == 0 ? "" : ", ") + std::to_string(queue) + (service.known() ? " by " + service.text() : ", how is not known");
    if (service.known()) text += " on processors " + print_processor_list(service.processors);
  }
  return text + (services.size() > kMostShown ? ", and " + std::to_string(services.size() - kMostShown) + " more" : "");
}

// The first queue that is not served on one processor of its own; the number of queues: there is none.
std::size_t find_unbound(const std::vector<QueueService>& services) {
  ProcessorSet taken;
  for (std::size_t queue = 0; queue < services.size(); ++queue) {
    if (services[queue].processors.count() != 1 || (taken & services[queue].processors).any()) return queue;
    taken |= services[queue].processors;
  }
  return services.size();
}

std::string how_to_pin(const Interface& interface, const QueueService& service) {
  const std::string number = std::to_string(service.number);
  switch (service.by) {
    case QueueService::By::kThread:
      return "taskset -p -c PROCESSOR " + number;
    case QueueService::By::kInterrupt:
      return "echo PROCESSOR >/proc/irq/" + number + "/smp_affinity_list, with irqbalance stopped";
    case QueueService::By::kSteering:
      return "echo MASK >/sys/class/net/" + interface.name + "/queues/rx-" + number + "/rps_cpus";
    case QueueService::By::kUnknown:
      break;
  }
  return "echo 1 >/sys/class/net/" + interface.name + "/threaded gives each a kernel thread, which taskset pins, where the driver has it";
}

std::string remedy_for(const Interface& interface, const std::vector<QueueService>& services, const Coalescing& coalescing) {
  std::string remedy;
  // More queues than processors have to share.
  const std::size_t unbound = find_unbound(services);
  if (unbound < std::min(services.size(), static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)))))
    remedy = "for mpiexec --bind-to queue have queue " + std::to_string(unbound) +
             " served on one processor of its own: " + how_to_pin(interface, services[unbound]);
  if (coalescing.told && (coalescing.microseconds > 1 || coalescing.adaptive))
    remedy += (remedy.empty() ? "" : "; ") + ("for short messages: ethtool -C " + interface.name + " adaptive-rx off rx-usecs 0");
  return remedy;
}

}  // namespace

// It is a warning only where raw Ethernet was asked for.
Finding check_queues() {
  Settings settings;
  [[maybe_unused]] const Status reported_by_check_settings = settings.load(environ);
  Interface interface;
  if (!net::ether::choose_interface(settings.ether_interface, interface).ok())
    return {Verdict::kOk, kSubject, "none: there is no Ethernet interface to use", ""};
  const std::vector<QueueService> services = net::ether::queue_services(interface);
  const Coalescing coalescing = read_coalescing(interface.name);
  const std::string remedy = remedy_for(interface, services, coalescing);
  const bool asked = std::find(settings.transports.begin(), settings.transports.end(), "ether") != settings.transports.end();
  return {asked && !remedy.empty() ? Verdict::kWarning : Verdict::kOk, kSubject, interface.name + ": " + text_of(services) + text_of(coalescing),
          asked ? remedy : ""};
}

}  // namespace lapwing::launch
