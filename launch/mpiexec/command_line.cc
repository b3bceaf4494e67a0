#include "mpiexec/command_line.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace lapwing::launch {
namespace {

constexpr int kMaxRanks = 100000;

constexpr const char* kUsage =
    "usage: mpiexec [options] program [arguments] [: [options] program [arguments]]...\n"
    "\n"
    "Starts an MPI job on this machine.\n"
    "\n"
    "  -n, -np COUNT          number of ranks of this program (default 1)\n"
    "  -x NAME[=VALUE]        set an environment variable for all ranks\n"
    "  -genv NAME VALUE       the same\n"
    "  -env NAME VALUE        set an environment variable for this program's ranks\n"
    "  -wdir DIRECTORY        start this program's ranks in DIRECTORY\n"
    "  --bind-to WHAT         none; core: one core per rank; numa: one memory node per rank\n"
    "                         (default: an equal share of the cores each, when there is a core for every rank)\n"
    "  -l, --label-output     begin every line of output with the rank it came from\n"
    "  --timeout SECONDS      end the job with exit code 124 after this time\n"
    "  -v, --verbose          say what is started where\n"
    "  --version, -h, --help\n"
    "\n"
    "Standard input goes to rank 0. The exit code is 0 when all ranks returned 0, else that of the first rank that "
    "did\n"
    "not, or 128 + the signal that ended it, or the code given to MPI_Abort.\n"
    "Jobs over several machines are started with Slurm or MPICH's mpiexec (Hydra), which work with Lapwing.\n";

// Habits from other launchers that need nothing here.
bool is_harmless(std::string_view name) {
  return name == "oversubscribe" || name == "allow-run-as-root" || name == "envall" || name == "genvall";
}

bool is_about_hosts(std::string_view name) {
  return name == "host" || name == "hosts" || name == "hostfile" || name == "machinefile" || name == "f" ||
         name == "H" || name == "ppn" || name == "N" || name == "npernode";
}

class Parser {
 public:
  Parser(const std::vector<std::string>& arguments, CommandLine& result) : arguments_(arguments), result_(result) {}

  Status parse() {
    while (true) {
      Program program;
      LAPWING_TRY(parse_program(program));
      if (result_.show_help || result_.show_version) return {};
      result_.programs.push_back(std::move(program));
      if (at_end()) break;
      ++next_;  // the colon
    }
    if (result_.ranks() > kMaxRanks) {
      return Status::error(MPI_ERR_ARG, "%d ranks are too many: at most %d", result_.ranks(), kMaxRanks);
    }
    for (Program& program : result_.programs) {
      program.environment.insert(program.environment.begin(), job_environment_.begin(), job_environment_.end());
    }
    return {};
  }

 private:
  bool at_end() const { return next_ >= arguments_.size(); }

  Status parse_program(Program& program) {
    while (!at_end() && arguments_[next_].size() > 1 && arguments_[next_][0] == '-') {
      if (arguments_[next_] == "--") {
        ++next_;
        break;
      }
      LAPWING_TRY(parse_option(program));
      if (result_.show_help || result_.show_version) return {};
    }
    while (!at_end() && arguments_[next_] != ":") program.arguments.push_back(arguments_[next_++]);
    if (program.arguments.empty()) return Status::error(MPI_ERR_ARG, "no program was given");
    return {};
  }

  Status parse_option(Program& program) {
    option_ = arguments_[next_++];
    std::string name = option_.substr(option_[1] == '-' ? 2 : 1);
    attached_ = nullptr;
    if (const std::size_t equals = name.find('='); equals != std::string::npos) {
      attached_value_ = name.substr(equals + 1);
      attached_ = &attached_value_;
      name.resize(equals);
    }
    LAPWING_TRY(apply(name, program));
    if (attached_ != nullptr) return Status::error(MPI_ERR_ARG, "option %s takes no value", option_.c_str());
    return {};
  }

