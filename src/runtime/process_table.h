// The processes that this one knows, by number: those of its own job, and of jobs that it has met.
//
// A process id (base/process_id.h) is a place in this table. The table only grows: jobs are added at its end, each with all its ranks, and
// an id means the same process for ever. The own job comes first, so that there an id's index is the rank. Each process has its own
// table and numbers jobs in the order in which it met them; what travels is a process's name, wire::JobRank.
//
// Written with the endpoint's lock held, and read with it or by a thread that has had the lock since.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/process_id.h"
#include "base/status.h"
#include "wire/job_rank.h"

namespace lapwing::runtime {

class ProcessTable {
 public:
  static constexpr std::uint32_t kMostRanks = 1u << 22;  // of one job
  // Context ids have this much of a job's number (comm/context_ids.h), so jobs that know each other must differ in it: there are at most
  // so many of them.
  static constexpr std::uint32_t kShortNumbers = 64;
  static constexpr std::uint32_t short_number(std::uint32_t job) noexcept { return job % kShortNumbers; }

  // A job that is not in the table. Its ranks get the next ids.
  Status add_job(std::uint32_t number, std::uint32_t ranks);

  std::uint32_t size() const noexcept { return size_; }
  bool has(ProcessId process) const noexcept { return process.index < size_; }

  // Of a process that is in the table.
  wire::JobRank name(ProcessId process) const noexcept;
  // False when no such process is in the table: a name comes from a peer.
  bool find(wire::JobRank name, ProcessId& process) const noexcept;

  bool is_own_job(ProcessId process) const noexcept { return process.index < jobs_[0].ranks; }
  // "rank 3", and of another job "rank 3 of job 17": for messages.
  std::string describe(ProcessId process) const;

 private:
  struct Job {
    std::uint32_t number;
    std::uint32_t first;
    std::uint32_t ranks;
  };
  // The one that the process belongs to.
  const Job& job_of(ProcessId process) const noexcept;

  std::vector<Job> jobs_;  // in the order of their ids
  std::uint32_t size_ = 0;
};

}  // namespace lapwing::runtime
