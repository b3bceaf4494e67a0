#include "net/shm/handover.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "base/log.h"

namespace lapwing::net::shm {
namespace {

constexpr const char* kRemedy = "LAPWING_TRANSPORTS=tcp runs the job without shared memory";
constexpr std::size_t kFilesPerMessage = 250;       // the kernel takes 253 (SCM_MAX_FD)
constexpr std::size_t kMaxUnknownConnections = 64;  // that have not shown the token yet, beyond the ranks awaited

constexpr std::size_t kTextBytes = 256;
constexpr int kAgainMs = 10;  // until the next try to accept

struct Request {
  char token[Listener::kTokenBytes];
  Place place;
  char problem[kTextBytes];  // empty: asks for the files
};

struct Answer {
  std::uint32_t count;       // descriptors that come with it
  char refusal[kTextBytes];  // when there are none
};

void put_text(char (&into)[kTextBytes], const char* text) noexcept {
  std::snprintf(into, sizeof into, "%s", text);
}

Status system_error(const char* what) {
  return Status::error(MPI_ERR_OTHER, "shared memory: %s: %s; %s", what, std::strerror(errno), kRemedy);
}

socklen_t abstract_address(std::string_view name, sockaddr_un& address) noexcept {
  address = {};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), length);  // sun_path[0] = 0: no file
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

bool same_user(int socket) noexcept {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

// Milliseconds to `deadline`, rounded up; 0 when it has passed.
int remaining_ms(Clock& clock, std::int64_t deadline) noexcept {
  const std::int64_t left = deadline - clock.now();
  return left <= 0 ? 0 : static_cast<int>(std::min<std::int64_t>(left / 1'000'000 + 1, 1'000'000));
}

// Compares without telling, by the time it takes, how much was right.
bool same_bytes(const char* a, const char* b, std::size_t bytes) noexcept {
  unsigned difference = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

struct FileMessage {
  Answer answer{};
  iovec body{&answer, sizeof answer};
  alignas(cmsghdr) char control[CMSG_SPACE(kFilesPerMessage * sizeof(int))] = {};  // padding would leave as it is
  msghdr header{};

  FileMessage() noexcept {
    header.msg_iov = &body;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
};

bool send_once(int socket, const int* fds, std::size_t count) noexcept {
  FileMessage message;
  message.answer.count = static_cast<std::uint32_t>(count);
  message.header.msg_controllen = CMSG_SPACE(count * sizeof(int));
  cmsghdr* control = CMSG_FIRSTHDR(&message.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(count * sizeof(int));
  std::memcpy(CMSG_DATA(control), fds, count * sizeof(int));
  return sendmsg(socket, &message.header, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(sizeof message.answer);
}

// Sends all files. The kernel bounds the descriptors under way per user (ETOOMANYREFS); the receivers are draining them.
bool send_files(int socket, const std::vector<int>& fds, Clock& clock, std::int64_t deadline) noexcept {
  for (std::size_t sent = 0; sent < fds.size();) {
    const std::size_t count = std::min(kFilesPerMessage, fds.size() - sent);
    if (send_once(socket, fds.data() + sent, count)) {
      sent += count;
      continue;
    }
    const bool later = errno == ETOOMANYREFS || errno == EAGAIN || errno == EINTR || errno == ENOBUFS;
    if (!later || remaining_ms(clock, deadline) == 0) return false;
    poll(nullptr, 0, 1);
  }
  return true;
}

void send_refusal(int socket, const char* why) noexcept {
  Answer answer{};
  put_text(answer.refusal, why);
  (void)send(socket, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Takes one message of descriptors; false on anything unexpected. Whatever came is owned by `files`. A refusal is told.
bool receive_files(int socket, std::vector<OwnedFd>& files, std::string& refusal) noexcept {
  FileMessage message;
  const ssize_t got = recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC);
  if (got < 0) return false;
  std::size_t arrived = 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message.header); c != nullptr; c = CMSG_NXTHDR(&message.header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      files.emplace_back(fd);
    }
    arrived += count;
  }
  errno = (message.header.msg_flags & MSG_CTRUNC) != 0 ? EMFILE : EPROTO;
  if (got != static_cast<ssize_t>(sizeof message.answer) || arrived != message.answer.count) return false;
  const char* text = message.answer.refusal;
  if (arrived == 0) refusal.assign(text, strnlen(text, kTextBytes));
  return arrived != 0;
}

// The leader's view of the ranks that have not been served yet. `files` null: each of them is refused.
class Server {
 public:
  Server(int listener, const std::string& token, const Place& leader, const SharedFiles* files, const char* refusal)
      : listener_(listener),
        token_(token),
        leader_(leader),
        refusal_(refusal),
        served_(leader.local_ranks, false),
        missing_(leader.local_ranks - 1) {
    served_[0] = true;
    if (files == nullptr) return;
    fds_.push_back(files->segment.get());
    for (const OwnedFd& doorbell : files->doorbells) fds_.push_back(doorbell.get());
    doorbell_ = files->doorbells[0].get();
  }

  std::uint32_t missing() const noexcept { return missing_; }
  // What one of the others said of itself.
  const Status& problem() const noexcept { return problem_; }

  // Waits some time for something to happen and handles it.
  Status step(Clock& clock, std::int64_t deadline) {
    watched_.assign({{blocked_ ? -1 : listener_, POLLIN, 0}, {doorbell_, POLLIN, 0}});
    for (const OwnedFd& guest : guests_) watched_.push_back({guest.get(), POLLIN, 0});
    const int patience = std::min(remaining_ms(clock, deadline), static_cast<int>(kLookEvery / 1'000'000));
    if (poll(watched_.data(), watched_.size(), blocked_ ? std::min(patience, kAgainMs) : patience) < 0 &&
        errno != EINTR)
      return system_error("cannot wait for the ranks of this host");
    blocked_ = false;
    for (std::size_t i = guests_.size(); i-- > 0;) {
      if (watched_[i + 2].revents == 0) continue;
      answer(guests_[i].get(), clock, deadline);
      guests_.erase(guests_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return (watched_[0].revents & POLLIN) != 0 ? admit() : Status();
  }

 private:
  Status admit() {
    OwnedFd guest(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!guest) return refused_by_kernel();
    if (!same_user(guest.get())) return {};
    if (guests_.size() >= missing_ + kMaxUnknownConnections) guests_.erase(guests_.begin());
    guests_.push_back(std::move(guest));
    return {};
  }

  // A listener that cannot be served stays readable: it must be left alone for a while. This thread is in MPI_Init, so nothing
  // but its own guests gives descriptors back.
  Status refused_by_kernel() {
    if (errno == EMFILE && guests_.empty())
      return system_error("cannot accept a rank of this host: raise the limit of open files, ulimit -n");
    blocked_ = errno != EAGAIN && errno != EINTR && errno != ECONNABORTED;
    return {};
  }

  void answer(int guest, Clock& clock, std::int64_t deadline) {
    Request request;
    if (recv(guest, &request, sizeof request, 0) != static_cast<ssize_t>(sizeof request)) return;
    if (!same_bytes(request.token, token_.data(), sizeof request.token)) return;
    const std::uint32_t rank = request.place.local_rank;
    if (rank == 0 || rank >= served_.size()) return;
    request.problem[kTextBytes - 1] = '\0';
    if (request.problem[0] != '\0') {
      problem_ = Status::error(MPI_ERR_OTHER, "a rank of this host cannot use its shared memory: %s", request.problem);
    } else if (!served_[rank]) {
      serve(guest, request.place, clock, deadline);
    }
  }

  void serve(int guest, const Place& place, Clock& clock, std::int64_t deadline) {
    const bool agreed = place.local_ranks == leader_.local_ranks && place.members == leader_.members;
    if (fds_.empty() || !agreed) {
      constexpr const char* kDisagree = "the ranks do not agree on which of them are on this host";
      send_refusal(guest, agreed ? refusal_ : kDisagree);
      if (!agreed) problem_ = Status::error(MPI_ERR_OTHER, "%s", kDisagree);
    } else if (!send_files(guest, fds_, clock, deadline)) {
      return;
    }
    served_[place.local_rank] = true;
    --missing_;
  }

  int listener_;
  const std::string& token_;
  const Place leader_;
  const char* refusal_;
  int doorbell_ = -1;  // the leader's, written when the ranks have agreed
  std::vector<int> fds_;
  std::vector<bool> served_;
  std::uint32_t missing_;
  bool blocked_ = false;  // accept() failed: not now
  Status problem_;
  std::vector<OwnedFd> guests_;
  std::vector<pollfd> watched_;
};

// The looks that a leader takes at whether those that it waits for live.
class Looks {
 public:
  Looks(Clock& clock, const HasEnded& one_has_ended) noexcept : clock_(clock), one_has_ended_(one_has_ended) {}
  bool find_an_end() {
    if (clock_.now() < next_) return false;
    next_ = clock_.now() + kLookEvery;
    return one_has_ended_();
  }

 private:
  Clock& clock_;
  const HasEnded& one_has_ended_;
  std::int64_t next_ = clock_.now() + kLookEvery;
};

// A connection to the leader on which both directions have a time limit.
OwnedFd connect_to(std::string_view name, int milliseconds) noexcept {
  OwnedFd connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!connection) return connection;
  const timeval limit{milliseconds / 1000, milliseconds % 1000 * 1000};
  setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);  // bounds connect() as well
  setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_un address;
  const socklen_t length = abstract_address(name, address);
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0) return connection;
  const int error = errno;
  connection.reset();
  errno = error;
  return connection;
}

bool send_request(int socket, std::string_view token, const Place& place, const char* problem) noexcept {
  Request request{};
  std::memcpy(request.token, token.data(), sizeof request.token);
  request.place = place;
  put_text(request.problem, problem);
  return send(socket, &request, sizeof request, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof request);
}

}  // namespace

Status random_bytes(void* out, std::size_t bytes) {
  auto* next = static_cast<char*>(out);
  while (bytes > 0) {
    const ssize_t got = getrandom(next, bytes, 0);
    if (got < 0 && errno != EINTR) return system_error("cannot get random numbers");
    if (got <= 0) continue;
    next += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return {};
}

std::string to_hex(const void* data, std::size_t bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const auto* next = static_cast<const unsigned char*>(data);
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) {
    text += kDigits[next[i] >> 4];
    text += kDigits[next[i] & 15];
  }
  return text;
}

Status create_doorbells(std::uint32_t count, std::vector<OwnedFd>& doorbells) {
  for (std::uint32_t i = 0; i < count; ++i) {
    doorbells.emplace_back(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (doorbells.back()) continue;
    return system_error(errno == EMFILE ? "cannot create a doorbell per rank (raise the limit of open files, ulimit -n)" : "cannot create a doorbell per rank");
  }
  return {};
}

Status Listener::open() {
  unsigned char name[8];
  token_.resize(kTokenBytes);
  LAPWING_TRY(random_bytes(name, sizeof name));
  LAPWING_TRY(random_bytes(token_.data(), token_.size()));
  name_ = "lapwing-" + to_hex(name, sizeof name);
  socket_.reset(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_) return system_error("cannot open a socket for the ranks of this host");
  sockaddr_un address;
  const socklen_t length = abstract_address(name_, address);
  if (bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      listen(socket_.get(), SOMAXCONN) != 0)
    return system_error("cannot listen for the ranks of this host");
  return {};
}

Place place_among(const std::vector<std::uint32_t>& ranks, std::uint32_t local_rank) noexcept {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325u;  // FNV-1a
  for (const std::uint32_t rank : ranks) hash = (hash ^ rank) * 0x100'0000'01b3u;
  return {local_rank, static_cast<std::uint32_t>(ranks.size()), hash};
}

Status Listener::serve(const Place& leader, const SharedFiles& files, Agreement& agreement, Clock& clock, std::int64_t deadline,
                       const HasEnded& one_has_ended) {
  Server server(socket_.get(), token_, leader, &files, "");
  Looks looks(clock, one_has_ended);
  Status trouble;
  while (agreement.outcome() == Agreement::kOpen && trouble.ok()) {
    if (remaining_ms(clock, deadline) == 0) break;
    trouble = server.step(clock, deadline);
    if (trouble.ok() && !server.problem().ok()) trouble = server.problem().copy();
    if (trouble.ok() && looks.find_an_end()) trouble = Status::error(MPI_ERR_OTHER, "a rank of this host has ended before all had come for the shared memory");
  }
  agreement.go_apart();  // unless it is settled
  if (agreement.outcome() == Agreement::kTogether) return {};
  if (!trouble.ok()) return trouble;
  return Status::error(MPI_ERR_OTHER,
                       "%u of the %u ranks of this host did not come for the shared memory in time; they may have died "
                       "or wait for a processor (LAPWING_CONNECT_TIMEOUT gives them longer)",
                       std::max(server.missing(), 1u), leader.local_ranks);
}

void Listener::refuse(const Place& leader, const char* why, Clock& clock, std::int64_t deadline, const HasEnded& one_has_ended) noexcept {
  Server server(socket_.get(), token_, leader, nullptr, why);
  Looks looks(clock, one_has_ended);
  while (server.missing() != 0 && remaining_ms(clock, deadline) != 0 && server.step(clock, deadline).ok() && !looks.find_an_end()) {
  }
}

namespace {

Status fetch_once(std::string_view name, std::string_view token, std::uint32_t leader, const Place& place, Clock& clock,
                  std::int64_t deadline, SharedFiles& files, bool& refused) {
  const auto failure = [&](const char* what) {
    const bool late = errno == EAGAIN || remaining_ms(clock, deadline) == 0;
    return Status::error(MPI_ERR_OTHER, "cannot get this host's shared memory from rank %u: %s: %s; %s", leader, what,
                         late ? "no answer in time" : std::strerror(errno), kRemedy);
  };
  if (token.size() != Listener::kTokenBytes) return Status::error(MPI_ERR_OTHER, "rank %u's card is malformed", leader);
  const OwnedFd connection = connect_to(name, std::max(1, remaining_ms(clock, deadline)));
  if (!connection) return failure("connect");
  if (!same_user(connection.get())) {
    errno = EPERM;
    return failure("the socket belongs to another user");
  }
  if (!send_request(connection.get(), token, place, "")) return failure("send");
  std::vector<OwnedFd> received;
  std::string refusal;
  while (received.size() < place.local_ranks + std::size_t{1}) {
    if (receive_files(connection.get(), received, refusal)) continue;
    refused = !refusal.empty();
    if (refused) return Status::error(MPI_ERR_OTHER, "rank %u of this host: %s", leader, refusal.c_str());
    if (errno == EINTR && remaining_ms(clock, deadline) != 0) continue;  // each call has the whole time limit again
    return failure("receive (if there are too many open files, raise ulimit -n)");
  }
  if (received.size() != place.local_ranks + std::size_t{1}) {
    errno = EPROTO;
    return failure("it sent too much");
  }
  files.segment = std::move(received.front());
  files.doorbells.assign(std::make_move_iterator(received.begin() + 1), std::make_move_iterator(received.end()));
  return {};
}

}  // namespace

Status fetch(std::string_view name, std::string_view token, std::uint32_t leader, const Place& place, Clock& clock,
             std::int64_t deadline, SharedFiles& files) {
  bool refused = false;
  Status fetched = fetch_once(name, token, leader, place, clock, deadline, files, refused);
  if (!fetched.ok() && !refused) decline(name, token, leader, place, fetched.text());
  return fetched;
}

void decline(std::string_view name, std::string_view token, std::uint32_t leader, const Place& place,
             const char* why) noexcept {
  constexpr int kPatienceMs = 1000;
  if (token.size() != Listener::kTokenBytes) return;
  const OwnedFd connection = connect_to(name, kPatienceMs);
  if (connection && send_request(connection.get(), token, place, why)) return;
  log_warn("%s; rank %u, which shares it, waits for this rank until its time is up", why, leader);
}

bool exists_here(std::string_view name) noexcept {
  const OwnedFd probe(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address;
  const socklen_t length = abstract_address(name, address);
  return probe && bind(probe.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 && errno == EADDRINUSE;
}

}  // namespace lapwing::net::shm
