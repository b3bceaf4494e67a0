// The settings of one job: LAPWING_* environment variables turned into typed fields.
//
// A Settings object holds the defaults from birth; load() replaces those that the environment names. It is filled once
// by MPI_Init (or the tool) on one thread and only read afterwards. settings_list.inc is the one table.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/algorithms.h"
#include "base/log.h"
#include "base/protection.h"
#include "base/status.h"
#include "base/tuning.h"

namespace lapwing {

enum class Progress { kThread, kPolling };
enum class Choice { kAuto, kOn, kOff };
enum class Receive { kAuto, kKernel, kUser };
// Which error handler the program begins with.
enum class InitialErrhandler { kFatal, kAbort, kReturn };
enum class EtherFraming { kAuto, kRaw, kUdp };

// Inclusive; {0, 0} stands for any port.
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  bool any() const noexcept { return first == 0; }
};

// The kinds of settings: the type of the field, how it is read from and turned into text. parse() returns false on
// malformed text and then leaves `value` alone.
namespace settings {

// Names, of which at least one: which there are is for others to say.
struct NamesKind {
  using Value = std::vector<std::string>;
  static constexpr const char* kUnit = "list";
  static constexpr const char* kAllowed = "a comma-separated list of names, at least one, without empty elements";
  static bool parse(std::string_view text, Value& value);
  static std::string print(const Value& value);
};

struct ProgressKind {
  using Value = Progress;
  static constexpr const char* kUnit = "thread|polling";
  static constexpr const char* kAllowed = "thread or polling";
  static bool parse(std::string_view text, Value& value);
  static std::string print(const Value& value);
};

struct BytesKind {
  using Value = std::uint64_t;
  static constexpr const char* kUnit = "bytes";
  static constexpr const char* kAllowed = "a number of bytes, with k, M or G for units of 1024 (64k)";
  static bool parse(std::string_view text, Value& value);
  static std::string print(const Value& value);
};

struct AutoKind {
  using Value = Choice;
  static constexpr const char* kUnit = "auto|on|off";
  static constexpr const char* kAllowed = "auto, on or off";
  static bool parse(std::string_view text, Value& value);
  static std::string print(const Value& value);
};

struct AutoOrOffKind {
  using Value = Choice;
  static constexpr const char* kUnit = "auto|off";
  static constexpr const char* kAllowed = "auto or off";
  static bool parse(std::string_view text, Value& value) { return text != "on" && AutoKind::parse(text, value); }
  static std::string print(const Value& value) { return AutoKind::print(value); }
};

struct ProtectionKind {
  using Value = Protection;
  static constexpr const char* kUnit = "plain|checked|sealed";
  static constexpr const char* kAllowed = "plain, checked or sealed";
  static bool parse(std::string_view text, Value& value);
  static std::string print(const Value& value) { return name_of(value); }
};

struct ReceiveKind {
  using Value = Receive;
  static constexpr const char* kUnit = "auto|kernel|user";
  static constexpr const char* kAllowed = "auto, kernel or user";
  static bool parse(std::string_view text, Value& value);
  static std::string print(const Value& value);
};

struct ListKind {
  using Value = std::vector<std::string>;
  static constexpr const char* kUnit = "list";
  static constexpr const char* kAllowed = "a comma-separated list without empty elements";
  static bool parse(std::string_view text, Value& value);
  static std::string print(const Value& value);
};

// Starts from the defaults; assigns what the text names.
struct TuneKind {
  using Value = Tuning;
  static constexpr const char* kUnit = "list";
  static constexpr const char* kAllowed =
      "a comma-separated list of room.name=value; `lapwing info --tuning` lists names, units and ranges";
  static bool parse(std::string_view text, Value& value);
  static std::string print(const Value& value);
};

// Empty: chosen automatically.
struct CongestionKind {
  using Value = std::string;
  static constexpr const char* kUnit = "auto|name";
  static constexpr const char* kAllowed = "auto, or the name of a congestion control: at most 15 letters, digits, - and _";
  static bool parse(std::string_view text, Value& value);
  static std::string print(const Value& value) { return value.empty() ? "auto" : value; }
};

// As the standard names them for this (MPI 5.0, section 11.5).
struct InitialErrhandlerKind {
  using Value = InitialErrhandler;
  static constexpr const char* kUnit = "mpi_errors_are_fatal|mpi_errors_abort|mpi_errors_return";
  static constexpr const char* kAllowed = "mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return";
  static bool parse(std::string_view text, Value& value);
  static std::string print(const Value& value);
};

struct PortsKind {
  using Value = PortRange;
  static constexpr const char* kUnit = "lo-hi";
  static constexpr const char* kAllowed = "a range of ports such as 20000-20999, or nothing for any port";
  static bool parse(std::string_view text, Value& value);
  static std::string print(const Value& value);
};

struct EtherTypeKind {
  using Value = std::uint16_t;
  static constexpr const char* kUnit = "0x....";
  static constexpr const char* kAllowed = "a hexadecimal number from 0x0600 to 0xffff";
  static bool parse(std::string_view text, Value& value);
  static std::string print(const Value& value);
};

struct EtherFramingKind {
  using Value = EtherFraming;
  static constexpr const char* kUnit = "auto|raw|udp";
  static constexpr const char* kAllowed = "auto, raw or udp";
  static bool parse(std::string_view text, Value& value);
  static std::string print(const Value& value);
};

// The first of as many ports as an interface may have receive queues.
struct EtherPortKind {
  using Value = std::uint16_t;
  static constexpr unsigned kPorts = 256;
  static constexpr const char* kUnit = "port";
  static constexpr const char* kAllowed = "a UDP port from 1 to 65280: the one of receive queue 0, and those after it are the other queues'";
  static bool parse(std::string_view text, Value& value);
  static std::string print(const Value& value) { return std::to_string(value); }
};

struct SecondsKind {
  using Value = std::chrono::milliseconds;
  static constexpr const char* kUnit = "seconds";
  static constexpr const char* kAllowed = "a time in seconds from 0.001 to 86400 (0.5)";
  static bool parse(std::string_view text, Value& value);
  static std::string print(const Value& value);
};

struct PathKind {
  using Value = std::string;
  static constexpr const char* kUnit = "path";
  static constexpr const char* kAllowed = "the path of a file, or nothing";
  static bool parse(std::string_view text, Value& value) { return value = text, true; }
  static std::string print(const Value& value) { return value; }
};

// No value means: chosen from measurement.
struct SpinKind {
  using Value = std::optional<std::chrono::microseconds>;
  static constexpr const char* kUnit = "microseconds";
  static constexpr const char* kAllowed = "auto, or a time from 0 to 1000000 microseconds";
  static bool parse(std::string_view text, Value& value);
  static std::string print(const Value& value);
};

// 0: chosen automatically.
struct LimitKind {
  using Value = std::uint32_t;
  static constexpr const char* kUnit = "number";
  static constexpr const char* kAllowed = "auto, or a number from 1 to 64";
  static bool parse(std::string_view text, Value& value);
  static std::string print(const Value& value);
};

struct FlagKind {
  using Value = bool;
  static constexpr const char* kUnit = "0|1";
  static constexpr const char* kAllowed = "0 or 1";
  static bool parse(std::string_view text, Value& value);
  static std::string print(const Value& value);
};

struct LogKind {
  using Value = LogLevel;
  static constexpr const char* kUnit = "error|warn|info|debug";
  static constexpr const char* kAllowed = "error, warn, info or debug";
  static bool parse(std::string_view text, Value& value);
  static std::string print(const Value& value);
};

struct AlgorithmKind {
  using Value = AlgorithmChoices;
  static constexpr const char* kUnit = "collective=algorithm,...";
  static constexpr const char* kAllowed =
      "a comma-separated list of collective=algorithm, or collective:bytes:ranks=algorithm for some bytes and ranks only "
      "(allreduce:64k-1M:8=ring, bcast::16-=binomial); there are"
#define LAPWING_COLLECTIVE(enumerator, name, algorithms) " " name "=" algorithms
#include "base/algorithm_list.inc"
#undef LAPWING_COLLECTIVE
      ;
  static bool parse(std::string_view text, Value& value) { return AlgorithmChoices::parse(text, value); }
  static std::string print(const Value& value) { return value.print(); }
};

}  // namespace settings

