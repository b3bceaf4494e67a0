#include "mpi/hardware.h"

#include <dirent.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "base/processor_list.h"

namespace lapwing::mpi {

namespace {

constexpr std::int32_t kNone = -1;

std::string cpu_folder(int cpu) {
  return "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/";
}

// The number that a file of sysfs begins with. A list of CPUs ("4-7,12-15") begins with its first, which names the
// list.
std::int32_t first_number(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), &std::fclose);
  int number = kNone;
  return file != nullptr && std::fscanf(file.get(), "%d", &number) == 1 ? number : kNone;
}

// Shown by a link cpuN/nodeM.
std::int32_t numa_node(int cpu) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(cpu_folder(cpu).c_str()), &closedir);
  if (folder == nullptr) return kNone;
  while (const dirent* entry = readdir(folder.get())) {
    int node = kNone;
    if (std::sscanf(entry->d_name, "node%d", &node) == 1) return node;
  }
  return kNone;
}

std::int32_t instance_of(int cpu, std::size_t level) {
  switch (level) {
    case 0:
      return 0;
    case 1:
      return first_number(cpu_folder(cpu) + "topology/physical_package_id");
    case 2:
      return numa_node(cpu);
    case 3:
      return first_number(cpu_folder(cpu) + "cache/index3/shared_cpu_list");
    default:
      return first_number(cpu_folder(cpu) + "topology/thread_siblings_list");
  }
}

std::int32_t common_instance(const ProcessorSet& allowed, std::size_t level) {
  std::int32_t common = kNone;
  for (int cpu = 0; cpu < kMostProcessors; ++cpu) {
    if (!allowed.test(cpu)) continue;
    const std::int32_t instance = instance_of(cpu, level);
    if (instance == kNone || (common != kNone && instance != common)) return kNone;
    common = instance;
  }
  return common;
}

}  // namespace

int resource_level(std::string_view type) noexcept {
  constexpr std::string_view kPrefix = "hwloc://";
  for (std::size_t level = 0; level < kResourceLevels; ++level) {
    const std::string_view name = kResourceTypes[level];
    const bool prefixed = name.substr(0, kPrefix.size()) == kPrefix;
    if (type == name || (prefixed && type == name.substr(kPrefix.size()))) return static_cast<int>(level);
  }
  return kNone;
}

std::array<std::int32_t, kResourceLevels> own_resources() {
  std::array<std::int32_t, kResourceLevels> resources;
  resources.fill(kNone);
  resources[0] = 0;
  const ProcessorSet allowed = processors_of(0);
  for (std::size_t level = 1; level < kResourceLevels; ++level) resources[level] = common_instance(allowed, level);
  return resources;
}

}  // namespace lapwing::mpi
