#include "tool/why.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "base/read_file.h"
#include "mpiexec/why_server.h"

namespace lapwing::launch {
namespace {

constexpr const char* kUsage =
    "usage: lapwing why PID    what the ranks of that mpiexec wait for, and which ranks for which\n"
    "       lapwing why        lists your running jobs on this machine\n";
// mpiexec itself waits less for its ranks.
constexpr int kPatienceMilliseconds = 30'000;

struct RunningJob {
  pid_t process = 0;
  std::string socket;  // its name without the leading zero
};

bool may_ask(pid_t process) {
  struct stat info;
  return ::stat(("/proc/" + std::to_string(process)).c_str(), &info) == 0 &&
         (info.st_uid == ::geteuid() || ::geteuid() == 0);
}

// Every mpiexec of this user in our network namespace, as the kernel lists their sockets.
std::vector<RunningJob> running_jobs() {
  std::vector<RunningJob> jobs;
  std::ifstream file("/proc/net/unix");
  const std::string mark = std::string("@") + kWhySocket;
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(mark);
    if (at == std::string::npos) continue;
    RunningJob job{static_cast<pid_t>(std::atoi(line.c_str() + at + mark.size())), line.substr(at + 1)};
    bool known = false;  // connections are listed under the same name
    for (const RunningJob& other : jobs) known = known || other.socket == job.socket;
    if (!known && job.process > 0 && may_ask(job.process)) jobs.push_back(job);
  }
  return jobs;
}

std::string command_of(pid_t process) {
  std::string text = read_file("/proc/" + std::to_string(process) + "/cmdline");
  for (char& c : text) c = c == '\0' ? ' ' : c < ' ' || c > '~' ? '?' : c;
  return text;
}

int list_jobs() {
  const std::vector<RunningJob> jobs = running_jobs();
  if (jobs.empty()) {
    std::printf("no job of yours runs under Lapwing's mpiexec on this machine\n");
    return 1;
  }
  std::printf("to ask one: lapwing why PID\n%10s  command\n", "PID");
  for (const RunningJob& job : jobs)
    std::printf("%10d  %s\n", static_cast<int>(job.process), command_of(job.process).c_str());
  return 0;
}

int connect_to(const RunningJob& job) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (job.socket.size() + 1 > sizeof address.sun_path) return -1;
  std::memcpy(address.sun_path + 1, job.socket.data(), job.socket.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + job.socket.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ucred peer{};
  socklen_t length = sizeof peer;
  // Any process may open a socket with such a name: what counts is the process that holds it.
  if (fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
      ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid == job.process)
    return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

int print_answer(int fd) {
  bool any = false;
  for (;;) {
    char bytes[65536];
    pollfd wait{fd, POLLIN, 0};
    const ssize_t count = ::poll(&wait, 1, kPatienceMilliseconds) > 0 ? ::read(fd, bytes, sizeof bytes) : -1;
    if (count <= 0) {
      ::close(fd);
      if (!any) std::fprintf(stderr, "lapwing: mpiexec did not answer; perhaps the job has just ended\n");
      return any ? 0 : 1;
    }
    any = true;
    std::fwrite(bytes, 1, static_cast<std::size_t>(count), stdout);
  }
}

int ask(pid_t process) {
  for (const RunningJob& job : running_jobs()) {
    if (job.process != process) continue;
    if (const int fd = connect_to(job); fd >= 0) return print_answer(fd);
  }
  std::fprintf(stderr,
               "lapwing: no mpiexec of yours with process id %d can be asked here. `lapwing why` lists those that can; from "
               "another container or user, kill -USR1 %d makes that mpiexec print the same on its standard error\n",
               static_cast<int>(process), static_cast<int>(process));
  return 1;
}

}  // namespace

int run_why(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return list_jobs();
  char* end = nullptr;
  const long process = std::strtol(arguments[0].c_str(), &end, 10);
  if (arguments.size() == 1 && process > 0 && end != nullptr && *end == '\0') return ask(static_cast<pid_t>(process));
  const bool help = arguments[0] == "--help" || arguments[0] == "-h";
  if (!help) std::fprintf(stderr, "lapwing: why takes the process id of one mpiexec, and not '%s'\n", arguments[arguments.size() > 1 ? 1 : 0].c_str());
  std::fputs(kUsage, help ? stdout : stderr);
  return help ? 0 : 2;
}

}  // namespace lapwing::launch
