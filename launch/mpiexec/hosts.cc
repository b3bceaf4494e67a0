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
#include <iterator>
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

// One "host", "host:4" or "[::1]:4". An IPv6 address without brackets has more colons than one, and no number behind it.
Status read_host(const std::string& word, int& slots) {
  const std::size_t bracket = word.front() == '[' ? word.find(']') : std::string::npos;
  const bool bracketed = bracket != std::string::npos;
  const std::size_t colon = word.find(':', bracketed ? bracket : 0);
  const bool counted = colon != std::string::npos && word.find(':', colon + 1) == std::string::npos;
  const std::string name = counted ? word.substr(0, colon) : word;
  const std::string host = bracketed && name.size() == bracket + 1 ? name.substr(1, bracket - 1) : name;
  if (!is_this_machine(host)) {
    return Status::error(MPI_ERR_ARG, "%s is not this machine (%s), and this mpiexec starts ranks here only; %s",
                         host.c_str(), name_of_this_machine().c_str(), kSeveralMachines);
  }
  return add_slots(counted ? word.substr(colon + 1) : "1", word, slots);
}

// "slots = 4" and "slots=4" are one word each.
std::string without_blanks_around_equals(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  std::string joined;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool blank = kBlanks.find(text[i]) != std::string_view::npos;
    const std::size_t next = text.find_first_not_of(kBlanks, i);
    const bool beside_equals = blank && ((next != std::string_view::npos && text[next] == '=') || (!joined.empty() && joined.back() == '='));
    if (!beside_equals) joined += text[i];
  }
  return joined;
}

// The words of Open MPI's and Hydra's host files that say nothing to this mpiexec: it puts as many ranks on a machine as it is told to, as its own user.
bool says_nothing_here(const std::string& word) {
  constexpr const char* kWords[] = {"max_slots=", "max-slots=", "slots_max=", "username=", "user=", "ifhn=", "binding="};
  return std::any_of(std::begin(kWords), std::end(kWords), [&](const char* begin) { return word.rfind(begin, 0) == 0; });
}

// A line of a host file: a host and words about it. No host: the line is empty.
Status read_host_line(const std::string& path, const std::string& line, int& slots) {
  constexpr std::string_view kSlots = "slots=";
  std::istringstream words(without_blanks_around_equals(line.substr(0, line.find('#'))));
  std::string host;
  if (!(words >> host)) return {};
  int here = 0;
  LAPWING_TRY(read_host(host, here));
  for (std::string word; words >> word;) {
    if (says_nothing_here(word)) continue;
    if (word.rfind(kSlots, 0) != 0) {
      return Status::error(MPI_ERR_ARG, "%s: '%s' is no word that a host file has behind a host; a number of ranks is 'slots=4', or 'host:4'", path.c_str(),
                           word.c_str());
    }
    here = 0;
    LAPWING_TRY(add_slots(word.substr(kSlots.size()), word, here));
  }
  slots += here;
  return {};
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
  for (std::string line; std::getline(file, line);) LAPWING_TRY(read_host_line(path, line, slots));
  if (slots == 0) return Status::error(MPI_ERR_ARG, "%s names no host", path.c_str());
  return {};
}

}  // namespace lapwing::launch
