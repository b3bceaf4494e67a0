#include "runtime/launcher_search.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/read_file.h"

namespace lapwing::runtime {
namespace {

constexpr const char* kAlone =
    "LAPWING_SINGLETON=1 runs every process as a job of its own on purpose, without this message";
constexpr int kMostAncestors = 100;

// Null when the variable is not set.
const char* value_of(char** environment, std::string_view name) noexcept {
  for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, name.data(), name.size()) == 0 && (*entry)[name.size()] == '=')
      return *entry + name.size() + 1;
  }
  return nullptr;
}

// 0 when the variable is not set or no number.
long number_of(char** environment, std::string_view name) noexcept {
  const char* text = value_of(environment, name);
  return text != nullptr ? std::strtol(text, nullptr, 10) : 0;
}

std::string proc_file(pid_t process, const char* file) {
  return read_file("/proc/" + std::to_string(process) + "/" + file);
}

// ---- Ancestors ------------------------------------------------------------------------------------------------------

// Where the launcher's own processes end and this rank's begin: what tells one rank from another.
constexpr const char* kSlotVariables[] = {"PMI_FD", "PMI_PORT", "PMI_RANK", "PMI_ID"};

bool shares_slot(pid_t process, char** environment) {
  const std::string theirs = std::string(1, '\0') + proc_file(process, "environ");
  for (const char* name : kSlotVariables) {
    const char* value = value_of(environment, name);
    if (value == nullptr) continue;
    const std::string entry = std::string(1, '\0') + name + "=" + value + std::string(1, '\0');
    if (theirs.find(entry) == std::string::npos) return false;
  }
  return true;
}

bool is_mpi_program(pid_t process) {
  return proc_file(process, "maps").find("/libmpi_abi.so") != std::string::npos;
}

// The process's name may contain spaces and brackets, so the fields are counted from its end.
pid_t parent_of(pid_t process) {
  const std::string stat = proc_file(process, "stat");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 4 > stat.size()) return 0;
  return static_cast<pid_t>(std::strtol(stat.c_str() + name_end + 4, nullptr, 10));
}

// The nearest ancestor that is an MPI program in this process's slot; 0: none.
pid_t rank_among_ancestors(char** environment) {
  pid_t process = ::getppid();
  for (int count = 0; count < kMostAncestors && process > 1; ++count) {
    if (!shares_slot(process, environment)) return 0;
    if (is_mpi_program(process)) return process;
    process = parent_of(process);
  }
  return 0;
}

// ---- The connection that PMI_FD names -------------------------------------------------------------------------------

bool is_stream_socket(int fd, ino_t& inode) noexcept {
  struct stat about {};
  int type = 0;
  socklen_t length = sizeof type;
  if (::fstat(fd, &about) != 0 || !S_ISSOCK(about.st_mode)) return false;
  inode = about.st_ino;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

// Our mpiexec says which socket it means.
bool is_meant_by_mpiexec(ino_t inode, char** environment) noexcept {
  const char* meant = value_of(environment, "LAPWING_INTERNAL_PMI_SOCKET");
  return meant != nullptr && std::strtoull(meant, nullptr, 10) == inode;
}

// Another launcher may have been started by one of its ranks; of that it is known that
// it does not run in the slot itself, as a program does that has put a socket of its own in the place of one that it closed.
bool leads_to_launcher(int fd, char** environment) {
  ino_t inode = 0;
  if (!is_stream_socket(fd, inode)) return false;
  if (is_meant_by_mpiexec(inode, environment)) return true;
  ucred maker{};
  socklen_t length = sizeof maker;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &maker, &length) != 0 || maker.pid <= 0) return true;
  return !shares_slot(maker.pid, environment);
}

bool launcher_has_closed(int fd) noexcept {
  char byte;
  return ::recv(fd, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) == 0;
}

// Another living process that speaks on the connection; 0: none.
pid_t owner_of(int fd) noexcept {
  f_owner_ex owner{};
  if (::fcntl(fd, F_GETOWN_EX, &owner) != 0 || owner.type != F_OWNER_PID || owner.pid <= 0) return 0;
  const bool lives = ::kill(owner.pid, 0) == 0 || errno == EPERM;
  return lives && owner.pid != ::getpid() ? owner.pid : 0;
}

FoundLauncher child_of(pid_t rank) {
  return {FoundLauncher::Kind::kOfAnother,
          "this process inherited the launcher's variables from process " + std::to_string(rank) +
              ", a rank of the job, and is no rank itself: it runs as a job of its own. " + kAlone};
}

FoundLauncher closed_on_the_way(const char* fd) {
  return {FoundLauncher::Kind::kForeign,
          std::string("a launcher started this process, but its connection (PMI_FD=") + fd +
              ") is not open here: a program between the launcher and this one has closed it (sudo does; Python's "
              "subprocess does without close_fds=False), or MPI was initialized and finalized before in this process. "
              "Leave that descriptor open, or let the launcher start the program itself; " +
              kAlone};
}

FoundLauncher judge_descriptor(const char* text, char** environment) {
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  const int fd = end != text && *end == '\0' && number >= 0 && number < 1 << 20 ? static_cast<int>(number) : -1;
  if (fd < 0 || !leads_to_launcher(fd, environment)) {
    const pid_t rank = rank_among_ancestors(environment);
    return rank != 0 ? child_of(rank) : closed_on_the_way(text);
  }
  if (const pid_t owner = owner_of(fd)) return child_of(owner);
  if (launcher_has_closed(fd)) return served_another(environment);
  return {FoundLauncher::Kind::kDescriptor, {}};
}

