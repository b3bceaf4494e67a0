// Which algorithm a user wants for a collective operation (LAPWING_ALGORITHM); algorithm_list.inc is the one table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lapwing {

enum class Algorithm : std::uint8_t {
  kAutomatic,  // as the numbers of ranks and bytes say (coll/selection.h)
#define LAPWING_ALGORITHM_NAME(enumerator, name, meaning) enumerator,
#include "base/algorithm_list.inc"
#undef LAPWING_ALGORITHM_NAME
};

// Exclusive scans and the forms with counts or displacements count with the collective whose algorithms they share.
enum class CollectiveKind : std::uint8_t {
#define LAPWING_COLLECTIVE(enumerator, name, algorithms) enumerator,
#include "base/algorithm_list.inc"
#undef LAPWING_COLLECTIVE
  kCount
};

class AlgorithmChoices {
 public:
  Algorithm of(CollectiveKind collective) const noexcept { return wanted_[static_cast<std::size_t>(collective)]; }
  void set(CollectiveKind collective, Algorithm algorithm) noexcept {
    wanted_[static_cast<std::size_t>(collective)] = algorithm;
  }

  // "allreduce=ring,bcast=binomial". False when a name is not in the table, or an algorithm not one for that collective.
  static bool parse(std::string_view text, AlgorithmChoices& choices);
  std::string print() const;

 private:
  std::array<Algorithm, static_cast<std::size_t>(CollectiveKind::kCount)> wanted_{};
};

// "linear|ring|...": as in the table.
std::string_view algorithms_for(CollectiveKind collective) noexcept;
std::string_view name(CollectiveKind collective) noexcept;
std::string_view name(Algorithm algorithm) noexcept;

}  // namespace lapwing
