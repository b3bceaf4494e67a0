#include "base/tuning.h"

#include "base/settings.h"

namespace lapwing {
namespace {

using settings::BytesKind;

// A row of the table. Rows are data, not code for each of them: compiled under the sanitizers that took a minute and a half.
struct Entry {
  const char* name;
  const char* unit;
  bool in_bytes;  // it may have k, M or G
  std::uint64_t usual;
  std::uint64_t least;
  std::uint64_t most;
  std::uint64_t (*read)(const Tuning& values);
  void (*write)(Tuning& values, std::uint64_t number);
  const char* meaning;
  const char* source;

  std::string print(std::uint64_t number) const { return in_bytes ? BytesKind::print(number) : std::to_string(number); }
  std::string range() const { return print(least) + " to " + print(most); }
  // False where `text` is no number between the two.
  bool parse(std::string_view text, std::uint64_t& number) const {
    const bool has_unit = !text.empty() && (text.back() < '0' || text.back() > '9');
    return (in_bytes || !has_unit) && BytesKind::parse(text, number) && number >= least && number <= most;
  }
};

template <auto field>
std::uint64_t read(const Tuning& values) {
  return static_cast<std::uint64_t>(values.*field);
}

template <auto field>
void write(Tuning& values, std::uint64_t number) {
  values.*field = static_cast<std::remove_reference_t<decltype(values.*field)>>(number);
}

constexpr Entry kEntries[] = {
#define LAPWING_TUNING(kind, room, field, value, least, most, meaning, source)                                             \
  {#room "." #field, tuning_kinds::kind::kUnit, std::is_same_v<tuning_kinds::kind, tuning_kinds::Bytes>, value, least, most, \
   read<&Tuning::room##_##field>, write<&Tuning::room##_##field>, meaning, source},
#include "base/tuning_list.inc"
#undef LAPWING_TUNING
};

}  // namespace

Status Tuning::set(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string_view name = assignment.substr(0, equals);
  const std::string_view text = equals == assignment.npos ? std::string_view() : assignment.substr(equals + 1);
  for (const Entry& entry : kEntries) {
    if (name != entry.name) continue;
    std::uint64_t number = 0;
    if (!entry.parse(text, number)) {
      return Status::error(MPI_ERR_OTHER, "%s='%.*s' is malformed; it takes %s, %s", entry.name,
                           static_cast<int>(text.substr(0, 100).size()), text.data(), entry.unit, entry.range().c_str());
    }
    entry.write(*this, number);
    return {};
  }
  return Status::error(MPI_ERR_OTHER, "%.*s is no tuning value; `lapwing info --tuning` lists all",
                       static_cast<int>(name.substr(0, 100).size()), name.data());
}

void put_in_force(const Tuning& values) noexcept {
  detail::tuning_in_force = values;
}

std::vector<TuningDescription> describe(const Tuning& values) {
  std::vector<TuningDescription> result;
  for (const Entry& entry : kEntries) {
    result.push_back({entry.name, entry.unit, entry.print(entry.usual), entry.print(entry.read(values)), entry.range(), entry.meaning,
                      entry.source});
  }
  return result;
}

}  // namespace lapwing
