// What a collective call is, in 64 bits that ranks compare: every post on an area and every message of a collective carries it, and where
// two of them meet that differ, the program is wrong (MPI 5.0, section 6.1: all ranks call the same collectives, in the same order, with
// matching arguments).
//
// Only what must be the same on all ranks of a correct program is in it, so that comparing is one comparison of integers, and only a
// difference is taken apart:
//
//   call        which one
//   operation   of a reduction; all user's operations count as one, because their handles mean something in their process only
//   element     the kind of number that a predefined operation works on. Not for other calls: types may differ if their signatures agree
//   root        not between two groups, where it is another number on each side
//   bytes       what the standard wants equal everywhere: the size of a type signature, of one rank's share. Nothing in those v and w
//               forms where each pair of ranks has its own, between two groups, and among neighbours
//   history     a hash of the calls before. So a difference that met no reader (two ranks that both take themselves for another's root
//               post, or send, and go on) is found by the next call that meets. 0 agrees with every history: a rank that has been told of a
//               difference gives it from then on, so that a program that goes on after an error may use the communicator
//
// The layout is part of the wire format (docs/wire-format.md).
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "coll/call.h"
#include "comm/communicator.h"

namespace lapwing::coll {

// A call that makes or frees a communicator.
inline constexpr std::uint64_t kManagingCommunicators = 23;

// A message that says this comes from a rank that has given its call up, instead of what it owes.
inline constexpr std::uint64_t kGivenUp = 24;

// Without its history. The call has passed check().
std::uint64_t describe(const Call& call, const comm::Communicator& communicator);

// The bytes in it; 256 KiB where they are more.
std::uint64_t described_bytes(std::uint64_t description) noexcept;

inline constexpr unsigned kHistoryShift = 56;
inline std::uint64_t with_history(std::uint64_t description, std::uint64_t history) noexcept {
  return description | history << kHistoryShift;
}
inline std::uint64_t without_history(std::uint64_t description) noexcept {
  return description & ((std::uint64_t{1} << kHistoryShift) - 1);
}

// Whether two ranks may be in the same call.
inline bool agree(std::uint64_t ours, std::uint64_t theirs) noexcept {
  if (ours == theirs) [[likely]]
    return true;
  const bool one_has_none = ours >> kHistoryShift == 0 || theirs >> kHistoryShift == 0;
  return one_has_none && without_history(ours) == without_history(theirs);
}

// "MPI_Bcast(root 0, 400 bytes)"
std::string spell(std::uint64_t description);

// One rank's part in a meeting.
struct Part {
  int rank;
  std::uint64_t description;
};
// The error that names both, and what differs, or that theirs has given up. `theirs.rank` is in the remote group where there is one.
Status mismatch(const comm::Communicator& communicator, Part ours, Part theirs);

}  // namespace lapwing::coll
