#include "mpiexec/command_line.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "base/settings.h"
#include "mpiexec/foreign_options.h"
#include "mpiexec/hosts.h"

namespace lapwing::launch {
namespace {

constexpr int kMaxConfigurationFiles = 100;

constexpr const char* kUsageBefore =
    "usage: mpiexec [options] program [arguments] [: [options] program [arguments]]...\n"
    "\n"
    "Starts an MPI job on this machine. Options take one dash or two, and NAME=VALUE as well as NAME VALUE.\n"
    "\n";

constexpr const char* kUsageAfter =
    "\n"
    "Standard input goes to rank 0. The exit code is 0 when all ranks returned 0, else that of the first rank that "
    "did\n"
    "not, or 128 + the signal that ended it, or the code given to MPI_Abort.\n"
    "Jobs over several machines are started with Slurm or MPICH's mpiexec (Hydra), which work with Lapwing.\n"
    "For options of MPICH and Open MPI see docs/coming-from.md.\n";

// Adds the words of one line of a -configfile, as a shell splits them: quotes hold together, a backslash takes one letter. False: a quote is open at its
// end.
bool split_words(const std::string& line, std::vector<std::string>& words) {
  char quote = 0;
  bool in_word = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char letter = line[at];
    if (quote == 0 && (letter == ' ' || letter == '\t')) {
      in_word = false;
      continue;
    }
    if (!std::exchange(in_word, true)) words.emplace_back();
    if (letter == '\\' && quote != '\'' && at + 1 < line.size()) {
      words.back() += line[++at];
    } else if (quote == 0 && (letter == '"' || letter == '\'')) {
      quote = letter;
    } else if (quote == letter) {
      quote = 0;
    } else {
      words.back() += letter;
    }
  }
  return quote == 0;
}

// Adds what one line of a -configfile says to `words`, behind a colon. Comments and empty lines say nothing. False: a quote is open at its end.
bool append_program(std::vector<std::string>& words, const std::string& line) {
  std::vector<std::string> more;
  const bool whole = split_words(line, more);
  if (more.empty() || more.front().rfind('#', 0) == 0) return true;
  if (!words.empty()) words.emplace_back(":");
  words.insert(words.end(), more.begin(), more.end());
  return whole;
}

class Parser {
 public:
  Parser(const std::vector<std::string>& arguments, CommandLine& result) : arguments_(arguments), result_(result) {}

  Status parse() {
    LAPWING_TRY(take_timeout_from_environment());
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

  struct Option {
    const char* names;   // separated by spaces
    const char* values;  // as help shows them
    Status (Parser::*take)(Program&);
    const char* help;  // empty: another spelling, not shown
  };
  static const Option kOptions[];
  static const Option* const kOptionsEnd;

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
    if (program.arguments.empty())
      return Status::error(MPI_ERR_ARG, "no program was given (mpiexec -n RANKS PROGRAM [ARGUMENT...]); mpiexec --help tells more");
    return {};
  }

  Status parse_option(Program& program) {
    option_ = arguments_[next_++];
    std::string name = option_.substr(option_[1] == '-' ? 2 : 1);
    attached_ = false;
    if (const std::size_t equals = name.find('='); equals != std::string::npos) {
      attached_value_ = name.substr(equals + 1);
      attached_ = true;
      name.resize(equals);
    }
    LAPWING_TRY(apply(name, program));
    if (attached_) return Status::error(MPI_ERR_ARG, "option %s takes no value", option_.c_str());
    return {};
  }

  Status apply(const std::string& name, Program& program) {
    for (const Option* option = kOptions; option != kOptionsEnd; ++option) {
      if (is_one_of(name, option->names)) return (this->*option->take)(program);
    }
    if (const ForeignOption* foreign = find_foreign_option(name)) return pass_over(*foreign);
    return Status::error(MPI_ERR_ARG, "unknown option %s; mpiexec --help lists all", option_.c_str());
  }

  // ---- other launchers' options -------------------------------------------------------------------------------------

  Status pass_over(const ForeignOption& foreign) {
    if (foreign.what == Foreign::kRefused) {
      return Status::error(MPI_ERR_ARG, "mpiexec has no option %s; %s", option_.c_str(), foreign.advice);
    }
    std::string value;
    if (foreign.values > 0) LAPWING_TRY(take_value(value));
    if (foreign.what == Foreign::kIgnored) note(foreign.advice);
    return {};
  }

  Status take_parameter(Program&) {
    std::string name;
    std::string value;
    LAPWING_TRY(take_value(name));
    LAPWING_TRY(take_value(value));
    option_ += " " + name;
    note(advice_about_mca(name, value));
    return {};
  }

