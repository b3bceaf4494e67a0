// The code with which a process ends that MPI_Abort, or an error, ends.
#pragma once

namespace lapwing {

// An exit code has eight bits; a failure must not come out as a success.
constexpr int exit_code_of(int code) noexcept {
  return (code & 0xff) == 0 && code != 0 ? 1 : code & 0xff;
}

}  // namespace lapwing
