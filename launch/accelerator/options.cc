#include "accelerator/options.h"

#include <algorithm>
#include <charconv>

#include "base/settings.h"

namespace lapwing::launch {
namespace {

bool parse_number(const std::string& text, std::uint32_t& value) {
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end && value != 0;
}

bool parse_text(const std::string& text, std::string& value) {
  value = text;
  return !text.empty();
}

// False: the value is none for this option, or there is no such option.
bool assign(const std::string& name, const std::string& value, AcceleratorOptions& options) {
  AcceleratorLimits& limits = options.limits;
  if (name == "--socket") return parse_text(value, options.socket);
  if (name == "--group") return parse_text(value, options.group);
  if (name == "--ether") return settings::ListKind::parse(value, options.ether) && !options.ether.empty();
  if (name == "--user-memory") return settings::BytesKind::parse(value, limits.user_memory);
  if (name == "--memory") return settings::BytesKind::parse(value, limits.memory);
  if (name == "--user-ranks") return parse_number(value, limits.user_ranks);
  if (name == "--ranks") return parse_number(value, limits.ranks);
  if (name == "--user-connections") return parse_number(value, limits.user_connections);
  return false;
}

}  // namespace

const char* const kAcceleratorUsage =
    "usage: lapwing accelerator [options]\n"
    "A service for users who may load no programs into the kernel: it has messages over TCP matched there for their ranks, and gives them\n"
    "sockets for raw Ethernet (docs/ethernet.md). It needs CAP_BPF and CAP_NET_ADMIN, keeps no other right, and serves the network namespace\n"
    "that it runs in. Administrators run it under systemd.\n"
    "  --socket PATH           where ranks find it (LAPWING_ACCELERATOR; default /run/lapwing/accelerator)\n"
    "  --group NAME            only members of this group may use it\n"
    "  --ether LIST            interfaces of which ranks may have receive queues for raw Ethernet. It then needs and keeps CAP_NET_RAW as\n"
    "                          well. Whoever gets one may send any packet by them (default: none)\n"
    "  --user-memory BYTES     that the ranks of a user may pin (default: an eighth of the machine's memory)\n"
    "  --memory BYTES          that all ranks may pin (default: a quarter of it)\n"
    "  --user-ranks N          ranks of a user at a time (default 256)\n"
    "  --ranks N               ranks at a time (default 4096)\n"
    "  --user-connections N    connections of the ranks of a user (default 16384)\n"
    "LAPWING_LOG=info says what each rank has got, and why one was refused.\n";

Status parse_accelerator_options(const std::vector<std::string>& arguments, std::uint64_t machine_memory, AcceleratorOptions& options) {
  options.limits.user_memory = machine_memory / 8;
  options.limits.memory = machine_memory / 4;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    if (arguments[i] == "--help" || arguments[i] == "-h") return options.help = true, Status();
    if (i + 1 == arguments.size()) return Status::error(MPI_ERR_ARG, "%s is no option, or its value is missing", arguments[i].c_str());
    if (!assign(arguments[i], arguments[i + 1], options))
      return Status::error(MPI_ERR_ARG, "%s is no option, or %s no value for it", arguments[i].c_str(), arguments[i + 1].c_str());
  }
  return {};
}

}  // namespace lapwing::launch
