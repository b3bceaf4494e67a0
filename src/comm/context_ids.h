// Context ids: what names a communicator on the wire. Made by the process that leads the creation of a communicator and told to the
// others, so no agreement over masks is needed, and ids never run out by leaking.
//
//   63 62   partitioned communication (Plane); both: a NamedContext, whose bits 61..2 are the hash of its name (mpi/communicator_creation.h)
//   61..40  the maker's rank in its job
//   39..34  the number of the maker's job
//   33..2   a counter of the maker
//    1  0   plane
//
// So ids are unique in a job, and among jobs that meet and have different numbers. The number is drawn when a job starts; jobs that
// have the same one refuse to meet (runtime/process_table.h). The ids that every process knows without agreement come again in each
// job: no communicator of two jobs has one of them.
#pragma once

#include <cstdint>

namespace lapwing::comm {

class ContextIds {
 public:
  static constexpr std::uint32_t kMostRanks = 1u << 22;  // of one job
  static constexpr unsigned kJobs = 64;                  // numbers of jobs

  ContextIds(unsigned job, std::uint32_t rank) noexcept
      : maker_(std::uint64_t{rank} << kRankShift | std::uint64_t{job} << kJobShift) {}

  // Protected by the endpoint's lock.
  std::uint64_t take() noexcept { return maker_ | std::uint64_t{next_++} << kCounterShift; }

  // Known to all without agreement.
  static constexpr std::uint64_t kWorld = 1u << 2;
  static constexpr std::uint64_t kSelf = 2u << 2;
  static constexpr std::uint64_t kProcesses = 3u << 2;  // all processes of the job, ranks as in world: for management

 private:
  static constexpr unsigned kCounterShift = 2, kJobShift = 34, kRankShift = 40;
  static constexpr std::uint32_t kFirst = 16;
  static_assert(kRankShift + 22 == 62 && std::uint64_t{kMostRanks} == 1u << 22, "below the bits of partitioned planes");
  static_assert(std::uint64_t{kJobs} << kJobShift == std::uint64_t{1} << kRankShift && kCounterShift + 32 == kJobShift);

  const std::uint64_t maker_;
  std::uint32_t next_ = kFirst;
};

}  // namespace lapwing::comm
