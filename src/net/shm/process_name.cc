#include "net/shm/process_name.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/read_file.h"

namespace lapwing::net::shm {
namespace {

// Field 22 of /proc/PID/stat. The second field, the program's name, may contain spaces and brackets.
std::uint64_t start_time_of(pid_t pid) {
  const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat");
  std::size_t at = text.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = text.find(' ', at + 1);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at, nullptr, 10);
}

bool is_readable(const OwnedFd& end) noexcept {
  pollfd ended{end.get(), POLLIN, 0};
  return ::poll(&ended, 1, 0) > 0;
}

std::uint64_t own_pid_namespace() {
  struct stat about {};
  return ::stat("/proc/self/ns/pid", &about) == 0 ? about.st_ino : 0;
}

}  // namespace

ProcessName ProcessName::of_this_process() {
  return {::getpid(), own_pid_namespace(), start_time_of(::getpid())};
}

// The descriptor comes first: from then on the number cannot pass to another process unnoticed.
Watched watch_process(const ProcessName& process, OwnedFd& end) {
  if (process.pid_namespace == 0 || process.start_time == 0 || process.pid_namespace != own_pid_namespace())
    return Watched::kImpossible;
  end.reset(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!end) return errno == ESRCH ? Watched::kEnded : Watched::kImpossible;
  const std::uint64_t start_time = start_time_of(process.pid);
  if (start_time == process.start_time) return Watched::kYes;
  // Unreadable: it has ended just now, or this process has no descriptor left to read with.
  return start_time != 0 || is_readable(end) ? Watched::kEnded : Watched::kImpossible;
}

bool has_ended(const ProcessName& process) {
  OwnedFd end;
  const Watched how = watch_process(process, end);
  return how == Watched::kEnded || (how == Watched::kYes && is_readable(end));
}

}  // namespace lapwing::net::shm
