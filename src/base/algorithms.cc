#include "base/algorithms.h"

#include <algorithm>

#include "base/settings.h"

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

}  // namespace

bool find_collective(std::string_view name, CollectiveKind& collective) noexcept {
  for (std::size_t kind = 0; kind < std::size(kCollectives); ++kind) {
    if (kCollectives[kind].name != name) continue;
    collective = static_cast<CollectiveKind>(kind);
    return true;
  }
  return false;
}

bool find_algorithm(std::string_view name, Algorithm& algorithm) noexcept {
  const auto at = std::find(std::begin(kAlgorithmNames) + 1, std::end(kAlgorithmNames), name);
  if (at == std::end(kAlgorithmNames)) return false;
  algorithm = static_cast<Algorithm>(at - std::begin(kAlgorithmNames));
  return true;
}

// "64k-1M", "64k-", "-1M", "64k", or nothing for all.
bool AlgorithmChoices::parse(std::string_view text, Range& range) {
  Range parsed;
  if (!text.empty()) {
    const bool single = text.find('-') == text.npos;
    const std::string_view least = take_part(text, '-'), most = single ? least : text;
    if (least.empty() && most.empty()) return false;
    if (!least.empty() && !settings::BytesKind::parse(least, parsed.least)) return false;
    if (!most.empty() && !settings::BytesKind::parse(most, parsed.most)) return false;
  }
  range = parsed;
  return parsed.least <= parsed.most;
}

bool AlgorithmChoices::parse_one(std::string_view text, Choice& choice) {
  if (std::count(text.begin(), text.end(), ':') > 2) return false;
  std::string_view algorithm = text;
  std::string_view what = take_part(algorithm, '=');
  if (!find_collective(take_part(what, ':'), choice.collective)) return false;
  if (!parse(take_part(what, ':'), choice.bytes) || !parse(what, choice.ranks)) return false;
  bool offered = false;
  for_each_algorithm(choice.collective, [&](Algorithm each) {
    if (name(each) != algorithm) return;
    choice.algorithm = each;
    offered = true;
  });
  return offered;
}

bool AlgorithmChoices::parse(std::string_view text, AlgorithmChoices& choices) {
  AlgorithmChoices parsed;
  if (!text.empty() && text.back() == ',') return false;
  while (!text.empty()) {
    Choice choice;
    if (!parse_one(take_part(text, ','), choice)) return false;
    parsed.choices_.push_back(choice);
  }
  choices = parsed;
  return true;
}

std::string AlgorithmChoices::print(const Range& range) {
  if (range.is_all()) return "";
  const std::string least = range.least == 0 ? "" : settings::BytesKind::print(range.least);
  if (range.least == range.most) return settings::BytesKind::print(range.least);
  return least + "-" + (range.most == Range().most ? "" : settings::BytesKind::print(range.most));
}

std::string AlgorithmChoices::print(const Choice& choice) {
  std::string text(name(choice.collective));
  if (!choice.bytes.is_all() || !choice.ranks.is_all()) text += ":" + print(choice.bytes);
  if (!choice.ranks.is_all()) text += ":" + print(choice.ranks);
  return text + "=" + std::string(name(choice.algorithm));
}

std::string AlgorithmChoices::print() const {
  std::string text;
  for (const Choice& choice : choices_) text += (text.empty() ? "" : ",") + print(choice);
  return text;
}

Algorithm AlgorithmChoices::of(CollectiveKind collective, std::uint64_t bytes, int ranks) const noexcept {
  for (const Choice& choice : choices_) {
    const bool suits = bytes == kUnknownBytes ? choice.bytes.is_all() : choice.bytes.has(bytes);
    if (choice.collective == collective && suits && choice.ranks.has(static_cast<std::uint64_t>(ranks)))
      return choice.algorithm;
  }
  return Algorithm::kAutomatic;
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
