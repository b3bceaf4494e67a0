#include "runtime/processor_quota.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

namespace lapwing::runtime {
namespace {

void take_lower(double& least, double quota, double period) {
  if (quota <= 0 || period <= 0) return;
  const double cores = quota / period;
  least = least == 0 ? cores : std::min(least, cores);
}

// "max 100000" or "150000 100000".
void read_version_2(const std::string& folder, double& least) {
  std::ifstream file(folder + "/cpu.max");
  double quota = 0, period = 0;
  if (file >> quota >> period) take_lower(least, quota, period);
}

// The quota is -1 where there is none.
void read_version_1(const std::string& folder, double& least) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us"), period_file(folder + "/cpu.cfs_period_us");
  double quota = 0, period = 0;
  if (quota_file >> quota && period_file >> period) take_lower(least, quota, period);
}

using Read = void (*)(const std::string& folder, double& least);

// From the group up to where the hierarchy is mounted. A container may see its own group as the mount, and a path that the
// mount does not have: groups that are not there limit nothing.
void climb(const std::string& mount, std::string group, Read read, double& least) {
  for (;;) {
    while (!group.empty() && group.back() == '/') group.pop_back();
    read(mount + group, least);
    if (group.empty()) return;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

struct Hierarchy {
  bool version_2 = false;
  std::string mount;
};

// Lines of mountinfo: ... mount-point options [more fields] - type source options.
std::vector<Hierarchy> hierarchies(const std::string& root) {
  std::vector<Hierarchy> found;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream before(line.substr(0, dash)), after(line.substr(dash + 3));
    std::string skipped, mount, type, source, options;
    before >> skipped >> skipped >> skipped >> skipped >> mount;
    after >> type >> source >> options;
    const bool processors = ("," + options + ",").find(",cpu,") != std::string::npos;
    if (type == "cgroup2" || (type == "cgroup" && processors)) found.push_back({type == "cgroup2", mount});
  }
  return found;
}

// Lines of /proc/self/cgroup: number:controllers:group, where version 2 is "0::group".
std::string own_group(const std::string& root, bool version_2) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (version_2 ? line.rfind("0::", 0) == 0 : controllers.find(",cpu,") != std::string::npos)
      return line.substr(second + 1);
  }
  return {};
}

}  // namespace

double processor_quota(const std::string& root) {
  double least = 0;
  for (const Hierarchy& hierarchy : hierarchies(root)) {
    climb(root + hierarchy.mount, own_group(root, hierarchy.version_2),
          hierarchy.version_2 ? &read_version_2 : &read_version_1, least);
  }
  return least;
}

}  // namespace lapwing::runtime
