// An Ethernet address.
#pragma once

#include <string>
#include <string_view>

#include "wire/encapsulation.h"

namespace lapwing::net::ether {

using Mac = wire::MacAddress;

std::string text_of(const Mac& mac);
bool parse_mac(std::string_view text, Mac& mac);

}  // namespace lapwing::net::ether
