// mpiexec's command line: what to start, how often, and how.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "mpiexec/binding.h"

namespace lapwing::launch {

using Variable = std::pair<std::string, std::string>;

// One of the programs that ':' separates.
struct Program {
  int ranks = 1;
  std::vector<std::string> arguments;  // with the program's name first
  std::vector<Variable> environment;   // later entries win; job-wide ones come first
  std::string directory;               // empty: mpiexec's own
};

struct CommandLine {
  std::vector<Program> programs;
  BindPolicy bind = BindPolicy::kShare;
  bool bind_was_asked = false;
  bool label = false;
  bool verbose = false;
  double timeout = 0;  // seconds; 0: none
  bool show_help = false;
  bool show_version = false;

  int ranks() const noexcept;
};

// `arguments` without mpiexec's own name. An error's text is one line for the user.
Status parse_command_line(const std::vector<std::string>& arguments, CommandLine& result);

const char* usage_text() noexcept;

}  // namespace lapwing::launch
