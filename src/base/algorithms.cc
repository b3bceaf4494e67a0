#include "base/algorithms.h"

#include <algorithm>

namespace lapwing {
namespace {

constexpr std::string_view kAlgorithmNames[] = {
    "automatic",
#define LAPWING_ALGORITHM_NAME(enumerator, name, meaning) name,
#include "base/algorithm_list.inc"
#undef LAPWING_ALGORITHM_NAME
};

struct Entry {
  std::string_view name;
  std::string_view algorithms;
};
constexpr Entry kCollectives[] = {
#define LAPWING_COLLECTIVE(enumerator, name, algorithms) {name, algorithms},
#include "base/algorithm_list.inc"
#undef LAPWING_COLLECTIVE
};

// Takes the part before the next `separator` off `text`.
std::string_view take_part(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

bool offers(std::string_view algorithms, std::string_view wanted) {
  while (!algorithms.empty())
    if (take_part(algorithms, '|') == wanted) return true;
  return false;
}

bool parse_one(std::string_view collective, std::string_view algorithm, AlgorithmChoices& choices) {
  for (std::size_t kind = 0; kind < std::size(kCollectives); ++kind) {
    if (kCollectives[kind].name != collective || !offers(kCollectives[kind].algorithms, algorithm)) continue;
    const auto at = std::find(std::begin(kAlgorithmNames), std::end(kAlgorithmNames), algorithm);
    choices.set(static_cast<CollectiveKind>(kind), static_cast<Algorithm>(at - std::begin(kAlgorithmNames)));
    return true;
  }
  return false;
}

}  // namespace

bool AlgorithmChoices::parse(std::string_view text, AlgorithmChoices& choices) {
  AlgorithmChoices parsed;
  if (!text.empty() && text.back() == ',') return false;
  while (!text.empty()) {
    std::string_view algorithm = take_part(text, ',');
    const std::string_view collective = take_part(algorithm, '=');
    if (!parse_one(collective, algorithm, parsed)) return false;
  }
  choices = parsed;
  return true;
}

std::string AlgorithmChoices::print() const {
  std::string text;
  for (std::size_t kind = 0; kind < wanted_.size(); ++kind) {
    if (wanted_[kind] == Algorithm::kAutomatic) continue;
    text += (text.empty() ? "" : ",") + std::string(kCollectives[kind].name) + "=" + std::string(name(wanted_[kind]));
  }
  return text;
}

std::string_view algorithms_for(CollectiveKind collective) noexcept {
  return kCollectives[static_cast<std::size_t>(collective)].algorithms;
}
std::string_view name(CollectiveKind collective) noexcept {
  return kCollectives[static_cast<std::size_t>(collective)].name;
}
std::string_view name(Algorithm algorithm) noexcept {
  return kAlgorithmNames[static_cast<std::size_t>(algorithm)];
}

}  // namespace lapwing
