// Which rank an error goes back to, so that of several ranks' errors the first cause can be told (launch/mpiexec/error_tally.h).
#pragma once

#include <string_view>

#include "runtime/launcher.h"

namespace lapwing::process {

// Of an error of this class whose text tells that a process is lost. Takes the endpoint's lock where the class is one that a loss can have.
runtime::Blame blame_for(int error_class, std::string_view text) noexcept;

}  // namespace lapwing::process
