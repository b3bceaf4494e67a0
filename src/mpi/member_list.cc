#include "mpi/member_list.h"

#include "mpi/handles.h"
#include "wire/job_rank.h"

namespace lapwing::mpi {

using wire::JobRank;

std::vector<std::byte> encode_members(const std::vector<ProcessId>& members) {
  std::vector<std::byte> bytes(members.size() * JobRank::kBytes);
  std::byte* out = bytes.data();
  for (const ProcessId member : members) {
    process().table.name(member).encode(out);
    out += JobRank::kBytes;
  }
  return bytes;
}

Status decode_members(const std::vector<std::byte>& bytes, std::vector<ProcessId>& members) {
  members.clear();
  for (std::size_t at = 0; at + JobRank::kBytes <= bytes.size(); at += JobRank::kBytes) {
    const JobRank name = JobRank::decode(bytes.data() + at);
    ProcessId member;
    if (!process().table.find(name, member))
      return Status::error(MPI_ERR_INTERN, "a list of processes names rank %u of job %u, which this one does not know",
                           name.rank, name.job);
    members.push_back(member);
  }
  return {};
}

bool comes_before(ProcessId process, ProcessId other) noexcept {
  const runtime::ProcessTable& table = mpi::process().table;
  return table.name(process) < table.name(other);
}

}  // namespace lapwing::mpi
