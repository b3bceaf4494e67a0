// Starts the probe (launch/probe) for each kind of link that this machine has, and keeps what it prints.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "machine.h"
#include "runtime/host_identity.h"
#include "runtime/launcher_search.h"
#include "tool/model.h"

extern char** environ;

namespace lapwing::launch {
namespace {

namespace model = coll::model;

// Beside this program: in a build folder, or where things are installed.
std::string folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}
std::string probe() {
  for (const char* place : {"/lapwing-model-probe", "/../libexec/lapwing/lapwing-model-probe"})
    if (access((folder() + place).c_str(), X_OK) == 0) return folder() + place;
  return "";
}

// What a job of the probe prints; nothing, and the reason on standard error, where it fails.
std::string output_of(const std::string& variables, int ranks, const std::string& options) {
  const std::string command = variables + " timeout 120 '" + folder() + "/mpiexec' -n " + std::to_string(ranks) + " '" +
                              probe() + "' " + options;
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  char piece[4096];
  while (const std::size_t got = std::fread(piece, 1, sizeof piece, pipe)) text.append(piece, got);
  return pclose(pipe) == 0 ? text : "";
}

struct Step {
  const char* what;
  std::string variables;
  int ranks;
  std::string options;
};

std::vector<Step> steps() {
  const int cores = read_machine().usable_cores();
  const std::string area = "LAPWING_MODEL=none LAPWING_TRANSPORTS=self,shm LAPWING_ALGORITHM=barrier=area,allgather=area,allreduce=area";
  return {
      {"messages through shared memory", "LAPWING_MODEL=none LAPWING_TRANSPORTS=self,shm", 2, "--link shared"},
      {"messages over TCP on this host", "LAPWING_MODEL=none LAPWING_TRANSPORTS=self,tcp", 2, "--link local_tcp"},
      {"memory and reductions", area, 2, "--memory"},
      {"turns at a core", area, 4 * cores, "--turn " + std::to_string(cores)},
  };
}

// Measured against fitted, for those that want to see how good the fit is.
void add_points(const std::string& text, std::vector<FitPoint>& points) {
  std::istringstream lines(text);
  std::string mark, point, series;
  double bytes = 0, measured = 0, fitted = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    if (!(words >> mark >> point >> series >> bytes >> measured >> fitted) || mark != "#") continue;
    std::printf("  %-22s %9.0f B %12.2f us, by the fit %12.2f\n", series.c_str(), bytes, measured / 1000, fitted / 1000);
    points.push_back({series, bytes, measured, fitted});
  }
}

void keep_plot(const std::string& path, const std::vector<FitPoint>& points) {
  std::ofstream file(path);
  file << plot_fit(points);
  file.close();
  if (file.good())
    std::printf("the fit as a plot: %s\n", path.c_str());
  else
    std::fprintf(stderr, "lapwing model: %s cannot be written: %s\n", path.c_str(), std::strerror(errno));
}

// What was measured before stays where a step fails.
int measure_here() {
  const std::string setting = model_setting(), path = model::path_for(setting, runtime::host_name());
  if (path.empty()) {
    std::fputs("lapwing model: LAPWING_MODEL is none, or neither it nor XDG_CONFIG_HOME nor HOME says where to keep the parameters\n", stderr);
    return 1;
  }
  model::Parameters parameters = model::load(setting, runtime::host_name()).parameters;
  std::vector<FitPoint> points;
  int failed = 0;
  const std::vector<Step> all = steps();
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::fprintf(stderr, "measuring %zu of %zu: %s ...\n", i + 1, all.size(), all[i].what);
    const std::string text = output_of(all[i].variables, all[i].ranks, all[i].options);
    const Status status = model::read("lapwing-model 1\n" + text, parameters);
    if (text.empty() || !status.ok()) {
      std::fprintf(stderr, "lapwing model: %s could not be measured%s%s\n", all[i].what, text.empty() ? "" : ": ",
                   text.empty() ? "" : status.text());
      ++failed;
    }
    add_points(text, points);
  }
  const Status kept = model::keep(path, parameters);
  if (!kept.ok()) {
    std::fprintf(stderr, "lapwing model: %s\n", kept.text());
    return 1;
  }
  keep_plot(path + ".svg", points);
  std::printf("kept in %s; `lapwing model show` prints it\n", path.c_str());
  return failed == 0 ? 0 : 1;
}

}  // namespace

int measure_model(const std::vector<std::string>&) {
  if (probe().empty()) {
    std::fprintf(stderr, "lapwing model: lapwing-model-probe is not beside %s; was Lapwing installed?\n", folder().c_str());
    return 1;
  }
  using Kind = runtime::FoundLauncher::Kind;
  const Kind launcher = runtime::find_launcher(environ).kind;
  if (launcher != Kind::kDescriptor && launcher != Kind::kPort) return measure_here();
  // This process is a rank: the probe takes its place in the job.
  const std::string path = probe();
  execl(path.c_str(), path.c_str(), "--keep-hosts", nullptr);
  std::fprintf(stderr, "lapwing model: %s cannot be started: %s\n", path.c_str(), std::strerror(errno));
  return 1;
}

}  // namespace lapwing::launch
