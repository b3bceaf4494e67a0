#include "mpiexec/hang_desk.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "machine.h"
#include "mpi.h"
#include "wire/rank_end.h"

namespace lapwing::launch {
namespace {

// A rank answers within a millisecond unless the machine is overloaded; one that is stopped never does.
constexpr std::chrono::milliseconds kPatience(1500);

std::string state_of_process(pid_t process) {
  const std::string stat = read_small_file("/proc/" + std::to_string(process) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return "is gone";
  switch (stat[name_end + 2]) {
    case 'R':
      return "runs";
    case 'S':
      return "sleeps";
    case 'D':
      return "waits for a disk or another device";
    case 'T':
      return "is stopped";
    case 't':
      return "is stopped by a debugger";
    case 'Z':
      return "has ended";
    default:
      return "";
  }
}

}  // namespace

HangDesk::HangDesk(EventLoop& loop, int ranks, Knowledge knowledge, LossSink loss_sink)
    : loop_(loop), knowledge_(std::move(knowledge)), loss_sink_(std::move(loss_sink)), peers_(static_cast<std::size_t>(ranks)) {}

HangDesk::~HangDesk() {
  for (Peer& peer : peers_) close(peer);
}

Status HangDesk::open_connection(int rank, int& child_fd, std::string& variable) {
  int ends[2];
  struct stat info;
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0 || ::fstat(ends[1], &info) != 0)
    return Status::error(MPI_ERR_OTHER, "cannot make a socket for rank %d: %s", rank, std::strerror(errno));
  peers_[static_cast<std::size_t>(rank)].fd = ends[0];
  loop_.add(ends[0], EPOLLIN, [this, rank](std::uint32_t) { take_packet(rank); });
  child_fd = ends[1];
  variable = std::to_string(ends[1]) + ":" + std::to_string(info.st_ino);
  return {};
}

void HangDesk::ask(Sink sink) {
  sinks_.push_back(std::move(sink));
  if (deadline_) return;
  ++inquiry_;
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    Peer& peer = peers_[rank];
    peer.answered = peer.asked = false;
    if (peer.fd < 0 || knowledge_(static_cast<int>(rank)).standing != RankView::Standing::kSilent) continue;
    peer.asked = ::send(peer.fd, &inquiry_, sizeof inquiry_, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof inquiry_;
  }
  deadline_ = std::chrono::steady_clock::now() + kPatience;
  finish_if_complete();
}

void HangDesk::tell_end(int rank, int wait_status) {
  const wire::RankEnd end{static_cast<std::uint32_t>(rank), wait_status};
  for (const Peer& peer : peers_) {
    if (peer.fd < 0 || &peer == &peers_[end.rank]) continue;
    [[maybe_unused]] const ssize_t sent = ::send(peer.fd, &end, sizeof end, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
}

void HangDesk::on_time(Time now) {
  if (deadline_ && now >= *deadline_) finish();
}

void HangDesk::drain(int rank) {
  while (take_packet(rank)) {
  }
}

// False: there is none.
bool HangDesk::take_packet(int rank) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  if (peer.fd < 0) return false;
  std::string packet(wire::HangReport::kMaxBytes + 1, '\0');
  const ssize_t bytes = ::recv(peer.fd, packet.data(), packet.size(), MSG_DONTWAIT);
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (bytes <= 0) {
    close(peer);
    peer.asked = false;
    finish_if_complete();
    return false;
  }
  packet.resize(static_cast<std::size_t>(bytes));
  wire::LossFound found;
  if (!wire::LossFound::decode(packet, found).ok())
    take_answer(peer, packet);
  else if (static_cast<std::size_t>(found.rank) < peers_.size())
    loss_sink_(rank, std::move(found));
  return true;
}

// One that is none of ours, or comes too late, is dropped.
void HangDesk::take_answer(Peer& peer, const std::string& packet) {
  wire::HangReport report;
  if (!wire::HangReport::decode(packet, report).ok() || report.inquiry != inquiry_ || !peer.asked) return;
  peer.report = std::move(report);
  peer.answered = true;
  peer.asked = false;
  finish_if_complete();
}

void HangDesk::finish_if_complete() {
  const auto missing = [](const Peer& peer) { return peer.asked; };
  if (deadline_ && std::none_of(peers_.begin(), peers_.end(), missing)) finish();
}

void HangDesk::finish() {
  deadline_.reset();
  std::vector<RankView> views;
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) views.push_back(view_of(static_cast<int>(rank)));
  const std::string text = describe_hang(views);
  for (const Sink& sink : std::exchange(sinks_, {})) sink(text);
}

RankView HangDesk::view_of(int rank) const {
  const Peer& peer = peers_[static_cast<std::size_t>(rank)];
  RankView view = knowledge_(rank);
  if (view.standing != RankView::Standing::kSilent) return view;
  if (peer.answered) {
    view.standing = RankView::Standing::kAnswered;
    view.report = peer.report;
  } else if (view.in_fence) {
    view.standing = RankView::Standing::kOutside;  // in MPI_Init nothing answers yet; later, the event thread does
  } else {
    view.process_state = state_of_process(view.process);
  }
  return view;
}

// When the rank's process has ended, or a program that replaced it has closed its end.
void HangDesk::close(Peer& peer) {
  if (peer.fd < 0) return;
  loop_.remove(peer.fd);
  ::close(peer.fd);
  peer.fd = -1;
}

}  // namespace lapwing::launch
