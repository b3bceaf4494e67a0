#include "mpiexec/queue_binding.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/settings.h"
#include "mpiexec/binding.h"
#include "net/ether/interface.h"
#include "net/ether/queue_service.h"

namespace lapwing::launch {
namespace {

ProcessorSet processors_of(const Core& core) {
  return set_of_processors(core.processors);
}

bool meet(const ProcessorSet& left, const ProcessorSet& right) {
  return (left & right).any();
}

ProcessorSet usable(const Machine& machine) {
  ProcessorSet all;
  for (const Core& core : machine.cores) all |= processors_of(core);
  return all;
}

// The places of the ranks that have a queue to themselves, in the order of the queues.
struct Place {
  ProcessorSet processors;
  std::string queues;
};

// Queues that the same processors serve are one place. A queue that all processors serve has none.
std::vector<Place> find_places(const Machine& machine, const QueueSets& queues) {
  const ProcessorSet all = usable(machine);
  std::vector<Place> places;
  for (std::size_t queue = 0; queue < queues.served.size(); ++queue) {
    const ProcessorSet served = queues.served[queue] & all;
    if (served.none() || served == all) continue;
    const auto there = std::find_if(places.begin(), places.end(), [&](const Place& place) { return meet(place.processors, served); });
    if (there != places.end())
      there->queues += ", " + std::to_string(queue);
    else
      places.push_back({served, std::to_string(queue)});
  }
  return places;
}

// The cores that no place has.
Machine without(Machine machine, const std::vector<Place>& places) {
  const auto taken = [&](const Core& core) {
    return std::any_of(places.begin(), places.end(), [&](const Place& place) { return meet(place.processors, processors_of(core)); });
  };
  machine.cores.erase(std::remove_if(machine.cores.begin(), machine.cores.end(), taken), machine.cores.end());
  return machine;
}

}  // namespace

QueueSets read_queue_sets(char** environment) {
  QueueSets sets;
  Settings settings;
  if (!settings.load(environment).ok()) return sets;  // which is told elsewhere
  if (std::find(settings.transports.begin(), settings.transports.end(), "ether") == settings.transports.end())
    return sets.why = "LAPWING_TRANSPORTS does not name ether, so ranks have no receive queues", sets;
  net::ether::Interface interface;
  if (const Status chosen = net::ether::choose_interface(settings.ether_interface, interface); !chosen.ok()) return sets.why = chosen.text(), sets;
  sets.interface = interface.name;
  bool known = false;
  for (const net::ether::QueueService& service : net::ether::queue_services(interface, settings.ether_queues)) {
    sets.served.push_back(service.processors);
    known |= service.known();
  }
  if (!known) sets.why = "nothing tells which processors serve the receive queues of " + interface.name + " (`lapwing doctor` says more)";
  return sets;
}

std::vector<ProcessorSet> plan_queue_binding(const Machine& machine, const QueueSets& queues, int ranks, std::vector<std::string>& texts) {
  texts.clear();
  if (ranks > machine.usable_cores()) return {};
  std::vector<Place> places = find_places(machine, queues);
  if (places.empty()) return {};
  const auto count = static_cast<std::size_t>(ranks);
  if (places.size() > count) places.resize(count);
  const Machine others = without(machine, places);
  const int left = ranks - static_cast<int>(places.size());
  std::vector<ProcessorSet> rest = plan_binding(others, {BindPolicy::kCore}, left);
  if (left > 0 && rest.empty()) return texts.clear(), std::vector<ProcessorSet>();
  std::vector<ProcessorSet> plan;
  for (const Place& place : places) {
    plan.push_back(place.processors);
    texts.push_back("receive queue " + place.queues + " of " + queues.interface);
  }
  plan.insert(plan.end(), rest.begin(), rest.end());
  texts.resize(count);
  return plan;
}

}  // namespace lapwing::launch
