// By which framings a rank's endpoint takes packets, as LAPWING_ETHER_FRAMING has it.
#pragma once

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
  return {};
}

}  // namespace lapwing::net::ether
