// Lists of processes on their way between processes: by their names, 8 bytes each (wire/job_rank.h).
#pragma once

#include <cstddef>
#include <vector>

#include "base/process_id.h"
#include "base/status.h"

namespace lapwing::mpi {

std::vector<std::byte> encode_members(const std::vector<ProcessId>& members);
// An error when a name is of no process that this one knows.
Status decode_members(const std::vector<std::byte>& bytes, std::vector<ProcessId>& members);

// Whether the process comes before another one in the order of names, which is the same everywhere.
bool comes_before(ProcessId process, ProcessId other) noexcept;

}  // namespace lapwing::mpi