// ---- Launchers that do not speak PMI-1 ------------------------------------------------------------------------------

struct Sighting {
  const char* launcher = nullptr;
  long rank = -1;
  long size = 0;  // 0: not told
  std::string seen;
};

void note(Sighting& sighting, char** environment, const char* name) {
  const char* value = value_of(environment, name);
  if (value == nullptr) return;
  if (!sighting.seen.empty()) sighting.seen += ", ";
  sighting.seen += std::string(name) + "=" + value;
}

// Names the launcher by what it alone sets. Slurm's variables are also set where srun did not start the process, in batch scripts;
// SLURM_STEP_NUM_TASKS counts the tasks of a step.
Sighting look_around(char** environment) {
  const auto has = [&](const char* name) { return value_of(environment, name) != nullptr; };
  const bool pmix = has("PMIX_NAMESPACE") && has("PMIX_RANK");
  Sighting sighting;
  std::vector<const char*> names;
  if (has("OMPI_COMM_WORLD_SIZE")) {
    sighting = {"Open MPI's mpirun",
                number_of(environment, "OMPI_COMM_WORLD_RANK"),
                number_of(environment, "OMPI_COMM_WORLD_SIZE"),
                {}};
    names = {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"};
  } else if (pmix && has("PRTE_LAUNCHED")) {
    sighting = {"PRRTE (prterun or prun)", number_of(environment, "PMIX_RANK"), 0, {}};
    names = {"PRTE_LAUNCHED", "PMIX_RANK", "PMIX_NAMESPACE"};
  } else if (has("SLURM_STEP_NUM_TASKS")) {
    sighting = {pmix ? "srun with PMIx" : "srun without PMI",
                number_of(environment, "SLURM_PROCID"),
                number_of(environment, "SLURM_STEP_NUM_TASKS"),
                {}};
    names = {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "PMIX_NAMESPACE"};
  } else if (pmix) {
    sighting = {"a launcher that speaks PMIx", number_of(environment, "PMIX_RANK"), 0, {}};
    names = {"PMIX_RANK", "PMIX_NAMESPACE"};
  } else if (has("PMI_SIZE")) {
    sighting = {"a launcher", number_of(environment, "PMI_RANK"), number_of(environment, "PMI_SIZE"), {}};
    names = {"PMI_SIZE", "PMI_RANK"};
  }
  for (const char* name : names) note(sighting, environment, name);
  return sighting;
}

// One paragraph from the first rank; the others are brief.
std::string explain(const Sighting& sighting) {
  if (sighting.rank > 0)
    return "rank " + std::to_string(sighting.rank) + " of " + sighting.launcher +
           "'s job cannot join it, for the reason that rank 0 gives";
  const std::string count = sighting.size > 0 ? std::to_string(sighting.size) : "an unknown number of";
  return std::string("this is one of ") + count + " processes that " + sighting.launcher + " started (" +
         sighting.seen +
         "), but that gives no PMI-1 connection (PMI_FD or PMI_PORT), the only way in which this version of Lapwing "
         "joins a "
         "job, and each process would be alone in its own MPI_COMM_WORLD. Start the program with Lapwing's mpiexec on "
         "one "
         "host, with MPICH's Hydra (mpiexec.hydra) on several, or under Slurm with srun --mpi=pmi2; " +
         kAlone;
}

}  // namespace

FoundLauncher find_launcher(char** environment) {
  if (const char* fd = value_of(environment, "PMI_FD")) return judge_descriptor(fd, environment);
  if (value_of(environment, "PMI_PORT") != nullptr) {
    const pid_t rank = rank_among_ancestors(environment);
    return rank != 0 ? child_of(rank) : FoundLauncher{FoundLauncher::Kind::kPort, {}};
  }
  const Sighting sighting = look_around(environment);
  if (sighting.launcher == nullptr || sighting.size == 1) return {};
  return {FoundLauncher::Kind::kForeign, explain(sighting)};
}

FoundLauncher served_another(char** environment) {
  const std::string closed =
      "the launcher's connection was closed at its end, because another program has used it before, or the launcher has gone";
  const std::string take_several = "Lapwing's mpiexec, and Hydra with -pmi-port, take several programs one after the other in the same place as a job each";
  if (number_of(environment, "PMI_SIZE") == 1)
    return {FoundLauncher::Kind::kOfAnother, closed + ": this process runs as a job of its own. " + take_several};
  return {FoundLauncher::Kind::kForeign, closed + ", and each of the processes that it started would be alone in its own MPI_COMM_WORLD. " + take_several +
                                             "; " + kAlone};
}

bool served_by_mpiexec(int fd, char** environment) noexcept {
  ino_t inode = 0;
  return is_stream_socket(fd, inode) && is_meant_by_mpiexec(inode, environment);
}

bool served_by_mpiexec(char** environment) noexcept {
  const char* fd = value_of(environment, "PMI_FD");
  return fd != nullptr && served_by_mpiexec(std::atoi(fd), environment);
}

void claim_connection(int fd) noexcept {
  const f_owner_ex self{F_OWNER_PID, ::getpid()};
  ::fcntl(fd, F_SETOWN_EX, &self);
}

void release_connection(int fd) noexcept {
  const f_owner_ex no_process{F_OWNER_PID, 0};
  ::fcntl(fd, F_SETOWN_EX, &no_process);
}

}  // namespace lapwing::runtime
