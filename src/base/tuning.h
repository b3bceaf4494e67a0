// What was chosen by measuring: thresholds, sizes of pieces, budgets, delays. tuning_list.inc is the one table; what a peer, a
// file or a protocol fixes is no tuning value and stands where it is used.
//
// The values in force are a process's own. They are set before its first thread starts (LAPWING_TUNE, by MPI_Init) and only read
// afterwards, so reading one costs a load.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lapwing {

namespace tuning_kinds {
struct Bytes {
  using Value = std::uint64_t;
  static constexpr const char* kUnit = "bytes";
};
struct Nanoseconds {
  using Value = std::int64_t;
  static constexpr const char* kUnit = "ns";
};
struct Count {
  using Value = unsigned;
  static constexpr const char* kUnit = "count";
};
}  // namespace tuning_kinds

struct Tuning {
#define LAPWING_TUNING(kind, room, name, value, least, most, meaning, source) \
  tuning_kinds::kind::Value room##_##name = value;
#include "base/tuning_list.inc"
#undef LAPWING_TUNING

  // One "room.name=value"; bytes may have k, M or G. The text of an error says what would have been right.
  Status set(std::string_view assignment);
};

namespace detail {
inline constinit Tuning tuning_in_force;
}
inline const Tuning& tuning() noexcept {
  return detail::tuning_in_force;
}
void put_in_force(const Tuning& values) noexcept;

// What `lapwing info --tuning` says about one value.
struct TuningDescription {
  std::string name;  // tcp.data_chunk
  std::string unit;
  std::string default_text;
  std::string value_text;
  std::string range;
  std::string meaning;
  std::string source;  // where the default comes from, and on what it depends
};
// In the order of the table.
std::vector<TuningDescription> describe(const Tuning& values);

}  // namespace lapwing
