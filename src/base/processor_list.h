// Sets of processors as Linux writes them.
#pragma once

#include <sys/types.h>

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing {

// As many as Linux can be built for. (A cpu_set_t holds 1024, and where the kernel may have more, it refuses to fill one.)
inline constexpr int kMostProcessors = 8192;
using ProcessorSet = std::bitset<kMostProcessors>;

// Where a thread may run; 0: the calling one. Empty when the system does not tell.
ProcessorSet processors_of(pid_t thread) noexcept;
// False: errno says why not. May be called between fork() and exec().
bool bind_to_processors(pid_t thread, const ProcessorSet& processors) noexcept;

// "0-2,5"; malformed parts are passed over.
std::vector<int> parse_processor_list(std::string_view text);
std::string print_processor_list(const ProcessorSet& set);

ProcessorSet set_of_processors(const std::vector<int>& processors) noexcept;

// "00000000,0000000f": words of 32 processors in hexadecimal, the highest first. Empty when malformed.
ProcessorSet parse_processor_mask(std::string_view text) noexcept;

}  // namespace lapwing
