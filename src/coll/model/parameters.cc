#include "coll/model/parameters.h"

#include <algorithm>
#include <charconv>

#include "base/plain_text.h"

namespace lapwing::coll::model {
namespace {

constexpr double kLongest = 1e9;  // a second

struct LinkField {
  const char* name;
  const char* symbol;
  const char* meaning;
  double Link::*value;
};
constexpr LinkField kLinkFields[] = {
    {"latency", "L", "one way of a message, beside what both processors do", &Link::latency},
    {"overhead", "o", "of the processor for a message, at either end", &Link::overhead},
    {"gap", "g", "between short messages that a rank sends one after the other", &Link::gap},
    {"per_byte", "G", "for each byte of a long message", &Link::per_byte},
    {"overhead_per_byte", "O", "of the processor for each byte, at either end", &Link::overhead_per_byte},
    {"long_share", "k", "of G and O in messages of 48 KiB and more (a factor)", &Link::long_share},
};

struct MemoryField {
  const char* name;
  const char* symbol;
  const char* meaning;
  double Memory::*value;
};
constexpr MemoryField kMemoryFields[] = {
    {"copy", "C", "for each byte that is copied to or from memory that ranks share", &Memory::copy},
    {"reduce", "y", "for each byte that is combined with another", &Memory::reduce},
    {"post", "l", "for a cache line on its way from core to core", &Memory::post},
    {"wakeup", "w", "to wake a rank that sleeps", &Memory::wakeup},
    {"turn", "W", "until one other rank has had the core, where they share it", &Memory::turn},
    {"call", "c", "for a system call that copies between the memory of two ranks", &Memory::call},
    {"direct", "D", "for each byte that it copies", &Memory::direct},
};

struct LinkName {
  const char* name;
  const char* meaning;
};
constexpr LinkName kLinkNames[kLinkKinds] = {
    {"shared", "shared memory"}, {"local_tcp", "TCP on one host"}, {"hosts", "between hosts"}};

// Calls act(name, symbol, meaning, value) for each parameter.
template <typename Values, typename Act>
void for_each(Values& values, Act act) {
  for (int kind = 0; kind < kLinkKinds; ++kind) {
    for (const LinkField& field : kLinkFields) {
      const std::string name = std::string(kLinkNames[kind].name) + "." + field.name;
      act(name, field.symbol, field.meaning, values.links[kind].*field.value);
    }
  }
  for (const MemoryField& field : kMemoryFields)
    act(std::string("memory.") + field.name, field.symbol, field.meaning, values.memory.*field.value);
}

std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

bool parse_number(std::string_view text, double& number) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && stop == text.data() + text.size() && number >= 0 && number <= kLongest;
}

std::string head() { return "lapwing-model " + std::to_string(kVersion); }

std::string shown(std::string_view text) { return std::string(text.substr(0, 80)); }

Status read_line(int number, std::string_view line, Parameters& parameters) {
  std::string_view value = line;
  const std::string_view wanted = take_until(value, ' ');
  bool known = false, valid = false;
  for_each(parameters, [&](const std::string& name, const char*, const char*, double& parameter) {
    if (name != wanted) return;
    known = true;
    valid = parse_number(value, parameter);
  });
  if (!known)
    return Status::error(MPI_ERR_OTHER, "line %d: '%s' is no parameter; `lapwing model show` lists them", number,
                         shown(wanted).c_str());
  if (!valid)
    return Status::error(MPI_ERR_OTHER, "line %d: %s is '%s'; it takes nanoseconds, from 0 to 1e9", number,
                         shown(wanted).c_str(), shown(value).c_str());
  return {};
}

// As measured on a virtual machine of two cores; between hosts, for Ethernet of 10 Gbit/s and some 20 us a message.
Parameters make_defaults() noexcept {
  Parameters made;
  made.link(LinkKind::kShared) = {50, 150, 120, 0.09, 0.08, 0.45};
  made.link(LinkKind::kLocalTcp) = {200, 2000, 500, 0.1, 0.08};
  made.link(LinkKind::kHosts) = {10000, 5000, 5000, 1, 0.3};
  made.memory = {0.025, 0.025, 45, 40000, 3000, 1000, 0.06};
  return made;
}

}  // namespace

const Parameters& Parameters::defaults() noexcept {
  static const Parameters kDefaults = make_defaults();
  return kDefaults;
}

const char* name(LinkKind kind) noexcept { return kLinkNames[static_cast<int>(kind)].name; }
const char* meaning(LinkKind kind) noexcept { return kLinkNames[static_cast<int>(kind)].meaning; }

bool parse(std::string_view text, LinkKind& kind) noexcept {
  for (int each = 0; each < kLinkKinds; ++each) {
    if (text != kLinkNames[each].name) continue;
    kind = static_cast<LinkKind>(each);
    return true;
  }
  return false;
}

std::vector<ParameterName> describe(const Parameters& parameters) {
  std::vector<ParameterName> all;
  for_each(parameters, [&](const std::string& name, const char* symbol, const char* meaning, double value) {
    all.push_back({name, symbol, meaning, value});
  });
  return all;
}

std::string print(const Parameters& parameters) {
  std::string text = head() + "\n";
  for_each(parameters, [&](const std::string& name, const char*, const char*, double value) {
    text += name + " " + number_text(value, 6) + "\n";
  });
  return text;
}

Status read(std::string_view text, Parameters& parameters) {
  const std::string_view first = take_until(text, '\n');
  if (first != head())
    return Status::error(MPI_ERR_OTHER, "it begins with '%s' instead of '%s'", shown(first).c_str(), head().c_str());
  Parameters result = parameters;
  for (int number = 2; !text.empty(); ++number) {
    const std::string_view line = take_until(text, '\n');
    if (line.empty() || line[0] == '#') continue;
    LAPWING_TRY(read_line(number, line, result));
  }
  parameters = result;
  return {};
}

}  // namespace lapwing::coll::model
