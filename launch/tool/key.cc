#include "tool/key.h"

#include <cstdio>

#include "runtime/key_file.h"

namespace lapwing::launch {
namespace {

constexpr const char* kUsage =
    "usage: lapwing key [FILE]\n"
    "Makes a key file, by default ~/.config/lapwing/key, where every job of the user looks for it; elsewhere LAPWING_KEY_FILE names it.\n"
    "Copy it to all hosts on which the jobs run (a home that they share does), by a way that others cannot read: with it a process\n"
    "counts as a rank of such a job only if it knows the key as well as the job's secret, which some launchers send in clear.\n";

}  // namespace

int run_key(const std::vector<std::string>& arguments) {
  const bool asks_help = arguments.size() == 1 && (arguments[0] == "--help" || arguments[0] == "-h");
  if (asks_help || arguments.size() > 1 || (arguments.size() == 1 && arguments[0].rfind('-', 0) == 0)) {
    if (!asks_help) std::fputs("lapwing key: at most one file is understood, and no option\n", stderr);
    std::fputs(kUsage, asks_help ? stdout : stderr);
    return asks_help ? 0 : 2;
  }
  const std::string path = runtime::key_file_path(arguments.empty() ? runtime::kDefaultKeyFile : arguments[0]);
  if (const Status made = runtime::make_key_file(path); !made.ok()) {
    std::fprintf(stderr, "lapwing: %s\n", made.text());
    return 1;
  }
  std::printf("%s is made; copy it to all hosts on which your jobs run\n", path.c_str());
  return 0;
}

}  // namespace lapwing::launch
