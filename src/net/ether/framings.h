// By which framings a rank's endpoint takes packets, as LAPWING_ETHER_FRAMING has it.
#pragma once

#include <cstdio>
#include <string>

#include "base/settings.h"
#include "base/status.h"
#include "net/ether/interface.h"
#include "net/ether/steering.h"

namespace lapwing::net::ether {

// Datagrams need an IPv4 address; an error where they alone are asked for, and there is none.
inline Status choose_framings(const Settings& settings, const Interface& interface, Endpoint& endpoint) {
  const EtherFraming wanted = settings.ether_framing;
  if (wanted == EtherFraming::kUdp && interface.address == 0)
    return Status::error(MPI_ERR_OTHER, "LAPWING_ETHER_FRAMING=udp needs an IPv4 address, and %s has none", interface.name.c_str());
  if (wanted != EtherFraming::kUdp) endpoint.ether_type = settings.ether_type;
  if (wanted != EtherFraming::kRaw && interface.address != 0) endpoint.udp = {interface.address, settings.ether_port};
  endpoint.rules = settings.ether_rules == Choice::kAuto;
  return {};
}

// "straight on Ethernet (type 0x88b5), or by UDP (ports from 27182 on)"
inline std::string describe_framings(const Settings& settings) {
  char raw[48], udp[48];
  std::snprintf(raw, sizeof raw, "straight on Ethernet (type 0x%04x)", unsigned{settings.ether_type});
  std::snprintf(udp, sizeof udp, "by UDP (ports from %u on)", unsigned{settings.ether_port});
  if (settings.ether_framing == EtherFraming::kAuto) return std::string(raw) + ", or " + udp;
  return settings.ether_framing == EtherFraming::kRaw ? raw : udp;
}

}  // namespace lapwing::net::ether
