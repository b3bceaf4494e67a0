// mpiexec's command line: what to start, how often, and how.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "mpiexec/binding.h"

namespace lapwing::launch {

using Variable = std::pair<std::string, std::string>;

constexpr int kMaxRanks = 100000;

// One of the programs that ':' separates.
struct Program {
  int ranks = 0;                       // 0 until place() (allocation.h) has found a number
  std::vector<std::string> arguments;  // with the program's name first
  std::vector<Variable> environment;   // later entries win; job-wide ones come first
  std::string directory;               // empty: mpiexec's own
};

struct CommandLine {
  std::vector<Program> programs;
  Binding binding;
  bool bind_was_asked = false;
  bool report_bindings = false;
  bool label = false;
  bool verbose = false;
  bool others_go_on = false;       // when a rank ends badly
  double timeout = 0;              // seconds; 0: none
  std::string output_patterns[2];  // of the names of files for standard output and error; empty: mpiexec's own
  int slots = 0;                   // on this machine, by -host and the like; 0: no host was named
  int ranks_per_host = 0;          // 0: not said
  std::vector<std::string> notes;  // what the user is told about options, a line each
  bool show_help = false;
  bool show_version = false;

  int ranks() const noexcept;
};

// `arguments` without mpiexec's own name. An error's text is one line for the user.
Status parse_command_line(const std::vector<std::string>& arguments, CommandLine& result);

std::string usage_text();

}  // namespace lapwing::launch
