// Raw Ethernet: what a job that asks for it would have.
#include <algorithm>
#include <cstdint>

#include "base/settings.h"
#include "net/ether/attached_program.h"
#include "net/ether/framings.h"
#include "net/ether/interface.h"
#include "net/ether/nic_rules.h"
#include "net/ether/rights.h"
#include "net/ether/steering.h"
#include "tool/doctor.h"

extern char** environ;

namespace lapwing::launch {
namespace {

using net::ether::Interface;
using net::ether::Steering;

constexpr const char* kSubject = "raw Ethernet";
constexpr const char* kPortsMustBeOpen = "; firewalls between the hosts, and a cloud's security groups, must let the ports pass";

bool asks_for_ether(const Settings& settings) {
  return std::find(settings.transports.begin(), settings.transports.end(), "ether") != settings.transports.end();
}

// It is a warning only where it was asked for; jobs use TCP in any case.
Finding not_to_be_had(const Settings& settings, const std::string& why, const std::string& remedy) {
  const bool asked = asks_for_ether(settings);
  return {asked ? Verdict::kWarning : Verdict::kOk, kSubject, "not to be had, " + why + (asked ? "; jobs use TCP instead" : "; not asked for"),
          asked ? remedy : ""};
}

// The name of an XDP program of another's making on this interface; empty: there is none, as far as is told.
std::string foreign_program(const Interface& interface) {
  std::uint32_t number = 0;
  net::ether::AttachedProgram attached;
  if (!net::ether::attached_program(interface.index, number).ok() || number == 0) return "";
  if (!net::ether::open_attached(number, attached).ok() || attached.gone || Steering::is_own(attached.name)) return "";
  return attached.name.empty() ? "without a name" : attached.name;
}

// Of datagrams alone: packets straight on Ethernet have none.
std::string rules_for(const Interface& interface, const net::ether::Endpoint& endpoint, unsigned queues) {
  if (queues == 1 || endpoint.udp.port == 0) return "";
  net::ether::InterfaceNic nic(interface.index);
  return endpoint.rules ? "; " + net::ether::describe_rules(nic, endpoint) : "; ranks give the NIC no rules (LAPWING_ETHER_RULES=off)";
}

}  // namespace

Finding check_ether() {
  Settings settings;
  [[maybe_unused]] const Status reported_by_check_settings = settings.load(environ);
  if (!Steering::built()) return not_to_be_had(settings, "this Lapwing was built without it", "build it for x86-64, with a clang that compiles for bpf");
  Interface interface;
  const Status chosen = net::ether::choose_interface(settings.ether_interface, interface);
  if (!chosen.ok()) return not_to_be_had(settings, chosen.text(), "correct LAPWING_ETHER_INTERFACE, or bring an interface up");
  if (const std::string lacking = net::ether::lacking_rights(); !lacking.empty())
    return not_to_be_had(settings, "a process like this one lacks " + lacking, "give the ranks these rights, or leave ether out of LAPWING_TRANSPORTS");
  if (const std::string name = foreign_program(interface); !name.empty())
    return not_to_be_had(settings, interface.name + " has an XDP program of another's making (" + name + ")",
                         "choose another interface (LAPWING_ETHER_INTERFACE), or take the program away (ip link set " + interface.name + " xdp off)");
  net::ether::Endpoint endpoint;
  if (const Status can = net::ether::choose_framings(settings, interface, endpoint); !can.ok())
    return not_to_be_had(settings, can.text(), "give the interface an address, or choose another framing");
  const std::string framings = net::ether::describe_framings(settings) + (endpoint.udp.port == 0 ? "" : kPortsMustBeOpen);
  const unsigned queues = net::ether::receive_queues(interface.name);
  return {Verdict::kOk, kSubject,
          interface.name + " (" + net::ether::driver_of(interface.name) + ") has " + std::to_string(queues) +
              (queues == 1 ? " receive queue, for one rank" : " receive queues, for as many ranks") + " of this host; " +
              (asks_for_ether(settings) ? "up to 16 ranks of a job can share one; packets go " + framings : "not asked for (LAPWING_TRANSPORTS)") +
              rules_for(interface, endpoint, queues),
          ""};
}

}  // namespace lapwing::launch
