#include "tool/info.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string_view>
#include <utility>

#include "base/algorithms.h"
#include "base/settings.h"
#include "net/ether/framings.h"
#include "tool/json.h"
#include "tool/receive_way.h"
#include "version.h"

extern char** environ;

namespace lapwing::launch {
namespace {

constexpr const char* kUsage =
    "usage: lapwing info [--settings | --tuning | --algorithms | --coverage] [--json]\n"
    "  --settings   every setting with its meaning, unit and default\n"
    "  --tuning     every value that was chosen by measuring, as a table (docs/tuning.md), for LAPWING_TUNE\n"
    "  --algorithms the algorithms of collective operations, for LAPWING_ALGORITHM\n"
    "  --coverage   the functions of MPI 5.0 that this version lacks\n"
    "  --json       the same for programs\n";

struct FunctionCoverage {
  const char* name;
  const char* chapter;
  bool built;
};

constexpr FunctionCoverage kCoverage[] = {
#include "mpi/coverage.inc"
};

const char* source_text(const SettingDescription& setting) {
  return setting.source == SettingSource::kEnvironment ? "environment" : "default";
}

std::size_t count_built() {
  return static_cast<std::size_t>(
      std::count_if(std::begin(kCoverage), std::end(kCoverage), [](const auto& entry) { return entry.built; }));
}

void print_overview(const Settings& settings) {
  const std::vector<SettingDescription> entries = settings.describe();
  std::printf("Lapwing %s\n", kVersion);
  std::printf("  interface    MPI %d.%d, standard ABI %d.%d (libmpi_abi.so.1)\n", MPI_VERSION, MPI_SUBVERSION,
              MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
  std::printf("  functions    %zu of %zu built; `lapwing info --coverage` lists the others\n", count_built(),
              std::size(kCoverage));
  std::printf("  transports   %s\n", settings::NamesKind::print(settings.transports).c_str());
  if (std::count(settings.transports.begin(), settings.transports.end(), "ether") != 0)
    std::printf("  ether        %s\n", net::ether::describe_framings(settings).c_str());
  std::printf("  receive      over TCP %s\n", describe(find_receive_way(settings, false), settings).c_str());
  std::printf("  settings     (`lapwing info --settings` explains them)\n");
  for (const SettingDescription& entry : entries) {
    std::printf("    %-28s %-16s %s\n", entry.name.c_str(), entry.value_text.empty() ? "-" : entry.value_text.c_str(),
                source_text(entry));
  }
}

void print_settings(const Settings& settings) {
  for (const SettingDescription& entry : settings.describe()) {
    std::printf("%s (%s)\n", entry.name.c_str(), entry.unit.c_str());
    std::printf("    %s\n", entry.meaning.c_str());
    std::printf("    default %s", entry.default_text.empty() ? "empty" : entry.default_text.c_str());
    if (entry.source == SettingSource::kEnvironment) std::printf("; set to '%s' here", entry.value_text.c_str());
    std::printf("\n");
  }
}

void print_tuning(const Settings& settings) {
  std::printf("| name | unit | default | range | meaning | where it comes from |\n|---|---|---|---|---|---|\n");
  for (const TuningDescription& entry : describe(settings.tune)) {
    const bool changed = entry.value_text != entry.default_text;
    std::printf("| `%s` | %s | %s%s%s%s | %s | %s | %s |\n", entry.name.c_str(), entry.unit.c_str(),
                entry.default_text.c_str(), changed ? " (here " : "", changed ? entry.value_text.c_str() : "",
                changed ? ")" : "", entry.range.c_str(), entry.meaning.c_str(), entry.source.c_str());
  }
}

void print_algorithms(const Settings& settings) {
  std::printf(
      "LAPWING_ALGORITHM=collective=algorithm,... asks for one where it can be used; the others are chosen by ranks "
      "and bytes\n\n");
  for (int kind = 0; kind < static_cast<int>(CollectiveKind::kCount); ++kind) {
    const auto collective = static_cast<CollectiveKind>(kind);
    const Algorithm wanted = settings.algorithm.of(collective, AlgorithmChoices::kUnknownBytes, 0);
    std::printf("  %-15s %s%s%s%s\n", name(collective).data(), algorithms_for(collective).data(),
                wanted != Algorithm::kAutomatic ? " (here " : "",
                wanted != Algorithm::kAutomatic ? name(wanted).data() : "", wanted != Algorithm::kAutomatic ? ")" : "");
  }
  std::printf("\n");
#define LAPWING_ALGORITHM_NAME(enumerator, name, meaning) std::printf("  %-18s %s\n", name, meaning);
#include "base/algorithm_list.inc"
#undef LAPWING_ALGORITHM_NAME
}

void print_coverage(const Settings&) {
  std::map<std::string_view, std::vector<const char*>> missing;
  for (const FunctionCoverage& entry : kCoverage) {
    if (!entry.built) missing[entry.chapter].push_back(entry.name);
  }
  std::printf(
      "%zu of %zu functions are built. Calling one of these raises an error that names it; `mpicc -only-built`, and\n"
      "LAPWING_ONLY_BUILT=1 while a configure script runs, hide them from programs:\n",
      count_built(), std::size(kCoverage));
  for (const auto& [chapter, names] : missing) {
    std::printf("\n%.*s\n", static_cast<int>(chapter.size()), chapter.data());
    for (const char* name : names) std::printf("  %s\n", name);
  }
}

void print_json_settings(const Settings& settings) {
  std::printf("  \"settings\": [");
  const char* separator = "\n";
  for (const SettingDescription& entry : settings.describe()) {
    std::printf("%s    {\"name\": %s, \"value\": %s, \"source\": %s, \"default\": %s, \"unit\": %s, \"meaning\": %s}",
                separator, json_string(entry.name).c_str(), json_string(entry.value_text).c_str(),
                json_string(source_text(entry)).c_str(), json_string(entry.default_text).c_str(),
                json_string(entry.unit).c_str(), json_string(entry.meaning).c_str());
    separator = ",\n";
  }
  std::printf("\n  ],\n");
}

void print_json_coverage() {
  std::printf("  \"functions\": %zu,\n  \"functions_built\": %zu,\n  \"functions_missing\": [", std::size(kCoverage),
              count_built());
  const char* separator = "\n";
  for (const FunctionCoverage& entry : kCoverage) {
    if (entry.built) continue;
    std::printf("%s    {\"name\": %s, \"chapter\": %s}", separator, json_string(entry.name).c_str(),
                json_string(entry.chapter).c_str());
    separator = ",\n";
  }
  std::printf("\n  ]\n");
}

void print_json(const Settings& settings) {
  std::printf("{\n  \"name\": \"Lapwing\",\n  \"version\": %s,\n", json_string(kVersion).c_str());
  std::printf("  \"mpi_version\": \"%d.%d\",\n  \"abi_version\": \"%d.%d\",\n", MPI_VERSION, MPI_SUBVERSION,
              MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
  std::printf("  \"receive\": %s,\n", json_string(describe(find_receive_way(settings, false), settings)).c_str());
  print_json_settings(settings);
  print_json_coverage();
  std::printf("}\n");
}

}  // namespace

int run_info(const std::vector<std::string>& arguments) {
  constexpr std::pair<std::string_view, void (*)(const Settings&)> kViews[] = {
      {"--settings", &print_settings},
      {"--tuning", &print_tuning},
      {"--algorithms", &print_algorithms},
      {"--coverage", &print_coverage},
  };
  void (*print)(const Settings&) = &print_overview;
  bool wants_json = false;
  for (const std::string& argument : arguments) {
    const auto view =
        std::find_if(std::begin(kViews), std::end(kViews), [&](const auto& each) { return each.first == argument; });
    if (view != std::end(kViews)) {
      print = view->second;
    } else if (argument == "--json") {
      wants_json = true;
    } else {
      const bool asks_help = argument == "--help" || argument == "-h";
      if (!asks_help) std::fprintf(stderr, "lapwing info: unknown option %s\n", argument.c_str());
      std::fputs(kUsage, asks_help ? stdout : stderr);
      return asks_help ? 0 : 2;
    }
  }

  Settings settings;
  const Status status = settings.load(environ);
  (wants_json ? &print_json : print)(settings);
  if (status.ok()) return 0;
  std::fflush(stdout);
  std::fprintf(stderr, "lapwing: error: %s\n", status.text());
  return 1;
}

}  // namespace lapwing::launch
