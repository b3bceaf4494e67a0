// Sets of processors as Linux writes them.
#pragma once

#include <sched.h>

#include <string>
#include <string_view>
#include <vector>

namespace lapwing {

// "0-2,5"; malformed parts are passed over.
std::vector<int> parse_processor_list(std::string_view text);
std::string print_processor_list(const cpu_set_t& set);

cpu_set_t set_of_processors(const std::vector<int>& processors) noexcept;

// "00000000,0000000f": words of 32 processors in hexadecimal, the highest first. Empty when malformed.
cpu_set_t parse_processor_mask(std::string_view text) noexcept;

}  // namespace lapwing
