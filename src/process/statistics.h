// LAPWING_STATS=1: what each rank did, and all of them together, printed on standard error at the end of the job.
#pragma once

#include <span>
#include <string>

#include "process/process.h"

namespace lapwing::process {

// What there is to tell. Kept from the moment when all ranks meet at the end until it is printed.
struct Statistics {
  engine::EngineCounters engine;
  engine::SystemCalls calls;
  p2p::MessengerCounters messages;
  net::PathCounters paths;
  net::CopyCounters copies;
  net::DetourCounters detours;
  std::uint64_t connections_resumed = 0;
  std::uint64_t records_wrong = 0;

  // With the endpoint's lock held.
  static Statistics of(Process& process);
  // Of this process until now, or until its end; before its start there is nothing. Any thread, without the endpoint's lock (start_and_end.cc).
  static Statistics until_now();
  void add(const Statistics& other) noexcept;

  // A line of numbers, for other ranks to read. False when it is none.
  std::string encode() const;
  bool decode(const std::string& text);

  // A block of lines, each beginning with "lapwing: " and `whose`.
  std::string report(const std::string& whose) const;
};

// One of the numbers, for tools (mpi/tools_performance.cc).
struct StatisticDescription {
  const char* name;
  const char* meaning;
  std::uint64_t& (*of)(Statistics&);
  enum class Kind { kCount, kSum, kPeak } kind = Kind::kCount;  // how many; of how many bytes in all; the most at a time
};
// In the order of the line that encode() writes.
std::span<const StatisticDescription> all_statistics() noexcept;

}  // namespace lapwing::process