  void note(const std::string& advice) {
    const std::string text = "option " + option_ + " is ignored: " + advice;
    if (std::find(result_.notes.begin(), result_.notes.end(), text) == result_.notes.end())
      result_.notes.push_back(text);
  }

  // ---- values -------------------------------------------------------------------------------------------------------

  static Status set(bool& flag) {
    flag = true;
    return {};
  }

  Status take_value(std::string& value) {
    if (attached_) {
      value = attached_value_;
      attached_ = false;
      return {};
    }
    if (at_end() || arguments_[next_] == ":") {
      return Status::error(MPI_ERR_ARG, "option %s needs a value", option_.c_str());
    }
    value = arguments_[next_++];
    return {};
  }

  Status take_number_of_ranks(int& count) {
    std::string text;
    LAPWING_TRY(take_value(text));
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc() || stop != text.data() + text.size() || count < 1 || count > kMaxRanks) {
      return Status::error(MPI_ERR_ARG, "option %s: '%s' is not a number of ranks from 1 to %d", option_.c_str(),
                           text.c_str(), kMaxRanks);
    }
    return {};
  }

  // Adds the option to what a function of another room had to say about its value.
  Status explain(const Status& status) const {
    if (status.ok()) return {};
    return Status::error(MPI_ERR_ARG, "option %s: %s", option_.c_str(), status.text());
  }

  // ---- one function per option --------------------------------------------------------------------------------------

  Status take_count(Program& program) { return take_number_of_ranks(program.ranks); }
  Status take_per_host(Program&) { return take_number_of_ranks(result_.ranks_per_host); }

  Status take_one_per_host(Program&) {
    result_.ranks_per_host = 1;
    return {};
  }
  Status take_per_socket(Program&) {
    std::string text;
    LAPWING_TRY(take_value(text));
    result_.bind_was_asked = true;
    return explain(parse_map_by("ppr:" + text + ":socket", result_.binding));
  }

  Status take_hosts(Program&) {
    std::string text;
    LAPWING_TRY(take_value(text));
    return explain(read_host_list(text, result_.slots));
  }

  Status take_host_file(Program&) {
    std::string text;
    LAPWING_TRY(take_value(text));
    return explain(read_host_file(text, result_.slots));
  }

  Status take_job_variable(Program&) { return take_pair(job_environment_); }
  Status take_variable(Program& program) { return take_pair(program.environment); }
  Status take_pair(std::vector<Variable>& environment) {
    Variable variable;
    LAPWING_TRY(take_value(variable.first));
    LAPWING_TRY(take_value(variable.second));
    return add_variable(environment, std::move(variable));
  }

  Status take_initial_errhandler(Program&) {
    std::string text;
    LAPWING_TRY(take_value(text));
    InitialErrhandler handler{};
    if (!settings::InitialErrhandlerKind::parse(text, handler))
      return Status::error(MPI_ERR_ARG, "option %s: '%s' is not %s", option_.c_str(), text.c_str(), settings::InitialErrhandlerKind::kAllowed);
    return add_variable(job_environment_, {"LAPWING_INITIAL_ERRHANDLER", text});
  }

  // NAME=VALUE, or NAME alone, which every rank inherits anyway; naming a variable that is not set is likely a mistake.
  Status take_exported(Program&) {
    std::string text;
    LAPWING_TRY(take_value(text));
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) {
      return add_variable(job_environment_, {text.substr(0, equals), text.substr(equals + 1)});
    }
    if (const char* value = std::getenv(text.c_str())) return add_variable(job_environment_, {text, value});
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

  Status take_directory(Program& program) { return take_value(program.directory); }
  Status take_output_file(Program&) { return take_value(result_.output_patterns[0]); }
  Status take_error_file(Program&) { return take_value(result_.output_patterns[1]); }

  // Open MPI's, of which the parts that have their like here are taken.
  Status take_output(Program&) {
    std::string text;
    LAPWING_TRY(take_value(text));
    if (text == "tag" || text == "rank" || text == "TAG" || text == "RANK") return set(result_.label);
    if (text.rfind("file=", 0) == 0 || text.rfind("FILE=", 0) == 0) {
      result_.output_patterns[0] = text.substr(5) + ".%r.out";
      result_.output_patterns[1] = text.substr(5) + ".%r.err";
      return {};
    }
    return Status::error(MPI_ERR_ARG, "option %s: '%s' is neither tag nor file=NAME", option_.c_str(), text.c_str());
  }

