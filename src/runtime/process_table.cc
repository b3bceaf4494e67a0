#include "runtime/process_table.h"

#include <algorithm>
#include <iterator>

namespace lapwing::runtime {

Status ProcessTable::add_job(std::uint32_t number, std::uint32_t ranks) {
  if (ranks == 0 || ranks > kMostRanks)
    return Status::error(MPI_ERR_OTHER,
                         "a job has %u ranks, and this version of Lapwing takes at least 1 and at most %u: start fewer",
                         ranks, kMostRanks);
  static_assert(std::uint64_t{kMostRanks} * kShortNumbers < ~std::uint32_t{0}, "all of them have an id");
  for (const Job& job : jobs_) {
    if (short_number(job.number) != short_number(number)) continue;
    return Status::error(MPI_ERR_OTHER,
                         "job %u cannot meet job %u: they drew the same number for their communicators; start one of "
                         "them anew",
                         number, job.number);
  }
  jobs_.push_back({number, size_, ranks});
  size_ += ranks;
  return {};
}

const ProcessTable::Job& ProcessTable::job_of(ProcessId process) const noexcept {
  const auto after = std::upper_bound(jobs_.begin(), jobs_.end(), process.index,
                                      [](std::uint32_t index, const Job& job) { return index < job.first; });
  return *std::prev(after);
}

wire::JobRank ProcessTable::name(ProcessId process) const noexcept {
  const Job& job = job_of(process);
  return {job.number, process.index - job.first};
}

bool ProcessTable::find(wire::JobRank name, ProcessId& process) const noexcept {
  const auto at = std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& job) { return job.number == name.job; });
  if (at == jobs_.end() || name.rank >= at->ranks) return false;
  process = {at->first + name.rank};
  return true;
}

std::string ProcessTable::describe(ProcessId process) const {
  if (!has(process)) return "a process that is not known";
  const wire::JobRank named = name(process);
  std::string text = "rank " + std::to_string(named.rank);
  if (!is_own_job(process)) text += " of job " + std::to_string(named.job);
  return text;
}

}  // namespace lapwing::runtime
