#include "base/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "base/plain_text.h"

namespace lapwing {
namespace settings {
namespace {

// All of `text` as a number without sign.
bool parse_number(std::string_view text, std::uint64_t& value) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size() && !text.empty();
}

template <typename Function>
bool for_each_element(std::string_view list, Function function) {
  while (true) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (!function(list.substr(0, comma))) return false;
    if (comma == list.size()) return true;
    list.remove_prefix(comma + 1);
  }
}

template <typename T, std::size_t n>
bool parse_word(const std::array<std::pair<const char*, T>, n>& words, std::string_view text, T& value) {
  for (const auto& [word, meaning] : words) {
    if (text == word) {
      value = meaning;
      return true;
    }
  }
  return false;
}

template <typename T, std::size_t n>
std::string print_word(const std::array<std::pair<const char*, T>, n>& words, T value) {
  for (const auto& [word, meaning] : words) {
    if (value == meaning) return word;
  }
  return "?";
}

constexpr std::array<std::pair<const char*, Progress>, 2> kProgressWords{
    {{"thread", Progress::kThread}, {"polling", Progress::kPolling}}};
constexpr std::array<std::pair<const char*, Choice>, 3> kChoiceWords{
    {{"auto", Choice::kAuto}, {"on", Choice::kOn}, {"off", Choice::kOff}}};
constexpr std::array<std::pair<const char*, Receive>, 3> kReceiveWords{
    {{"auto", Receive::kAuto}, {"kernel", Receive::kKernel}, {"user", Receive::kUser}}};
constexpr std::array<std::pair<const char*, InitialErrhandler>, 3> kInitialErrhandlerWords{{
    {"mpi_errors_are_fatal", InitialErrhandler::kFatal},
    {"mpi_errors_abort", InitialErrhandler::kAbort},
    {"mpi_errors_return", InitialErrhandler::kReturn},
}};
constexpr std::array<std::pair<const char*, EtherFraming>, 3> kEtherFramingWords{
    {{"auto", EtherFraming::kAuto}, {"raw", EtherFraming::kRaw}, {"udp", EtherFraming::kUdp}}};
constexpr std::array<std::pair<const char*, LogLevel>, 4> kLogWords{
    {{"error", LogLevel::kError}, {"warn", LogLevel::kWarn}, {"info", LogLevel::kInfo}, {"debug", LogLevel::kDebug}}};

}  // namespace

bool NamesKind::parse(std::string_view text, Value& value) {
  return !text.empty() && ListKind::parse(text, value);
}

std::string NamesKind::print(const Value& value) {
  return ListKind::print(value);
}

bool ProgressKind::parse(std::string_view text, Value& value) {
  return parse_word(kProgressWords, text, value);
}
std::string ProgressKind::print(const Value& value) {
  return print_word(kProgressWords, value);
}

bool BytesKind::parse(std::string_view text, Value& value) {
  int shift = 0;
  if (!text.empty()) {
    switch (lower_case(text.back())) {
      case 'k':
        shift = 10;
        break;
      case 'm':
        shift = 20;
        break;
      case 'g':
        shift = 30;
        break;
      default:
        break;
    }
  }
  if (shift != 0) text.remove_suffix(1);
  std::uint64_t number = 0;
  if (!parse_number(text, number) || number > (std::numeric_limits<std::uint64_t>::max() >> shift)) return false;
  value = number << shift;
  return true;
}

std::string BytesKind::print(const Value& value) {
  constexpr std::array<std::pair<int, char>, 3> kSuffixes{{{30, 'G'}, {20, 'M'}, {10, 'k'}}};
  for (const auto& [shift, suffix] : kSuffixes) {
    if (value != 0 && value % (std::uint64_t{1} << shift) == 0) return std::to_string(value >> shift) + suffix;
  }
  return std::to_string(value);
}

bool AutoKind::parse(std::string_view text, Value& value) {
  return parse_word(kChoiceWords, text, value);
}
std::string AutoKind::print(const Value& value) {
  return print_word(kChoiceWords, value);
}

bool ProtectionKind::parse(std::string_view text, Value& value) {
  for (const Protection protection : {Protection::kPlain, Protection::kChecked, Protection::kSealed}) {
    if (text != name_of(protection)) continue;
    value = protection;
    return true;
  }
  return false;
}

bool ReceiveKind::parse(std::string_view text, Value& value) {
  return parse_word(kReceiveWords, text, value);
}
std::string ReceiveKind::print(const Value& value) {
  return print_word(kReceiveWords, value);
}

bool ListKind::parse(std::string_view text, Value& value) {
  Value result;
  const bool valid = text.empty() || for_each_element(text, [&result](std::string_view element) {
                       result.emplace_back(element);
                       return !element.empty();
                     });
  if (valid) value = std::move(result);
  return valid;
}

std::string ListKind::print(const Value& value) {
  std::string text;
  for (const std::string& element : value) text += (text.empty() ? "" : ",") + element;
  return text;
}

bool TuneKind::parse(std::string_view text, Value& value) {
  Value result;
  const bool valid =
      text.empty() || for_each_element(text, [&result](std::string_view each) { return result.set(each).ok(); });
  if (valid) value = result;
  return valid;
}

