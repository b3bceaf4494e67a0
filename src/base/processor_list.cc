#include "base/processor_list.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace lapwing {
namespace {

// As the system calls take it.
struct Mask {
  cpu_set_t sets[kMostProcessors / CPU_SETSIZE] = {};
};

std::string_view without_end(std::string_view text) noexcept {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

template <typename Number>
std::optional<Number> parse_whole(std::string_view text, int base) noexcept {
  Number value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || stop != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

}  // namespace

ProcessorSet processors_of(pid_t thread) noexcept {
  ProcessorSet processors;
  Mask mask;
  if (::sched_getaffinity(thread, sizeof mask, mask.sets) != 0) return processors;
  for (int processor = 0; processor < kMostProcessors; ++processor) processors[processor] = CPU_ISSET_S(processor, sizeof mask, mask.sets);
  return processors;
}

bool bind_to_processors(pid_t thread, const ProcessorSet& processors) noexcept {
  Mask mask;
  for (int processor = 0; processor < kMostProcessors; ++processor) {
    if (processors[processor]) CPU_SET_S(processor, sizeof mask, mask.sets);
  }
  return ::sched_setaffinity(thread, sizeof mask, mask.sets) == 0;
}

std::vector<int> parse_processor_list(std::string_view text) {
  std::vector<int> result;
  text = without_end(text);
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view range = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t dash = std::min(range.find('-'), range.size());
    const std::optional<int> first = parse_whole<int>(range.substr(0, dash), 10);
    const std::optional<int> last = dash < range.size() ? parse_whole<int>(range.substr(dash + 1), 10) : first;
    if (!first || !last || *first < 0 || *last >= kMostProcessors) continue;
    for (int processor = *first; processor <= *last; ++processor) result.push_back(processor);
  }
  return result;
}

std::string print_processor_list(const ProcessorSet& set) {
  std::string text;
  for (int first = 0; first < kMostProcessors; ++first) {
    if (!set.test(first)) continue;
    int last = first;
    while (last + 1 < kMostProcessors && set.test(last + 1)) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last > first) text += '-' + std::to_string(last);
    first = last;
  }
  return text;
}

ProcessorSet set_of_processors(const std::vector<int>& processors) noexcept {
  ProcessorSet set;
  for (const int processor : processors) set.set(processor);
  return set;
}

ProcessorSet parse_processor_mask(std::string_view text) noexcept {
  constexpr int kPerWord = 32;
  const ProcessorSet none = set_of_processors({});
  ProcessorSet set = none;
  text = without_end(text);
  for (int base = 0;; base += kPerWord) {
    const std::size_t comma = text.rfind(',');
    const std::optional<std::uint32_t> word = parse_whole<std::uint32_t>(text.substr(comma + 1), 16);
    if (!word || base + kPerWord > kMostProcessors) return none;
    for (int bit = 0; bit < kPerWord; ++bit) {
      if ((*word >> bit & 1) != 0) set.set(base + bit);
    }
    if (comma == std::string_view::npos) return set;
    text = text.substr(0, comma);
  }
}

}  // namespace lapwing
