// The first half of a job: finding the programs, choosing processors, starting the ranks.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "base/descriptor_limit.h"
#include "base/settings.h"
#include "mpiexec/hosts.h"
#include "mpiexec/job.h"
#include "mpiexec/queue_binding.h"

extern char** environ;

namespace lapwing::launch {
namespace {

bool is_executable_file(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::string join(const std::string& directory, const std::string& path) {
  return directory.empty() || path[0] == '/' ? path : directory + "/" + path;
}

// As a shell finds it; relative paths count from the directory where the rank will start.
Status find_program(const Program& program, std::string& path) {
  const std::string& name = program.arguments.front();
  if (name.empty()) return Status::error(MPI_ERR_ARG, "the name of the program is empty");
  if (name.find('/') != std::string::npos) {
    const std::string seen_from_here = join(program.directory, name);
    path = name;
    if (is_executable_file(seen_from_here)) return {};
    if (::access(seen_from_here.c_str(), F_OK) != 0) {
      return Status::error(MPI_ERR_ARG, "program not found: %s (%s)", seen_from_here.c_str(), std::strerror(errno));
    }
    return Status::error(MPI_ERR_ARG, "%s is no executable file", seen_from_here.c_str());
  }
  const char* search = std::getenv("PATH");
  std::string_view rest = search != nullptr ? search : "/usr/local/bin:/usr/bin:/bin";
  while (true) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string directory(colon == 0 ? "." : rest.substr(0, colon));
    path = directory + "/" + name;
    if (is_executable_file(join(program.directory, path))) return {};
    if (colon == rest.size()) break;
    rest.remove_prefix(colon + 1);
  }
  const bool is_here = is_executable_file(join(program.directory, name));
  return Status::error(MPI_ERR_ARG, "program not found: %s is in no directory of PATH%s%s", name.c_str(),
                       is_here ? "; there is one here, write ./" : "", is_here ? name.c_str() : "");
}

// By which a rank knows the launcher's socket again (src/runtime/launcher_search.cc).
std::string socket_identity(int fd) {
  struct stat info{};
  ::fstat(fd, &info);
  return std::to_string(info.st_ino);
}

bool starts_with(std::string_view text, std::string_view beginning) {
  return text.substr(0, beginning.size()) == beginning;
}

// What an outer launcher told mpiexec about itself must not reach the ranks.
bool belongs_to_a_launcher(std::string_view variable) {
  return starts_with(variable, "PMI_") || starts_with(variable, "PMIX_") || starts_with(variable, "MPI_LOCAL") ||
         starts_with(variable, "LAPWING_INTERNAL_");
}

// %r: rank, %h: host, %t: time of the start, %g and %p: MPICH's group and proxy, of which there is one. Other letters stay.
std::string expand_pattern(const std::string& pattern, int rank, long time) {
  std::string name;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char next = pattern[at] == '%' && at + 1 < pattern.size() ? pattern[at + 1] : '\0';
    const std::size_t length = name.size();
    if (next == 'r') name += std::to_string(rank);
    if (next == 'h') name += name_of_this_machine();
    if (next == 't') name += std::to_string(time);
    if (next == 'g' || next == 'p') name += '0';
    if (next == '%') name += '%';
    if (name.size() == length) {
      name += pattern[at];
    } else {
      ++at;
    }
  }
  return name;
}

void set_variable(std::vector<std::string>& environment, const std::string& name, const std::string& value) {
  const std::string beginning = name + "=";
  for (std::string& variable : environment) {
    if (starts_with(variable, beginning)) {
      variable = beginning + value;
      return;
    }
  }
  environment.push_back(beginning + value);
}

}  // namespace

// Every rank would find the same mistake in MPI_Init; here it is told once.
Status Job::check_settings() const {
  Settings settings;
  LAPWING_TRY(settings.load(environ));
  for (const Program& program : command_line_.programs) {
    for (const Variable& variable : program.environment) {
      std::string text = variable.first + "=" + variable.second;
      char* environment[] = {text.data(), nullptr};
      LAPWING_TRY(settings.load(environment));
    }
  }
  return {};
}