std::string TuneKind::print(const Value& value) {
  std::string text;
  for (const TuningDescription& each : describe(value))
    if (each.value_text != each.default_text) text += (text.empty() ? "" : ",") + each.name + "=" + each.value_text;
  return text;
}

// As the kernel names them: TCP_CA_NAME_MAX, its end included, is 16.
bool CongestionKind::parse(std::string_view text, Value& value) {
  constexpr std::size_t kLongest = 15;
  const auto fits = [](char letter) { return is_letter_or_digit(letter) || letter == '-' || letter == '_'; };
  if (text.empty() || text.size() > kLongest || !std::all_of(text.begin(), text.end(), fits)) return false;
  value = text == "auto" ? std::string() : std::string(text);
  return true;
}

bool InitialErrhandlerKind::parse(std::string_view text, Value& value) {
  return parse_word(kInitialErrhandlerWords, text, value);
}
std::string InitialErrhandlerKind::print(const Value& value) {
  return print_word(kInitialErrhandlerWords, value);
}

bool PortsKind::parse(std::string_view text, Value& value) {
  if (text.empty()) {
    value = {};
    return true;
  }
  const std::size_t dash = text.find('-');
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  if (dash == std::string_view::npos || !parse_number(text.substr(0, dash), first) ||
      !parse_number(text.substr(dash + 1), last) || first == 0 || first > last || last > 65535) {
    return false;
  }
  value = {static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(last)};
  return true;
}

std::string PortsKind::print(const Value& value) {
  return value.any() ? "" : std::to_string(value.first) + "-" + std::to_string(value.last);
}

bool EtherTypeKind::parse(std::string_view text, Value& value) {
  constexpr Value kLeast = 0x600;  // smaller ones are lengths
  if (text.substr(0, 2) != "0x") return false;
  Value type = 0;
  const auto [stop, error] = std::from_chars(text.data() + 2, text.data() + text.size(), type, 16);
  if (error != std::errc() || stop != text.data() + text.size() || type < kLeast) return false;
  value = type;
  return true;
}

std::string EtherTypeKind::print(const Value& value) {
  char text[8];
  std::snprintf(text, sizeof text, "0x%04x", value);
  return text;
}

bool EtherFramingKind::parse(std::string_view text, Value& value) {
  return parse_word(kEtherFramingWords, text, value);
}
std::string EtherFramingKind::print(const Value& value) {
  return print_word(kEtherFramingWords, value);
}

bool EtherPortKind::parse(std::string_view text, Value& value) {
  constexpr std::uint64_t kMost = 65536 - kPorts;
  std::uint64_t port = 0;
  if (!parse_number(text, port) || port == 0 || port > kMost) return false;
  value = static_cast<Value>(port);
  return true;
}

bool SecondsKind::parse(std::string_view text, Value& value) {
  double seconds = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), seconds, std::chars_format::fixed);
  if (error != std::errc() || stop != text.data() + text.size() || !(seconds >= 0.001 && seconds <= 86400))
    return false;
  value = Value(static_cast<std::int64_t>(seconds * 1000 + 0.5));
  return true;
}

std::string SecondsKind::print(const Value& value) {
  return number_text(static_cast<double>(value.count()) / 1000, 6);
}

bool SpinKind::parse(std::string_view text, Value& value) {
  std::uint64_t microseconds = 0;
  if (text == "auto") {
    value.reset();
    return true;
  }
  if (!parse_number(text, microseconds) || microseconds > 1000000) return false;
  value = std::chrono::microseconds(microseconds);
  return true;
}

std::string SpinKind::print(const Value& value) {
  return value ? std::to_string(value->count()) : "auto";
}

bool LimitKind::parse(std::string_view text, Value& value) {
  std::uint64_t number = 0;
  if (text != "auto" && (!parse_number(text, number) || number < 1 || number > 64)) return false;
  value = static_cast<Value>(number);
  return true;
}

std::string LimitKind::print(const Value& value) {
  return value != 0 ? std::to_string(value) : "auto";
}

bool FlagKind::parse(std::string_view text, Value& value) {
  if (text != "0" && text != "1") return false;
  value = text == "1";
  return true;
}

std::string FlagKind::print(const Value& value) {
  return value ? "1" : "0";
}

bool LogKind::parse(std::string_view text, Value& value) {
  return parse_word(kLogWords, text, value);
}
std::string LogKind::print(const Value& value) {
  return print_word(kLogWords, value);
}

}  // namespace settings

