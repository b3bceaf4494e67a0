#include "process/launcher_socket.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

#include "base/log.h"
#include "process/process.h"
#include "wire/hang_report.h"
#include "wire/loss_found.h"

namespace lapwing::process {
namespace {

// The variable names a descriptor and the number of the socket behind it. A child of a rank inherits the variable but not the
// socket; what its descriptor of that number is, is its own.
int socket_of_launcher() {
  const char* text = std::getenv("LAPWING_INTERNAL_QUESTIONS");
  int fd = -1;
  unsigned long long inode = 0;
  struct stat info;
  if (text == nullptr || std::sscanf(text, "%d:%llu", &fd, &inode) != 2) return -1;
  if (::fstat(fd, &info) != 0 || !S_ISSOCK(info.st_mode) || info.st_ino != inode) return -1;
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return fd;
}

// mpiexec knows its own job, by rank, and no other. Where one of several processes is enough and some are of another job, it is told of none.
void leave_out_other_jobs(const runtime::ProcessTable& table, std::vector<wire::HangItem>& items) {
  const auto of_another = [&](int index) { return !table.is_own_job({static_cast<std::uint32_t>(index)}); };
  for (wire::HangItem& item : items)
    if (std::erase_if(item.awaited, of_another) != 0 && item.any) item.awaited.clear();
}

std::string answer_to(std::uint32_t inquiry, Process& process) {
  wire::HangReport report;
  report.inquiry = inquiry;
  report.threads = process.thread_level == MPI_THREAD_MULTIPLE || process.has_sessions;
  process.engine.describe(report);
  process.messenger->describe(report);
  for (wire::HangWait& wait : report.waits) leave_out_other_jobs(process.table, wait.items);
  leave_out_other_jobs(process.table, report.pending.items);
  leave_out_other_jobs(process.table, report.unexpected.items);
  return report.encode();
}

}  // namespace

LauncherSocket::~LauncherSocket() {
  if (fd_ >= 0) ::close(fd_);
}

void LauncherSocket::open() {
  if (process_.job.singleton()) return;  // perhaps a rank's child: the socket is not its own
  fd_ = socket_of_launcher();
  if (fd_ < 0) return;
  if (const Status status = process_.engine.port().add(fd_, EPOLLIN | EPOLLET, *this); !status.ok()) {
    log_warn("this rank will not tell mpiexec what it waits for: %s", status.text());
    ::close(fd_);
    fd_ = -1;
    return;
  }
  process_.messenger->watch_losses(*this);
}

void LauncherSocket::close() noexcept {
  if (fd_ < 0) return;
  process_.messenger->unwatch_losses(*this);
  process_.engine.port().remove(fd_);
  ::close(fd_);
  fd_ = -1;
}

void LauncherSocket::on_ready(std::uint32_t) noexcept {
  union {
    std::uint32_t inquiry;
    wire::RankEnd end;
  } packet;
  ssize_t bytes;
  while ((bytes = ::recv(fd_, &packet, sizeof packet, MSG_DONTWAIT)) > 0) {
    if (bytes == sizeof packet.inquiry) answer(packet.inquiry);
    if (bytes == sizeof packet.end) take_end(packet.end);
  }
  if (bytes == 0) close();  // mpiexec has ended
}

// The launcher asks rarely and waits for the answers; one that its socket does not take is lost.
void LauncherSocket::send(const std::string& packet) noexcept {
  [[maybe_unused]] const ssize_t sent = ::send(fd_, packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void LauncherSocket::answer(std::uint32_t inquiry) noexcept {
  try {
    send(answer_to(inquiry, process_));
  } catch (const std::bad_alloc&) {
    return;
  }
}

void LauncherSocket::take_end(const wire::RankEnd& end) noexcept {
  if (end.rank >= static_cast<std::uint32_t>(process_.job.size())) return;
  const ProcessId ended{end.rank};
  ended_.insert(end.rank);
  const std::string name = process_.network->describe(ended);
  const int status = end.wait_status;
  process_.messenger->on_end_told(
      ended, Status::error(MPI_ERR_PROC_ABORTED, "%s has ended without MPI_Finalize, as mpiexec says (%s %d)", name.c_str(),
                           WIFSIGNALED(status) ? "killed by signal" : "exit code", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)));
}

// Before the other ranks hear of it from this one, so that mpiexec has this before the errors of those. A process that others have given up has no
// say (p2p/peer_loss.h).
void LauncherSocket::on_process_lost(ProcessId lost, const Status& why) noexcept {
  const p2p::Messenger& messenger = *process_.messenger;
  const bool found = messenger.source_of_loss(lost) == lost && !messenger.is_given_up() && ended_.count(lost.index) == 0;
  if (!found || !process_.table.is_own_job(lost) || told_ >= kMostTold) return;
  ++told_;
  send(wire::LossFound{static_cast<int>(lost.index), why.text()}.encode());
}

}  // namespace lapwing::process