  Status take_display(Program&) {
    std::string text;
    LAPWING_TRY(take_value(text));
    return set(result_.report_bindings);
  }

  Status take_bind_to(Program&) {
    std::string text;
    LAPWING_TRY(take_value(text));
    result_.bind_was_asked = true;
    return explain(parse_bind_to(text, result_.binding));
  }

  Status take_map_by(Program&) {
    std::string text;
    LAPWING_TRY(take_value(text));
    result_.bind_was_asked = true;
    return explain(parse_map_by(text, result_.binding));
  }

  Status take_cores_per_rank(Program&) {
    result_.bind_was_asked = true;
    std::string text;
    LAPWING_TRY(take_value(text));
    return explain(parse_map_by("slot:pe=" + text, result_.binding));
  }

  Status take_timeout(Program&) {
    std::string text;
    LAPWING_TRY(take_value(text));
    return parse_timeout(text);
  }

  Status take_timeout_from_environment() {
    const char* text = std::getenv("MPIEXEC_TIMEOUT");
    // MPICH's ways to say "none".
    if (text == nullptr || *text == '\0' || is_one_of(text, "0 -1")) return {};
    option_ = "MPIEXEC_TIMEOUT (in the environment)";
    return parse_timeout(text);
  }

  Status parse_timeout(const std::string& text) {
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), result_.timeout);
    if (error != std::errc() || stop != text.data() + text.size() || !(result_.timeout > 0 && result_.timeout < 1e7)) {
      return Status::error(MPI_ERR_ARG, "option %s: '%s' is not a time in seconds", option_.c_str(), text.c_str());
    }
    return {};
  }

  // The file's lines take the place of the option, with colons between them. A backslash at the end joins two lines.
  Status take_configuration(Program&) {
    std::string path;
    LAPWING_TRY(take_value(path));
    std::ifstream file(path);
    if (++configuration_files_ > kMaxConfigurationFiles) {
      return Status::error(MPI_ERR_ARG, "option %s: %s names itself, or files are nested too deep", option_.c_str(),
                           path.c_str());
    }
    if (std::error_code error; !file || std::filesystem::is_directory(path, error)) {
      return Status::error(MPI_ERR_ARG, "option %s: cannot read %s: %s", option_.c_str(), path.c_str(),
                           std::strerror(file ? EISDIR : errno));
    }
    if (next_ < arguments_.size() && arguments_[next_] != ":") {
      return Status::error(MPI_ERR_ARG, "option %s: the programs stand in %s, so '%s' behind it belongs to none", option_.c_str(), path.c_str(),
                           arguments_[next_].c_str());
    }
    std::vector<std::string> words;
    std::string whole;
    bool quotes_end = true;
    for (std::string line; std::getline(file, line);) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      const bool joined = !line.empty() && line.back() == '\\';
      if (joined) line.pop_back();
      whole += line;
      if (!joined) quotes_end &= append_program(words, std::exchange(whole, {}));
    }
    quotes_end &= append_program(words, whole);  // The last line may end in a backslash.
    if (!quotes_end) return Status::error(MPI_ERR_ARG, "option %s: a line of %s ends within a quotation", option_.c_str(), path.c_str());
    arguments_.insert(arguments_.begin() + static_cast<std::ptrdiff_t>(next_), words.begin(), words.end());
    return {};
  }

  Status take_report(Program&) { return set(result_.report_bindings); }
  Status take_label(Program&) { return set(result_.label); }
  Status take_going_on(Program&) { return set(result_.others_go_on); }
  Status take_verbose(Program&) { return set(result_.verbose); }
  Status take_version(Program&) { return set(result_.show_version); }
  Status take_help(Program&) { return set(result_.show_help); }

  std::vector<std::string> arguments_;
  CommandLine& result_;
  std::size_t next_ = 0;
  std::string option_;          // as the user wrote it
  std::string attached_value_;  // of --name=value
  bool attached_ = false;       // and not yet taken
  int configuration_files_ = 0;
  std::vector<Variable> job_environment_;
};

