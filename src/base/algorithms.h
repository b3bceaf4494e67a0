// Which algorithm a user wants for a collective operation (LAPWING_ALGORITHM); algorithm_list.inc is the one table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing {

enum class Algorithm : std::uint8_t {
  kAutomatic,  // the one that the model says takes least time (coll/selection.h)
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
  static constexpr std::uint64_t kUnknownBytes = ~std::uint64_t{0};

  // What is wanted for so many bytes, as coll/selection.h counts them, and ranks. kUnknownBytes: not all ranks know how many, so what is
  // wanted for some sizes only does not count.
  Algorithm of(CollectiveKind collective, std::uint64_t bytes, int ranks) const noexcept;

  // "allreduce:64k-1M:8=ring,bcast=binomial": a collective, perhaps for these bytes and these ranks only. Of those that apply to a call the
  // first one counts. False when a name is not in the table, an algorithm not one for that collective, or a range none.
  static bool parse(std::string_view text, AlgorithmChoices& choices);
  std::string print() const;

 private:
  struct Range {
    std::uint64_t least = 0, most = ~std::uint64_t{0};
    bool is_all() const noexcept { return least == 0 && most == ~std::uint64_t{0}; }
    bool has(std::uint64_t number) const noexcept { return number >= least && number <= most; }
  };
  struct Choice {
    CollectiveKind collective;
    Algorithm algorithm;
    Range bytes, ranks;
  };
  static bool parse_one(std::string_view text, Choice& choice);
  static bool parse(std::string_view text, Range& range);
  static std::string print(const Range& range);
  static std::string print(const Choice& choice);

  std::vector<Choice> choices_;
};

// "linear|ring|...": as in the table.
std::string_view algorithms_for(CollectiveKind collective) noexcept;
std::string_view name(CollectiveKind collective) noexcept;
std::string_view name(Algorithm algorithm) noexcept;
// False where none is called so.
bool find_collective(std::string_view name, CollectiveKind& collective) noexcept;
bool find_algorithm(std::string_view name, Algorithm& algorithm) noexcept;
// Calls act(algorithm) for each that the collective has, in the order of the table.
template <typename Act>
void for_each_algorithm(CollectiveKind collective, Act act) {
  for (std::string_view rest = algorithms_for(collective); !rest.empty();) {
    const std::size_t end = rest.find('|');
    Algorithm algorithm = Algorithm::kAutomatic;
    if (find_algorithm(rest.substr(0, end), algorithm)) act(algorithm);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  }
}

}  // namespace lapwing
