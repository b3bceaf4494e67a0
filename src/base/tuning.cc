#include "base/tuning.h"

#include "base/settings.h"

namespace lapwing {
namespace {

using tuning_kinds::Bytes;
using tuning_kinds::Count;
using tuning_kinds::Nanoseconds;

template <typename Kind>
std::string print(std::uint64_t value) {
  return std::is_same_v<Kind, Bytes> ? settings::BytesKind::print(value) : std::to_string(value);
}

template <typename Kind>
std::string range(std::uint64_t least, std::uint64_t most) {
  return print<Kind>(least) + " to " + print<Kind>(most);
}

// False, and `value` as it was, where `text` is no number between the two.
template <typename Kind>
bool parse(std::string_view text, std::uint64_t least, std::uint64_t most, typename Kind::Value& value) {
  std::uint64_t number = 0;
  const bool has_unit = !text.empty() && (text.back() < '0' || text.back() > '9');
  if ((has_unit && !std::is_same_v<Kind, Bytes>) || !settings::BytesKind::parse(text, number)) return false;
  if (number < least || number > most) return false;
  value = static_cast<typename Kind::Value>(number);
  return true;
}

}  // namespace

Status Tuning::set(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string_view name = assignment.substr(0, equals);
  const std::string_view text = equals == assignment.npos ? std::string_view() : assignment.substr(equals + 1);
#define LAPWING_TUNING(kind, room, field, value, least, most, meaning, source)                       \
  if (name == #room "." #field) {                                                                    \
    if (parse<kind>(text, least, most, room##_##field)) return {};                                   \
    return Status::error(MPI_ERR_OTHER, "%s='%.*s' is malformed; it takes %s, %s", #room "." #field, \
                         static_cast<int>(text.substr(0, 100).size()), text.data(), kind::kUnit,     \
                         range<kind>(least, most).c_str());                                          \
  }
#include "base/tuning_list.inc"
#undef LAPWING_TUNING
  return Status::error(MPI_ERR_OTHER, "%.*s is no tuning value; `lapwing info --tuning` lists all",
                       static_cast<int>(name.substr(0, 100).size()), name.data());
}

void put_in_force(const Tuning& values) noexcept {
  detail::tuning_in_force = values;
}

std::vector<TuningDescription> describe(const Tuning& values) {
  std::vector<TuningDescription> result;
#define LAPWING_TUNING(kind, room, field, value, least, most, meaning, source)                                         \
  result.push_back({#room "." #field, kind::kUnit, print<kind>(static_cast<std::uint64_t>(value)),                     \
                    print<kind>(static_cast<std::uint64_t>(values.room##_##field)), range<kind>(least, most), meaning, \
                    source});
#include "base/tuning_list.inc"
#undef LAPWING_TUNING
  return result;
}

}  // namespace lapwing
