// An Ethernet address.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace lapwing::net::ether {

using Mac = std::array<std::uint8_t, 6>;

std::string text_of(const Mac& mac);
bool parse_mac(std::string_view text, Mac& mac);

}  // namespace lapwing::net::ether
