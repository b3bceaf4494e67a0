#include "tool/doctor.h"

#include <cstdio>

namespace lapwing::launch {
namespace {

constexpr Finding (*kChecks[])() = {check_settings,    check_launcher,    check_cores,         check_wake_up,
                                    check_open_files,  check_event_calls, check_shared_memory, check_local_sockets,
                                    check_single_copy, check_loopback,    check_port_range,    check_interfaces,
                                    check_congestion_control, check_protection, check_receive, check_ether, check_queues};

const char* verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kWarning:
      return "warning";
    case Verdict::kError:
      return "error";
  }
  return "?";
}

}  // namespace

int run_doctor(const std::vector<std::string>& arguments) {
  if (!arguments.empty()) {
    const bool asks_help = arguments[0] == "--help" || arguments[0] == "-h";
    if (!asks_help) std::fprintf(stderr, "lapwing: doctor takes no argument, and '%s' is one\n", arguments[0].c_str());
    std::fputs("usage: lapwing doctor\nChecks whether this machine can run MPI jobs well; exit code 1 if it cannot.\n",
               asks_help ? stdout : stderr);
    return asks_help ? 0 : 2;
  }
  int warnings = 0;
  int errors = 0;
  for (const auto check : kChecks) {
    const Finding finding = check();
    std::printf("%-8s %-16s %s\n", verdict_text(finding.verdict), finding.subject.c_str(), finding.fact.c_str());
    if (!finding.remedy.empty()) std::printf("%-8s %-16s -> %s\n", "", "", finding.remedy.c_str());
    std::fflush(stdout);
    warnings += finding.verdict == Verdict::kWarning;
    errors += finding.verdict == Verdict::kError;
  }
  std::printf("\n%d error%s, %d warning%s\n", errors, errors == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s");
  return errors > 0 ? 1 : 0;
}

}  // namespace lapwing::launch
