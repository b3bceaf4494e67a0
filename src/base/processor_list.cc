#include "base/processor_list.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace lapwing {
namespace {

constexpr int kMaxProcessors = CPU_SETSIZE;

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
    if (!first || !last || *first < 0 || *last >= kMaxProcessors) continue;
    for (int processor = *first; processor <= *last; ++processor) result.push_back(processor);
  }
  return result;
}

std::string print_processor_list(const cpu_set_t& set) {
  std::string text;
  for (int first = 0; first < kMaxProcessors; ++first) {
    if (!CPU_ISSET(first, &set)) continue;
    int last = first;
    while (last + 1 < kMaxProcessors && CPU_ISSET(last + 1, &set)) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last > first) text += '-' + std::to_string(last);
    first = last;
  }
  return text;
}

cpu_set_t set_of_processors(const std::vector<int>& processors) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(processor, &set);
  return set;
}

cpu_set_t parse_processor_mask(std::string_view text) noexcept {
  constexpr int kPerWord = 32;
  const cpu_set_t none = set_of_processors({});
  cpu_set_t set = none;
  text = without_end(text);
  for (int base = 0;; base += kPerWord) {
    const std::size_t comma = text.rfind(',');
    const std::optional<std::uint32_t> word = parse_whole<std::uint32_t>(text.substr(comma + 1), 16);
    if (!word || base + kPerWord > kMaxProcessors) return none;
    for (int bit = 0; bit < kPerWord; ++bit) {
      if ((*word >> bit & 1) != 0) CPU_SET(base + bit, &set);
    }
    if (comma == std::string_view::npos) return set;
    text = text.substr(0, comma);
  }
}

}  // namespace lapwing
