#include "mpiexec/binding.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>

namespace lapwing::launch {
namespace {

struct Word {
  const char* text;
  BindPolicy policy;
};

constexpr Word kUnits[] = {
    {"none", BindPolicy::kNone},      {"machine", BindPolicy::kNone}, {"board", BindPolicy::kNone},
    {"node", BindPolicy::kNone},      {"slot", BindPolicy::kShare},   {"hwthread", BindPolicy::kThread},
    {"thread", BindPolicy::kThread},  {"core", BindPolicy::kCore},    {"l3cache", BindPolicy::kCache},
    {"l3", BindPolicy::kCache},       {"numa", BindPolicy::kNode},    {"socket", BindPolicy::kSocket},
    {"package", BindPolicy::kSocket}, {"queue", BindPolicy::kQueue},
};

std::optional<BindPolicy> find_unit(std::string_view text) {
  for (const Word& word : kUnits) {
    if (text == word.text) return word.policy;
  }
  return std::nullopt;
}

std::optional<int> parse_count(std::string_view text) {
  int count = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || stop != text.data() + text.size() || count < 1) return std::nullopt;
  return count;
}

std::string lower_case(std::string text) {
  for (char& letter : text) letter = static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter + ('a' - 'A') : letter);
  return text;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char letter : text) {
    if (letter == at) {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}

// What follows the unit after colons and commas. Open MPI's modifiers about too few slots are always so here.
bool parse_modifier(const std::string& text, Binding& binding) {
  for (const char* always :
       {"oversubscribe", "nooversubscribe", "overload-allowed", "if-supported", "span", "hwtcpus"}) {
    if (text == always) return true;
  }
  const std::optional<int> width = parse_count(text.rfind("pe=", 0) == 0 ? text.substr(3) : text);
  if (width) binding.width = *width;
  return width.has_value();
}

bool parse_modifiers(const std::vector<std::string>& parts, std::size_t first, Binding& binding) {
  for (std::size_t part = first; part < parts.size(); ++part) {
    for (const std::string& modifier : split(parts[part], ',')) {
      if (!parse_modifier(modifier, binding)) return false;
    }
  }
  return true;
}

// ---- the plan -------------------------------------------------------------------------------------------------------

using CoreIndices = std::vector<std::size_t>;

int unit_of(const Machine& machine, BindPolicy policy, std::size_t core) {
  switch (policy) {
    case BindPolicy::kCache:
      return machine.cores[core].cache;
    case BindPolicy::kNode:
      return machine.cores[core].node;
    case BindPolicy::kSocket:
      return machine.cores[core].package;
    default:
      return static_cast<int>(core);
  }
}

std::vector<CoreIndices> units_of(const Machine& machine, BindPolicy policy) {
  std::map<int, CoreIndices> units;
  for (std::size_t core = 0; core < machine.cores.size(); ++core) units[unit_of(machine, policy, core)].push_back(core);
  std::vector<CoreIndices> result;
  for (auto& unit : units) result.push_back(std::move(unit.second));
  return result;
}

bool goes_round(BindPolicy policy) {
  return policy == BindPolicy::kCache || policy == BindPolicy::kNode || policy == BindPolicy::kSocket;
}

ProcessorSet set_of(const Machine& machine, const CoreIndices& cores) {
  ProcessorSet set;
  for (const std::size_t core : cores) {
    for (const int processor : machine.cores[core].processors) set.set(processor);
  }
  return set;
}

ProcessorSet share_of_cores(const Machine& machine, std::size_t rank, std::size_t ranks) {
  CoreIndices cores;
  const std::size_t count = machine.cores.size();
  for (std::size_t core = rank * count / ranks; core < (rank + 1) * count / ranks; ++core) cores.push_back(core);
  return set_of(machine, cores);
}

// As many on each core, if that can be. Neighbours, which exchange most, are on different cores, and so run at the same time.
std::vector<ProcessorSet> plan_turns(const Machine& machine, std::size_t ranks) {
  const std::size_t cores = machine.cores.size();
  if (ranks <= static_cast<std::size_t>(machine.processors) || ranks % cores != 0) return {};
  std::vector<ProcessorSet> plan;
  for (std::size_t rank = 0; rank < ranks; ++rank) plan.push_back(set_of(machine, {rank % cores}));
  return plan;
}

ProcessorSet single_thread(const Machine& machine, std::size_t core, std::size_t thread) {
  ProcessorSet set;
  set.set(machine.cores[core].processors[thread]);
  return set;
}

// Ranks side by side on the threads of one core after another, `each` of them on every thread.
std::vector<ProcessorSet> plan_threads(const Machine& machine, std::size_t ranks, std::size_t each) {
  std::vector<ProcessorSet> plan;
  for (std::size_t core = 0; core < machine.cores.size(); ++core) {
    for (std::size_t thread = 0; thread < machine.cores[core].processors.size(); ++thread) {
      plan.insert(plan.end(), std::min(each, ranks - plan.size()), single_thread(machine, core, thread));
    }
  }
  return plan.size() == ranks ? plan : std::vector<ProcessorSet>();
}

// The `width` cores that belong to the rank alone, its home first; empty when the units are full.
CoreIndices home_of(const Machine& machine, const Binding& binding, std::size_t rank, std::size_t ranks) {
  const auto width = static_cast<std::size_t>(binding.width);
  const std::vector<CoreIndices> units = units_of(machine, goes_round(binding.map) ? binding.map : BindPolicy::kCore);
  if (!goes_round(binding.map)) {
    // A whole unit around the home: each takes ranks in proportion to its cores.
    const bool spread = goes_round(binding.bind) && binding.map == BindPolicy::kShare;
    const std::size_t first = spread ? rank * units.size() / ranks : rank * width;
    CoreIndices home;
    for (std::size_t core = first; core < first + width && core < units.size(); ++core) home.push_back(core);
    return home.size() == width ? home : CoreIndices();
  }
  const auto per_unit = static_cast<std::size_t>(binding.per_unit);
  const std::size_t unit = per_unit > 0 ? rank / per_unit : rank % units.size();
  const std::size_t first = (per_unit > 0 ? rank % per_unit : rank / units.size()) * width;
  if (unit >= units.size() || first + width > units[unit].size()) return {};
  const auto begin = units[unit].begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + binding.width};
}