Status Job::find_programs() {
  for (const Program& program : command_line_.programs) {
    struct stat info;
    if (!program.directory.empty() && (::stat(program.directory.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))) {
      return Status::error(MPI_ERR_ARG, "-wdir %s is no directory", program.directory.c_str());
    }
    std::string path;
    LAPWING_TRY(find_program(program, path));
    paths_.push_back(std::move(path));
  }
  return {};
}

// Where it cannot be had, ranks are bound as if it had not been said.
void Job::plan_for_queues() {
  const std::vector<std::string> variables = users_environment(0);
  std::vector<char*> pointers;
  for (const std::string& variable : variables) pointers.push_back(const_cast<char*>(variable.c_str()));
  pointers.push_back(nullptr);
  const QueueSets queues = read_queue_sets(pointers.data());
  binding_ = plan_queue_binding(machine_, queues, ranks_, queue_texts_);
  if (!binding_.empty()) {
    queues_of_ = queues.interface;
    return;
  }
  const std::string why = !queues.why.empty() ? queues.why
                          : ranks_ > machine_.usable_cores()
                              ? std::to_string(ranks_) + " ranks on " + std::to_string(machine_.usable_cores()) + " usable cores do not fit as asked"
                              : "the receive queues of " + queues.interface + " are not served on processors that ranks could have for themselves";
  output_.say("mpiexec: not binding to receive queues of this host: " + why + "\n");
  binding_ = plan_binding(machine_, Binding(), ranks_);
}

void Job::plan() {
  machine_ = read_machine();
  const Binding& wish = command_line_.binding;
  if (wish.bind == BindPolicy::kQueue) return plan_for_queues();
  if (wish.bind == BindPolicy::kCache || wish.map == BindPolicy::kCache) read_caches(machine_);
  binding_ = plan_binding(machine_, wish, ranks_);
  const bool wanted = command_line_.bind_was_asked && wish.bind != BindPolicy::kNone;
  if (binding_.empty() && wanted && !(wish.bind == BindPolicy::kShare && wish.map == BindPolicy::kShare)) {
    output_.say("mpiexec: not binding: " + std::to_string(ranks_) + " ranks on " +
                std::to_string(machine_.usable_cores()) + " usable cores do not fit as asked\n");
  }
}

// Two pipes and two sockets for each rank.
Status Job::make_room() {
  constexpr rlim_t kPerRank = 4;
  constexpr rlim_t kOwn = 64;
  const rlim_t needed = kPerRank * static_cast<rlim_t>(ranks_) + kOwn;
  descriptors_before_ = make_room_for_descriptors(needed);
  if (needed <= descriptors_before_.rlim_max) return {};
  return Status::error(MPI_ERR_OTHER,
                       "%d ranks take %llu open files in mpiexec, but no more than %llu are allowed; raise the limit "
                       "(ulimit -Hn)",
                       ranks_, static_cast<unsigned long long>(needed),
                       static_cast<unsigned long long>(descriptors_before_.rlim_max));
}

Status Job::start_all() {
  LAPWING_TRY(make_room());
  std::vector<int> appnums(rank_programs_.begin(), rank_programs_.end());
  pmi_ = std::make_unique<PmiServer>(loop_, *this, std::move(appnums));
  oversubscribed_ = is_oversubscribed(machine_, command_line_.binding, binding_, ranks_);
  pmi_->set_oversubscribed(oversubscribed_);
  pmi_->set_shows_errors(command_line_.output_patterns[1].empty());  // else each rank's errors belong into its file
  null_fd_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  why_server_ =
      std::make_unique<WhyServer>(loop_, [this](WhyServer::Answer answer) { hang_desk_.ask(std::move(answer)); });
  for (int rank = 0; rank < ranks_; ++rank) LAPWING_TRY(start_rank(rank));
  return {};
}