// The first name is what help shows.
const Parser::Option Parser::kOptions[] = {
    {"n np c", "COUNT", &Parser::take_count,
     "number of ranks of this program (default: what --map-by ppr or the batch system gives, or 1)"},
    {"host hosts H", "LIST", &Parser::take_hosts,
     "must name this machine alone: localhost or host:COUNT; COUNT is the default of -n"},
    {"hostfile machinefile machine f default-hostfile", "FILE", &Parser::take_host_file,
     "the same, a host per line: host, host:COUNT or host slots=COUNT"},
    {"ppn N npernode perhost", "COUNT", &Parser::take_per_host, "ranks on this machine, when -n is not given"},
    {"x", "NAME[=VALUE]", &Parser::take_exported, "set an environment variable for all ranks"},
    {"genv", "NAME VALUE", &Parser::take_job_variable, "the same"},
    {"env", "NAME VALUE", &Parser::take_variable, "set an environment variable for this program's ranks"},
    {"wdir wd", "DIRECTORY", &Parser::take_directory, "start this program's ranks in DIRECTORY"},
    {"initial-errhandler", "NAME", &Parser::take_initial_errhandler,
     "error handler that ranks begin with: mpi_errors_are_fatal (default), mpi_errors_abort\nor mpi_errors_return"},
    {"configfile", "FILE", &Parser::take_configuration, "take options and programs from FILE, a line for each program"},
    {"bind-to binding", "UNIT", &Parser::take_bind_to,
     "keep each rank on a hwthread, core, core:COUNT, l3cache, numa or socket, on the processors\n"
     "that serve its receive queue of raw Ethernet (queue), or none\n"
     "(default: each rank has an equal share of the cores; ranks that outnumber the hardware\n"
     "threads take one core each in turn if they divide evenly, else none is bound)"},
    {"map-by", "UNIT[:PE=COUNT]", &Parser::take_map_by,
     "place ranks in turn on each slot, core, l3cache, numa or socket, with COUNT cores\n"
     "each; ppr:COUNT:UNIT fills each unit with COUNT ranks, all units when neither -n nor\n"
     "a host is given; UNIT may be node, this machine, too"},
    {"pernode", "", &Parser::take_one_per_host, ""},
    {"npersocket", "COUNT", &Parser::take_per_socket, ""},
    {"cpus-per-rank cpus-per-proc", "COUNT", &Parser::take_cores_per_rank, ""},
    {"report-bindings", "", &Parser::take_report, "say which processors each rank has"},
    {"l label-output tag-output prepend-rank", "", &Parser::take_label,
     "begin every line of output with the rank it came from"},
    {"outfile-pattern", "NAME", &Parser::take_output_file,
     "write standard output to files: %r is the rank, %h the host, %t the time in seconds"},
    {"errfile-pattern", "NAME", &Parser::take_error_file, "the same for standard error"},
    {"output", "", &Parser::take_output, ""},
    {"display", "", &Parser::take_display, ""},
    {"timeout", "SECONDS", &Parser::take_timeout,
     "end the job with exit code 124 after this time (default: MPIEXEC_TIMEOUT), and say what each rank was doing"},
    {"disable-auto-cleanup continuous enable-recovery", "", &Parser::take_going_on,
     "when a rank is killed or exits without MPI_Finalize, let the others go on: what needs\n"
     "it gives MPI_ERR_PROC_ABORTED there"},
    {"v verbose", "", &Parser::take_verbose, "say what is started where"},
    {"version V info", "", &Parser::take_version, ""},
    {"help h", "", &Parser::take_help, ""},
    {"mca prtemca pmixmca gmca omca gpmixmca", "NAME VALUE", &Parser::take_parameter, ""},
};
const Parser::Option* const Parser::kOptionsEnd = std::end(kOptions);

// "  -n, -np COUNT" and its help from a fixed column on.
std::string help_line(const Parser::Option& option) {
  constexpr std::size_t kColumn = 30;
  const std::string name = std::string(option.names).substr(0, std::strcspn(option.names, " "));
  std::string line =
      std::string(name.size() > 1 ? "  --" : "  -") + name + (*option.values != '\0' ? " " : "") + option.values;
  line.resize(std::max(kColumn, line.size() + 1), ' ');
  for (const char* letter = option.help; *letter != '\0'; ++letter) {
    line += *letter;
    if (*letter == '\n') line += std::string(kColumn, ' ');
  }
  return line + "\n";
}

}  // namespace

int CommandLine::ranks() const noexcept {
  long long sum = 0;
  for (const Program& program : programs) sum += std::max(program.ranks, 1);
  return sum > kMaxRanks ? kMaxRanks + 1 : static_cast<int>(sum);
}

Status parse_command_line(const std::vector<std::string>& arguments, CommandLine& result) {
  return Parser(arguments, result).parse();
}

std::string usage_text() {
  std::string text = kUsageBefore;
  for (const Parser::Option* option = Parser::kOptions; option != Parser::kOptionsEnd; ++option) {
    if (*option->help != '\0') text += help_line(*option);
  }
  return text + "  --version, --help\n" + kUsageAfter;
}

}  // namespace lapwing::launch