ProcessorSet around(const Machine& machine, const Binding& binding, const CoreIndices& home) {
  if (binding.bind == BindPolicy::kThread) return single_thread(machine, home.front(), 0);
  if (!goes_round(binding.bind)) return set_of(machine, home);
  CoreIndices cores;
  const int unit = unit_of(machine, binding.bind, home.front());
  for (std::size_t core = 0; core < machine.cores.size(); ++core) {
    if (unit_of(machine, binding.bind, core) == unit) cores.push_back(core);
  }
  return set_of(machine, cores);
}

bool fills_cores(const Binding& binding) {
  return binding.map == BindPolicy::kCore && binding.per_unit > 1;
}

// ppr:N:core: the ranks of a core share it, or have a hardware thread of it each.
std::vector<ProcessorSet> plan_filled_cores(const Machine& machine, const Binding& binding, std::size_t ranks) {
  const auto per_core = static_cast<std::size_t>(binding.per_unit);
  const std::size_t cores_taken = (ranks + per_core - 1) / per_core;
  if (binding.width > 1 || cores_taken > static_cast<std::size_t>(machine.usable_cores())) return {};
  std::vector<ProcessorSet> plan;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::size_t core = rank / per_core;
    const std::size_t thread = rank % per_core;
    if (binding.bind != BindPolicy::kThread) {
      plan.push_back(around(machine, binding, {core}));
    } else if (thread < machine.cores[core].processors.size()) {
      plan.push_back(single_thread(machine, core, thread));
    } else {
      return {};
    }
  }
  return plan;
}

}  // namespace

int count_units(const Machine& machine, BindPolicy map) {
  if (map == BindPolicy::kShare) return 1;
  if (map == BindPolicy::kThread) return machine.processors;
  return static_cast<int>(units_of(machine, map).size());
}