namespace {

constexpr std::string_view kPrefix = "LAPWING_";
constexpr std::string_view kInternalPrefix = "LAPWING_INTERNAL_";

// Read by others: the compiler wrappers, so they may well be in the environment of a running program, and delay points.
constexpr std::string_view kForeignNames[] = {
    "LAPWING_CC",
    "LAPWING_CXX",
    "LAPWING_ONLY_BUILT",
#if defined(LAPWING_DELAY_POINTS)
    "LAPWING_DELAY_SEED",
#endif
};

std::string variable_name(const char* field) {
  std::string name(kPrefix);
  for (; *field != '\0'; ++field) name += upper_case(*field);
  return name;
}

// Levenshtein's distance: insertions, removals and changes that turn `a` into `b`. Time and space |a| |b| and |b|.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// Empty where none is like it.
std::string nearest_name(std::string_view wrong) {
  std::string nearest;
  std::size_t least = (wrong.size() - kPrefix.size() + 1) / 2;
#define LAPWING_SETTING(kind, field, default_text, meaning)                                 \
  if (const std::string name = variable_name(#field); edit_distance(wrong, name) < least) { \
    least = edit_distance(wrong, name);                                                     \
    nearest = name;                                                                         \
  }
#include "base/settings_list.inc"
#undef LAPWING_SETTING
  return nearest;
}

Status malformed(const std::string& name, std::string_view value, const char* allowed) {
  return Status::error(MPI_ERR_OTHER, "%s='%.*s' is malformed; it takes %s", name.c_str(),
                       static_cast<int>(std::min<std::size_t>(value.size(), 200)), value.data(), allowed);
}

Status check_most(const char* field, std::uint64_t value, std::uint64_t most) {
  if (value <= most) return {};
  return Status::error(MPI_ERR_OTHER, "%s is %s; it takes at most %s", variable_name(field).c_str(), settings::BytesKind::print(value).c_str(),
                       settings::BytesKind::print(most).c_str());
}

// A name of an interface, which has no slash, or a network.
Status check_interface(std::string_view wish) {
  const std::size_t slash = wish.find('/');
  if (slash == std::string_view::npos) return {};
  const std::uint64_t most = wish.find(':') == std::string_view::npos ? 32 : 128;
  std::uint64_t bits = 0;
  if (settings::parse_number(wish.substr(slash + 1), bits) && bits <= most) return {};
  return Status::error(MPI_ERR_OTHER, "LAPWING_TCP_INTERFACE='%.*s' is no network: it takes a number of bits of at most %u behind the slash",
                       static_cast<int>(std::min<std::size_t>(wish.size(), 200)), wish.data(), static_cast<unsigned>(most));
}

// What the kind of a setting does not say.
Status check_limits(const Settings& settings) {
  constexpr std::uint64_t kMostByShm = 64 << 20, kMostByTcp = 1 << 20;
  LAPWING_TRY(check_most("eager_limit_shm", settings.eager_limit_shm, kMostByShm));
  LAPWING_TRY(check_most("eager_limit_tcp", settings.eager_limit_tcp, kMostByTcp));
  for (const std::string& wish : settings.tcp_interface) LAPWING_TRY(check_interface(wish));
  return {};
}

}  // namespace

Settings::Settings() {
#define LAPWING_SETTING(kind, field, default_text, meaning) settings::kind::parse(default_text, field);
#include "base/settings_list.inc"
#undef LAPWING_SETTING
}

Status Settings::load(char** environment) {
  for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    if (variable.substr(0, kPrefix.size()) != kPrefix) continue;
    const std::size_t equals = variable.find('=');
    if (equals == std::string_view::npos) continue;
    LAPWING_TRY(load_one(variable.substr(0, equals), variable.substr(equals + 1)));
  }
  return check_limits(*this);
}

Status Settings::load_one(std::string_view name, std::string_view value) {
  if (name.substr(0, kInternalPrefix.size()) == kInternalPrefix) return {};
  if (std::find(std::begin(kForeignNames), std::end(kForeignNames), name) != std::end(kForeignNames)) return {};
#define LAPWING_SETTING(kind, field, default_text, meaning)                                             \
  if (const std::string known = variable_name(#field); name == known) {                                 \
    if (!settings::kind::parse(value, field)) return malformed(known, value, settings::kind::kAllowed); \
    sources_[k_##field] = SettingSource::kEnvironment;                                                  \
    return {};                                                                                          \
  }
#include "base/settings_list.inc"
#undef LAPWING_SETTING
  const std::string nearest = nearest_name(name);
  return Status::error(MPI_ERR_OTHER, "%.*s is not a setting;%s `lapwing info --settings` lists all",
                       static_cast<int>(std::min<std::size_t>(name.size(), 200)), name.data(),
                       nearest.empty() ? "" : (" did you mean " + nearest + "?").c_str());
}

bool Settings::is_given(std::string_view field_name) const noexcept {
#define LAPWING_SETTING(kind, field, default_text, meaning) \
  if (field_name == #field) return sources_[k_##field] == SettingSource::kEnvironment;
#include "base/settings_list.inc"
#undef LAPWING_SETTING
  return false;
}

std::vector<SettingDescription> Settings::describe() const {
  std::vector<SettingDescription> result;
#define LAPWING_SETTING(kind, field, default_text, meaning)                                                            \
  result.push_back({variable_name(#field), meaning, settings::kind::kUnit, default_text, settings::kind::print(field), \
                    sources_[k_##field]});
#include "base/settings_list.inc"
#undef LAPWING_SETTING
  return result;
}

}  // namespace lapwing
