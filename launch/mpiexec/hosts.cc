#include "mpiexec/hosts.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

namespace lapwing::launch {
namespace {

std::string before_dot(const std::string& name) {
  return name.substr(0, name.find('.'));
}

bool same_address(const sockaddr* one, const sockaddr* other) {
  if (one == nullptr || one->sa_family != other->sa_family) return false;
  if (one->sa_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(one)->sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in*>(other)->sin_addr.s_addr;
  }
  return one->sa_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6*>(one)->sin6_addr,
                     &reinterpret_cast<const sockaddr_in6*>(other)->sin6_addr, sizeof(in6_addr)) == 0;
}

bool is_loopback(const sockaddr* address) {
  return address->sa_family == AF_INET &&
         (ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24) == 127;
}

bool is_own_address(const sockaddr* address) {
  if (is_loopback(address)) return true;
  ifaddrs* interfaces = nullptr;
  if (::getifaddrs(&interfaces) != 0) return false;
  bool found = false;
  for (const ifaddrs* each = interfaces; each != nullptr && !found; each = each->ifa_next) {
    found = same_address(each->ifa_addr, address);
  }
  ::freeifaddrs(interfaces);
  return found;
}

bool resolves_to_this_machine(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* addresses = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &addresses) != 0) return false;
  bool found = false;
  for (const addrinfo* each = addresses; each != nullptr && !found; each = each->ai_next) {
    found = is_own_address(each->ai_addr);
  }
  ::freeaddrinfo(addresses);
  return found;
}

Status add_slots(const std::string& text, const std::string& where, int& slots) {
  constexpr int kMaxSlots = 1000000;
  int count = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || stop != text.data() + text.size() || count < 1 || count > kMaxSlots) {
    return Status::error(MPI_ERR_ARG, "'%s': '%s' is no number of ranks", where.c_str(), text.c_str());
  }
  slots = std::min(slots + count, kMaxSlots);
  return {};
}

// One "host" or "host:4". An IPv6 address has more colons than one.
Status read_host(const std::string& word, int& slots) {
  const std::size_t colon = word.find(':');
  const bool counted = colon != std::string::npos && word.find(':', colon + 1) == std::string::npos;
  const std::string host = counted ? word.substr(0, colon) : word;
  if (!is_this_machine(host)) {
    return Status::error(MPI_ERR_ARG, "%s is not this machine (%s), and this mpiexec starts ranks here only; %s",
                         host.c_str(), name_of_this_machine().c_str(), kSeveralMachines);
  }
  return add_slots(counted ? word.substr(colon + 1) : "1", word, slots);
}

}  // namespace

const char* const kSeveralMachines =
    "for several machines use srun --mpi=pmi2 inside Slurm, or MPICH's mpiexec (Hydra), which start Lapwing programs "
    "too";

std::string name_of_this_machine() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

bool is_this_machine(const std::string& host) {
  const std::string own = name_of_this_machine();
  if (host == "localhost" || host == own) return true;
  // A short name for a long one; two long names may belong to two machines.
  const bool one_is_short = host.find('.') == std::string::npos || own.find('.') == std::string::npos;
  if (one_is_short && !host.empty() && before_dot(host) == before_dot(own)) return true;
  return resolves_to_this_machine(host);
}

Status read_host_list(std::string_view list, int& slots) {
  std::istringstream words{std::string(list)};
  for (std::string word; std::getline(words, word, ',');) {
    if (!word.empty()) LAPWING_TRY(read_host(word, slots));
  }
  if (slots == 0) return Status::error(MPI_ERR_ARG, "no host is named");
  return {};
}

Status read_host_file(const std::string& path, int& slots) {
  std::ifstream file(path);
  if (!file) return Status::error(MPI_ERR_ARG, "cannot read %s: %s", path.c_str(), std::strerror(errno));
  for (std::string text; std::getline(file, text);) {
    std::istringstream words(text.substr(0, text.find('#')));
    std::string host;
    if (!(words >> host)) continue;
    int here = 0;
    LAPWING_TRY(read_host(host, here));
    for (std::string word; words >> word;) {
      if (word.rfind("slots=", 0) != 0) continue;
      here = 0;
      LAPWING_TRY(add_slots(word.substr(6), word, here));
    }
    slots += here;
  }
  if (slots == 0) return Status::error(MPI_ERR_ARG, "%s names no host", path.c_str());
  return {};
}

}  // namespace lapwing::launch