Status parse_bind_to(const std::string& text, Binding& binding) {
  const std::vector<std::string> parts = split(lower_case(text), ':');
  const std::optional<BindPolicy> unit = find_unit(parts[0]);
  if (!unit || *unit == BindPolicy::kShare || !parse_modifiers(parts, 1, binding)) {
    return Status::error(MPI_ERR_ARG, "'%s' is not one of none, hwthread, core, core:N, l3cache, numa, socket, queue",
                         text.c_str());
  }
  binding.bind = *unit;
  return {};
}

Status parse_map_by(const std::string& text, Binding& binding) {
  std::vector<std::string> parts = split(lower_case(text), ':');
  binding.per_unit = 0;
  if (parts[0] == "ppr" && parts.size() > 2) {
    const std::optional<int> per_unit = parse_count(parts[1]);
    if (per_unit) parts.erase(parts.begin(), parts.begin() + 2);
    binding.per_unit = per_unit.value_or(0);
  }
  if (parts[0].empty() && parts.size() > 1) parts[0] = "slot";
  const std::optional<BindPolicy> unit = find_unit(parts[0]);
  const bool fills_slots = unit == BindPolicy::kShare && binding.per_unit > 0;  // A slot is for one rank.
  if (!unit || *unit == BindPolicy::kQueue || fills_slots || !parse_modifiers(parts, 1, binding)) {
    return Status::error(
        MPI_ERR_ARG,
        "'%s' is not one of slot, hwthread, core, l3cache, numa, socket, node, with :PE=N for N cores per "
        "rank, or ppr:N:UNIT, where UNIT is one of these but slot",
        text.c_str());
  }
  binding.map = *unit == BindPolicy::kNone ? BindPolicy::kShare : *unit;
  return {};
}

std::vector<ProcessorSet> plan_binding(const Machine& machine, Binding binding, int ranks) {
  const bool limited_by_quota = machine.usable_cores() < static_cast<int>(machine.cores.size());
  if (binding.bind == BindPolicy::kNone || machine.cores.empty()) return {};
  // A user that says only how to map wants it to be seen: a rank stays in the unit that it was mapped to.
  if (binding.bind == BindPolicy::kShare) binding.bind = binding.width > 1 ? BindPolicy::kCore : binding.map;
  if (binding.bind == BindPolicy::kShare && (limited_by_quota || ranks == 1)) return {};

  const auto count = static_cast<std::size_t>(ranks);
  if (fills_cores(binding)) return plan_filled_cores(machine, binding, count);
  const bool by_thread = binding.bind == BindPolicy::kThread && !limited_by_quota &&
                         (binding.map == BindPolicy::kThread || ranks > machine.usable_cores());
  const bool fills_threads = binding.map == BindPolicy::kThread && binding.per_unit > 1;
  if (by_thread) return plan_threads(machine, count, fills_threads ? static_cast<std::size_t>(binding.per_unit) : 1);
  if (ranks > machine.usable_cores()) {
    if (binding.bind == BindPolicy::kShare) return plan_turns(machine, count);
    return {};
  }
  std::vector<ProcessorSet> plan;
  for (std::size_t rank = 0; rank < count; ++rank) {
    if (binding.bind == BindPolicy::kShare) {
      plan.push_back(share_of_cores(machine, rank, count));
      continue;
    }
    const CoreIndices home = home_of(machine, binding, rank, count);
    if (home.empty()) return {};
    plan.push_back(around(machine, binding, home));
  }
  return plan;
}

bool shares_processors(const std::vector<ProcessorSet>& plan) {
  ProcessorSet taken;
  for (const ProcessorSet& set : plan) {
    if ((taken & set).any()) return true;
    taken |= set;
  }
  return false;
}

bool is_oversubscribed(const Machine& machine, const Binding& binding, const std::vector<ProcessorSet>& plan, int ranks) {
  if (ranks > machine.usable_cores()) return plan.empty() || shares_processors(plan);
  return fills_cores(binding) && !goes_round(binding.bind) && shares_processors(plan);
}

}  // namespace lapwing::launch
