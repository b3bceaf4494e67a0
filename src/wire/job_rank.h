// A process, as it is named between processes: the number of its job and its rank there (its rank in that job's MPI_COMM_WORLD).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "wire/little_endian.h"

namespace lapwing::wire {

struct JobRank {
  static constexpr std::size_t kBytes = 8;  // job (4), rank (4)

  std::uint32_t job = 0;
  std::uint32_t rank = 0;

  // The same order everywhere: where two processes must decide alike which of them goes first.
  friend constexpr auto operator<=>(JobRank, JobRank) noexcept = default;

  void encode(std::byte* out) const noexcept {
    store_little(out, job);
    store_little(out + 4, rank);
  }
  static JobRank decode(const std::byte* in) noexcept {
    return {load_little<std::uint32_t>(in), load_little<std::uint32_t>(in + 4)};
  }
};

}  // namespace lapwing::wire
