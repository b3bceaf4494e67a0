// Lists of hosts, as other launchers take them: accepted as long as they name this machine alone.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace lapwing::launch {

// By name, by alias, or by address; asks the resolver only when the name alone does not tell.
bool is_this_machine(const std::string& host);
std::string name_of_this_machine();

// What starts jobs over several machines, for errors.
extern const char* const kSeveralMachines;

// "localhost,me:4,[::1]:2": adds the slots, one where no number is given. An error names the host that is another machine.
Status read_host_list(std::string_view list, int& slots);
// Lines "host", "host:4" or "host slots=4"; '#' begins a comment. Other words of Open MPI's and Hydra's files are passed over, and unknown ones refused.
Status read_host_file(const std::string& path, int& slots);

}  // namespace lapwing::launch
