#include "machine.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>

#include "runtime/processor_quota.h"

namespace lapwing::launch {
namespace {

std::optional<int> parse_int(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// Processor -> memory node. Machines without the file have one node, 0.
std::vector<int> read_nodes() {
  std::vector<int> node_of(kMostProcessors, 0);
  for (const int node : parse_processor_list(read_small_file("/sys/devices/system/node/online"))) {
    const std::string path = "/sys/devices/system/node/node" + std::to_string(node) + "/cpulist";
    for (const int processor : parse_processor_list(read_small_file(path))) {
      node_of[static_cast<std::size_t>(processor)] = node;
    }
  }
  return node_of;
}

std::optional<double> read_cpu_quota() {
  const double quota = runtime::processor_quota();
  return quota > 0 ? std::optional(quota) : std::nullopt;
}

}  // namespace

std::string read_small_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  char bytes[4096];
  const ssize_t count = ::read(fd, bytes, sizeof bytes);
  ::close(fd);
  return count > 0 ? std::string(bytes, static_cast<std::size_t>(count)) : std::string();
}

std::string network_namespace() {
  struct stat network {};
  ::stat("/proc/self/ns/net", &network);
  return std::to_string(network.st_ino);
}

int Machine::usable_cores() const noexcept {
  const int count = static_cast<int>(cores.size());
  if (!cpu_quota) return std::max(count, 1);
  return std::clamp(static_cast<int>(std::floor(*cpu_quota + 0.01)), 1, std::max(count, 1));
}

Machine read_machine() {
  Machine machine;
  machine.processors_online = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  machine.cpu_quota = read_cpu_quota();
  const ProcessorSet allowed = processors_of(0);
  const std::vector<int> node_of = read_nodes();
  std::map<std::tuple<int, int, int>, Core> cores;
  for (int processor = 0; processor < kMostProcessors; ++processor) {
    if (!allowed[processor]) continue;
    ++machine.processors;
    const std::string topology = "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/";
    const int package = parse_int(read_small_file(topology + "physical_package_id")).value_or(0);
    const int number = parse_int(read_small_file(topology + "core_id")).value_or(processor);
    const std::vector<int> threads = parse_processor_list(read_small_file(topology + "thread_siblings_list"));
    const int node = node_of[static_cast<std::size_t>(processor)];
    // Clusters of one package may number their cores alike, each from 0 on; the processors of a core are its own everywhere.
    Core& core = cores[{node, package, threads.empty() ? number : threads.front()}];
    core.package = package;
    core.node = node;
    core.number = number;
    core.processors.push_back(processor);
  }
  for (auto& entry : cores) machine.cores.push_back(std::move(entry.second));
  return machine;
}

void read_caches(Machine& machine) {
  for (Core& core : machine.cores) {
    const std::string cache =
        "/sys/devices/system/cpu/cpu" + std::to_string(core.processors.front()) + "/cache/index3/";
    const std::vector<int> sharing = parse_processor_list(read_small_file(cache + "shared_cpu_list"));
    const bool found = parse_int(read_small_file(cache + "level")) == 3 && !sharing.empty();
    core.cache = found ? sharing.front() : -1 - core.package;
  }
}

}  // namespace lapwing::launch