enum class SettingSource { kDefault, kEnvironment };

// What `lapwing info --settings` (and later MPI_T) says about one setting.
struct SettingDescription {
  std::string name;  // of the variable, LAPWING_EAGER_LIMIT_TCP
  std::string meaning;
  std::string unit;
  std::string default_text;
  std::string value_text;
  SettingSource source;
};

class Settings {
 public:
  Settings();

#define LAPWING_SETTING(kind, field, default_text, meaning) settings::kind::Value field{};
#include "base/settings_list.inc"
#undef LAPWING_SETTING

  // Reads every LAPWING_* variable of `environment` (a null-terminated array as ::environ). A name that is no setting
  // or a malformed value is an error which says what would have been right; the fields before it stay read.
  // LAPWING_INTERNAL_* (launcher to rank) and the compiler wrappers' names are passed over.
  Status load(char** environment);

  // Whether the environment has given a value for the field of this name.
  bool is_given(std::string_view field) const noexcept;

  // In the order of settings_list.inc, with this object's values.
  std::vector<SettingDescription> describe() const;

 private:
  enum Index : std::size_t {
#define LAPWING_SETTING(kind, field, default_text, meaning) k_##field,
#include "base/settings_list.inc"
#undef LAPWING_SETTING
    kSettingCount
  };
  Status load_one(std::string_view name, std::string_view value);

  SettingSource sources_[kSettingCount] = {};
};

}  // namespace lapwing