Status Job::start_rank(int rank) {
  const auto index = static_cast<std::size_t>(rank);
  const Program& program = program_of(rank);
  StartOrder order;
  order.rank = rank;
  order.path = paths_[rank_programs_[index]];
  order.arguments = &program.arguments;
  order.directory = program.directory;
  order.descriptors = descriptors_before_;
  if (!binding_.empty()) order.processors = &binding_[index];

  Status status = pmi_->open_connection(rank, order.pmi);
  if (status.ok()) status = hang_desk_.open_connection(rank, order.questions, order.questions_variable);
  if (status.ok()) status = open_streams(rank, order.streams);
  if (status.ok()) {
    order.environment = environment_of(rank, order);
    status = processes_.start(order);
  }
  if (order.pmi >= 0) ::close(order.pmi);
  if (order.questions >= 0) ::close(order.questions);
  for (const int fd : order.streams) {
    if (fd >= 0 && fd != null_fd_) ::close(fd);
  }
  if (status.ok() && (command_line_.verbose || command_line_.report_bindings)) {
    const std::string where =
        binding_.empty() ? "any processor" : "processors " + print_processor_list(binding_[index]);
    const std::string queue = index < queue_texts_.size() && !queue_texts_[index].empty() ? ", which serve " + queue_texts_[index] : "";
    output_.say("mpiexec: " + describe(name_of(rank)) + " on " + where + queue + "\n");
  }
  return status;
}

// A rank that shares our terminal writes to it itself. So does the only rank, whatever the output is: nothing can mix.
Status Job::open_streams(int rank, int streams[3]) {
  if (rank > 0) {
    streams[0] = null_fd_;
  } else if (::isatty(STDIN_FILENO) != 0) {
    LAPWING_TRY(input_.open(streams[0]));
  }
  for (int stream = 1; stream <= 2; ++stream) {
    if (const std::string& pattern = command_line_.output_patterns[stream - 1]; !pattern.empty()) {
      LAPWING_TRY(open_file(pattern, rank, streams[stream]));
      continue;
    }
    const bool direct = !command_line_.label && (ranks_ == 1 || ::isatty(stream) != 0);
    if (!direct) LAPWING_TRY(output_.open(rank, stream, streams[stream]));
  }
  return {};
}

// Ranks whose names are the same append to one file, which the first of them has emptied.
Status Job::open_file(const std::string& pattern, int rank, int& fd) {
  const std::string name = expand_pattern(pattern, rank, start_time_);
  const bool first = output_files_.insert(name).second;
  fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (first ? O_TRUNC : 0), 0666);
  if (fd >= 0) return {};
  return Status::error(MPI_ERR_OTHER, "cannot write the output of rank %d to %s: %s", rank, name.c_str(),
                       std::strerror(errno));
}

// What the user has given a rank.
std::vector<std::string> Job::users_environment(int rank) const {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!belongs_to_a_launcher(*variable)) environment.emplace_back(*variable);
  }
  for (const Variable& variable : program_of(rank).environment)
    set_variable(environment, variable.first, variable.second);
  return environment;
}

std::vector<std::string> Job::environment_of(int rank, const StartOrder& order) const {
  std::vector<std::string> environment = users_environment(rank);
  if (command_line_.binding.bind == BindPolicy::kQueue) {
    set_variable(environment, "LAPWING_ETHER_BIND", "1");
    if (!queues_of_.empty()) set_variable(environment, "LAPWING_INTERNAL_QUEUES_OF", queues_of_);
    if (command_line_.verbose || command_line_.report_bindings) set_variable(environment, "LAPWING_INTERNAL_REPORT_BINDINGS", "1");
  }
  const std::string rank_text = std::to_string(rank);
  const std::string size_text = std::to_string(ranks_);
  for (const Variable& variable :
       std::initializer_list<Variable>{{"PMI_RANK", rank_text},
                                       {"PMI_SIZE", size_text},
                                       {"PMI_FD", std::to_string(order.pmi)},
                                       {"LAPWING_INTERNAL_PMI_SOCKET", socket_identity(order.pmi)},
                                       {"MPI_LOCALRANKID", rank_text},
                                       {"MPI_LOCALNRANKS", size_text},
                                       {HangDesk::kVariable, order.questions_variable},
                                       {"LAPWING_INTERNAL_LOCAL_RANK", rank_text},
                                       {"LAPWING_INTERNAL_LOCAL_SIZE", size_text},
                                       {"LAPWING_INTERNAL_PROGRAM_RANKS", std::to_string(program_of(rank).ranks)},
                                       {"LAPWING_INTERNAL_NETWORK", network_namespace()},
                                       {"LAPWING_INTERNAL_CORES", std::to_string(machine_.usable_cores())},
                                       {"LAPWING_INTERNAL_BOUND", binding_.empty() ? "0" : oversubscribed_ ? "2" : "1"}}) {
    set_variable(environment, variable.first, variable.second);
  }
  return environment;
}

}  // namespace lapwing::launch