  Status apply(const std::string& name, Program& program) {
    if (name == "n" || name == "np" || name == "c") return take_count(program.ranks);
    if (name == "x") return take_exported(job_environment_);
    if (name == "genv") return take_pair(job_environment_);
    if (name == "env") return take_pair(program.environment);
    if (name == "wdir" || name == "wd") return take_value(program.directory);
    if (name == "bind-to") return take_binding();
    if (name == "timeout") return take_timeout();
    if (name == "l" || name == "label-output" || name == "tag-output" || name == "prepend-rank")
      return set(result_.label);
    if (name == "v" || name == "verbose") return set(result_.verbose);
    if (name == "V" || name == "version") return set(result_.show_version);
    if (name == "h" || name == "help") return set(result_.show_help);
    if (is_harmless(name)) return {};
    if (is_about_hosts(name)) {
      return Status::error(
          MPI_ERR_ARG,
          "option %s: this mpiexec starts ranks on one machine; for several use Slurm or MPICH's mpiexec "
          "(Hydra), which start Lapwing programs too",
          option_.c_str());
    }
    return Status::error(MPI_ERR_ARG, "unknown option %s; mpiexec --help lists all", option_.c_str());
  }

  static Status set(bool& flag) {
    flag = true;
    return {};
  }

  Status take_value(std::string& value) {
    if (attached_ != nullptr) {
      value = *attached_;
      attached_ = nullptr;
      return {};
    }
    if (at_end() || arguments_[next_] == ":") {
      return Status::error(MPI_ERR_ARG, "option %s needs a value", option_.c_str());
    }
    value = arguments_[next_++];
    return {};
  }

  Status take_count(int& count) {
    std::string text;
    LAPWING_TRY(take_value(text));
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc() || stop != text.data() + text.size() || count < 1 || count > kMaxRanks) {
      return Status::error(MPI_ERR_ARG, "option %s: '%s' is not a number of ranks from 1 to %d", option_.c_str(),
                           text.c_str(), kMaxRanks);
    }
    return {};
  }

  Status take_pair(std::vector<Variable>& environment) {
    Variable variable;
    LAPWING_TRY(take_value(variable.first));
    LAPWING_TRY(take_value(variable.second));
    return add_variable(environment, std::move(variable));
  }

  // NAME=VALUE, or NAME alone, which every rank inherits anyway; naming a variable that is not set is likely a mistake.
  Status take_exported(std::vector<Variable>& environment) {
    std::string text;
    if (attached_ != nullptr) {
      text = *attached_;
      attached_ = nullptr;
    } else {
      LAPWING_TRY(take_value(text));
    }
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) {
      return add_variable(environment, {text.substr(0, equals), text.substr(equals + 1)});
    }
    if (const char* value = std::getenv(text.c_str())) return add_variable(environment, {text, value});
    return Status::error(MPI_ERR_ARG, "option %s: the variable '%s' is not set", option_.c_str(), text.c_str());
  }

  Status add_variable(std::vector<Variable>& environment, Variable variable) {
    if (variable.first.empty() || variable.first.find('=') != std::string::npos) {
      return Status::error(MPI_ERR_ARG, "option %s: '%s' is not the name of a variable", option_.c_str(),
                           variable.first.c_str());
    }
    environment.push_back(std::move(variable));
    return {};
  }

  Status take_binding() {
    std::string text;
    LAPWING_TRY(take_value(text));
    result_.bind_was_asked = true;
    if (text == "none") {
      result_.bind = BindPolicy::kNone;
    } else if (text == "core") {
      result_.bind = BindPolicy::kCore;
    } else if (text == "numa") {
      result_.bind = BindPolicy::kNode;
    } else {
      return Status::error(MPI_ERR_ARG, "option %s: '%s' is neither none, core nor numa", option_.c_str(),
                           text.c_str());
    }
    return {};
  }

  Status take_timeout() {
    std::string text;
    LAPWING_TRY(take_value(text));
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), result_.timeout);
    if (error != std::errc() || stop != text.data() + text.size() || !(result_.timeout > 0 && result_.timeout < 1e7)) {
      return Status::error(MPI_ERR_ARG, "option %s: '%s' is not a time in seconds", option_.c_str(), text.c_str());
    }
    return {};
  }

  const std::vector<std::string>& arguments_;
  CommandLine& result_;
  std::size_t next_ = 0;
  std::string option_;                     // as the user wrote it
  std::string attached_value_;             // of --name=value
  const std::string* attached_ = nullptr;  // null once taken
  std::vector<Variable> job_environment_;
};

}  // namespace

int CommandLine::ranks() const noexcept {
  long long sum = 0;
  for (const Program& program : programs) sum += program.ranks;
  return sum > kMaxRanks ? kMaxRanks + 1 : static_cast<int>(sum);
}

Status parse_command_line(const std::vector<std::string>& arguments, CommandLine& result) {
  return Parser(arguments, result).parse();
}

const char* usage_text() noexcept {
  return kUsage;
}

}  // namespace lapwing::launch
