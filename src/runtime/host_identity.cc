#include "runtime/host_identity.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/processor_list.h"
#include "runtime/processor_quota.h"
#include "wire/machine.h"

namespace lapwing::runtime {
namespace {

std::string first_word(const char* path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

}  // namespace

std::string host_identity() {
  return first_word("/proc/sys/kernel/random/boot_id") + wire::kWithinKernel + network_namespace() + "/" + std::to_string(getuid());
}

std::string emulated_host(int rank) {
  const char* letters = std::getenv("LAPWING_INTERNAL_HOSTS");
  if (letters == nullptr || *letters == '\0') return {};
  return std::string(1, letters[static_cast<std::size_t>(rank) % std::strlen(letters)]);
}

std::string network_namespace() {
  struct stat network {};
  stat("/proc/self/ns/net", &network);
  return std::to_string(network.st_ino);
}

std::string host_name() {
  utsname names{};
  return uname(&names) == 0 ? names.nodename : "unknown";
}

int usable_cores() {
  const int cores = static_cast<int>(processors_of(0).count());
  const double quota = processor_quota();
  return std::max(1, quota > 0 ? std::min(cores, static_cast<int>(quota)) : cores);
}

}  // namespace lapwing::runtime
