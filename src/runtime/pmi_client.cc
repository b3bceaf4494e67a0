#include "runtime/pmi_client.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "base/log.h"
#include "base/own_descriptors.h"
#include "runtime/launcher_search.h"

namespace lapwing::runtime {
namespace {

using wire::PmiMessage;

using wire::kPmiPiecesMark;
constexpr std::size_t kPiecesHeadRoom = 32;  // kPmiPiecesMark, the count and its colon
constexpr int kMaxPieces = 1024;
constexpr int kMaxRanks = 1 << 24;
constexpr std::size_t kFallbackValueLimit = 256;
constexpr int kTellingRanks = 2;  // of those that wait: where one is waited for, another tells
constexpr int kDialSeconds = 10;  // for each address of a launcher that listens

bool parse_int(std::string_view text, int& value) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size() && !text.empty();
}

Status read_environment(const char* name, int least, int most, int& value) {
  const char* text = std::getenv(name);
  if (text == nullptr || !parse_int(text, value) || value < least || value > most) {
    return Status::error(MPI_ERR_OTHER, "%s='%.40s' from the launcher is not a number from %d to %d", name,
                         text == nullptr ? "" : text, least, most);
  }
  return {};
}

bool is_split(std::string_view stored) {
  return stored.substr(0, kPmiPiecesMark.size()) == kPmiPiecesMark;
}

// Splits kPmiPiecesMark + "3:abc" into 3 and "abc".
bool parse_pieces_head(std::string_view text, int& pieces, std::string_view& first) {
  text.remove_prefix(kPmiPiecesMark.size());
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || !parse_int(text.substr(0, colon), pieces)) return false;
  first = text.substr(colon + 1);
  return pieces >= 1 && pieces <= kMaxPieces;
}

// A signal leaves the kernel connecting.
bool connect_whole(int fd, const addrinfo& to) noexcept {
  if (::connect(fd, to.ai_addr, to.ai_addrlen) == 0) return true;
  if (errno != EINTR) return false;
  using Clock = std::chrono::steady_clock;
  const auto limit = Clock::now() + std::chrono::seconds(kDialSeconds);
  pollfd connecting{fd, POLLOUT, 0};
  int ready = 0;
  do {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - Clock::now()).count();
    ready = left <= 0 ? 0 : ::poll(&connecting, 1, static_cast<int>(left));
  } while (ready < 0 && errno == EINTR);
  int error = ETIMEDOUT;
  socklen_t length = sizeof error;
  if (ready > 0) ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  errno = error;
  return error == 0;
}

// Tries all addresses of the host; fd -1: none answered, and `error` is what the last one said.
Status dial(const std::string& host, const std::string& port, int& fd, int& error) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found); code != 0)
    return Status::error(MPI_ERR_OTHER, "cannot look up the launcher's host, PMI_PORT=%s:%s: %s", host.c_str(),
                         port.c_str(), ::gai_strerror(code));
  fd = -1;
  for (const addrinfo* each = found; each != nullptr && fd < 0; each = each->ai_next) {
    fd = ::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
      error = errno;
      continue;
    }
    const timeval limit{kDialSeconds, 0}, none{0, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);  // bounds connect()
    const bool connected = connect_whole(fd, *each);
    error = errno == EINPROGRESS ? ETIMEDOUT : errno;
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof none);
    if (!connected) ::close(std::exchange(fd, -1));
  }
  ::freeaddrinfo(found);
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return {};
}

std::string piece_key(std::string_view key, int piece) {
  return std::string(key) + "." + std::to_string(piece);
}

}  // namespace

PmiClient::~PmiClient() {
  if (received_fd_ >= 0) ::close(received_fd_);
  close_own_descriptor(fd_);
}

Status PmiClient::connect_to_descriptor() {
  int fd = -1;
  int rank = 0;
  int size = 0;
  LAPWING_TRY(read_environment("PMI_FD", 0, 1 << 20, fd));
  LAPWING_TRY(read_environment("PMI_SIZE", 1, kMaxRanks, size));
  LAPWING_TRY(read_environment("PMI_RANK", 0, size - 1, rank));
  return connect(fd, rank, size);
}

Status PmiClient::connect_to_port() {
  const char* port = std::getenv("PMI_PORT");
  int id = 0;
  LAPWING_TRY(read_environment("PMI_ID", 0, kMaxRanks, id));
  return dial_launcher(port != nullptr ? port : "", id);
}

Status PmiClient::connect(int fd, int rank, int size) {
  // A program that the rank starts must not hold the launcher's connection open.
  if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    return Status::error(MPI_ERR_OTHER, "the launcher's connection (PMI_FD=%d) is not open: %s", fd,
                         std::strerror(errno));
  }
  fd_ = fd;
  rank_ = rank;
  size_ = size;
  own_descriptor(fd);
  claim_connection(fd);
  return greet();
}

// `port` is HOST:PORT.
Status PmiClient::dial_launcher(const std::string& port, int id) {
  const std::size_t colon = port.rfind(':');
  if (colon == std::string::npos)
    return Status::error(MPI_ERR_OTHER, "PMI_PORT='%.80s' from the launcher is not HOST:PORT", port.c_str());
  int error = 0;
  LAPWING_TRY(dial(port.substr(0, colon), port.substr(colon + 1), fd_, error));
  if (fd_ < 0)
    return Status::error(
        MPI_ERR_OTHER,
        "cannot reach the launcher, which listens at PMI_PORT=%s: %s. Has it ended, or does a firewall stand "
        "between this host and the launcher's?",
        port.c_str(), std::strerror(error));
  own_descriptor(fd_);
  rank_ = id;  // until the launcher has said
  LAPWING_TRY(introduce(id));
  return greet();
}

// What the environment says to a rank that was given a descriptor is said here over the connection.
Status PmiClient::introduce(int id) {
  PmiMessage reply;
  LAPWING_TRY(request(PmiMessage("initack").add("pmiid", id), "initack", reply));
  int debug = 0;
  LAPWING_TRY(read_set("size", 1, kMaxRanks, size_));
  LAPWING_TRY(read_set("rank", 0, size_ - 1, rank_));
  return read_set("debug", 0, std::numeric_limits<int>::max(), debug);
}

Status PmiClient::read_set(std::string_view name, int least, int most, int& value) {
  PmiMessage message;
  LAPWING_TRY(receive(message));
  if (message.command() == "set" && message.find(name, value) && value >= least && value <= most) return {};
  return Status::error(MPI_ERR_OTHER, "the launcher did not say this rank's %s (it said PMI '%s')",
                       std::string(name).c_str(), message.command().c_str());
}

Status PmiClient::greet() {
  PmiMessage reply;
  LAPWING_TRY(send(PmiMessage("init").add("pmi_version", 1).add("pmi_subversion", 1)));
  // A program that had this connection before may have left without reading the answer to its goodbye.
  do {
    LAPWING_TRY(receive(reply));
  } while (reply.command() == "finalize_ack");
  if (reply.command() != "response_to_init")
    return Status::error(MPI_ERR_OTHER, "the launcher answered PMI 'init' with '%s'", reply.command().c_str());
  int code = -1;
  if (!reply.find("rc", code) || code != 0) {
    return Status::error(MPI_ERR_OTHER, "the launcher refused PMI version 1.1 (rc=%d)", code);
  }
  heard_ = true;
  int extension = 0;
  offers_extensions_ = reply.find("lapwing", extension) && extension >= 1;
  offers_table_ = offers_extensions_ && extension >= 2;
  counts_the_living_ = offers_extensions_ && extension >= 3;
  if (offers_table_) return greet_own_launcher();

  LAPWING_TRY(request(PmiMessage("get_maxes"), "maxes", reply));
  int value_limit = 0;
  // The C programs on the other side count a terminating NUL as part of the length.
  if (reply.find("vallen_max", value_limit) && value_limit > static_cast<int>(2 * kPiecesHeadRoom)) {
    value_limit_ = std::min<std::size_t>(static_cast<std::size_t>(value_limit) - 1, wire::kPmiMaxLine / 2);
  } else {
    value_limit_ = kFallbackValueLimit;
  }
  LAPWING_TRY(request(PmiMessage("get_appnum"), "appnum", reply));
  if (!reply.find("appnum", appnum_)) appnum_ = -1;
  LAPWING_TRY(request(PmiMessage("get_universe_size"), "universe_size", reply));
  if (!reply.find("size", universe_size_)) universe_size_ = -1;
  LAPWING_TRY(request(PmiMessage("get_my_kvsname"), "my_kvsname", reply));
  const std::string* name = reply.find("kvsname");
  if (name == nullptr) return Status::error(MPI_ERR_OTHER, "the launcher named no PMI key-value space");
  kvs_name_ = *name;
  return {};
}

// Our own mpiexec tells everything at once.
Status PmiClient::greet_own_launcher() {
  PmiMessage reply;
  LAPWING_TRY(request(PmiMessage("lapwing_hello"), "lapwing_welcome", reply));
  int value_limit = 0;
  const std::string* name = reply.find("kvsname");
  const std::string* secret = reply.find("secret");
  if (!reply.find("vallen_max", value_limit) || value_limit <= static_cast<int>(2 * kPiecesHeadRoom) ||
      !reply.find("appnum", appnum_) || !reply.find("size", universe_size_) || name == nullptr || secret == nullptr)
    return Status::error(MPI_ERR_OTHER, "the launcher's welcome is incomplete");
  // An older mpiexec does not say.
  if (!reply.find("oversubscribed", oversubscribed_)) oversubscribed_ = 0;
  if (!reply.find("shows_errors", shows_errors_)) shows_errors_ = 0;
  value_limit_ = std::min<std::size_t>(static_cast<std::size_t>(value_limit) - 1, wire::kPmiMaxLine / 2);
  kvs_name_ = *name;
  secret_ = wire::pmi_unescape(*secret);
  return {};
}

Status PmiClient::request(const PmiMessage& message, std::string_view expected_command, PmiMessage& reply) {
  if (fd_ < 0) return Status::error(MPI_ERR_OTHER, "no connection to the launcher");
  LAPWING_TRY(send(message));
  LAPWING_TRY(receive(reply));
  if (reply.command() != expected_command) {
    return Status::error(MPI_ERR_OTHER, "the launcher answered PMI '%s' with '%s' instead of '%s'",
                         message.command().c_str(), reply.command().c_str(), std::string(expected_command).c_str());
  }
  return {};
}

Status PmiClient::send(const PmiMessage& message) {
  const std::string line = message.encode();
  std::size_t sent = 0;
  while (sent < line.size()) {
    const ssize_t count = ::send(fd_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return gone(("writing PMI '" + message.command() + "'").c_str(), errno);
    sent += static_cast<std::size_t>(count);
  }
  return {};
}

Status PmiClient::receive(PmiMessage& reply) {
  std::string line;
  while (!input_.next(line)) LAPWING_TRY(fill_input());
  return reply.parse(line);
}

// In a job of thousands of ranks all wait at once.
void PmiClient::tell_of_long_wait() noexcept {
  if (told_of_wait_ || rank_ >= kTellingRanks) return;
  pollfd answer{fd_, POLLIN, 0};
  if (::poll(&answer, 1, static_cast<int>(patience_.count())) != 0) return;
  told_of_wait_ = true;
  log_warn("rank %d has waited %.3g s in MPI_Init for %s, and goes on waiting", rank_, static_cast<double>(patience_.count()) / 1000,
           in_fence_ ? "the other ranks to call it" : "an answer of the launcher");
}

Status PmiClient::fill_input() {
  tell_of_long_wait();
  char bytes[16384];
  iovec body{bytes, sizeof bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &body;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t count = 0;
  do {
    count = ::recvmsg(fd_, &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  const cmsghdr* header = count > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int))) {
    if (received_fd_ >= 0) ::close(received_fd_);
    std::memcpy(&received_fd_, CMSG_DATA(header), sizeof received_fd_);
  }
  if (count < 0) return gone("reading PMI", errno);
  if (count == 0) return gone("reading PMI", 0);
  return input_.append({bytes, static_cast<std::size_t>(count)});
}

// `error` as errno; 0: the other end was closed in order.
Status PmiClient::gone(const char* doing, int error) {
  closed_ = error == 0 || error == EPIPE || error == ECONNRESET;
  return Status::error(MPI_ERR_OTHER, "the launcher has gone (%s: %s)", doing,
                       error == 0 ? "it closed the connection" : std::strerror(error));
}

Status PmiClient::put(std::string_view key, std::string_view value) {
  if (key.empty() || !wire::is_pmi_text(key) || key.find('=') != std::string_view::npos) {
    return Status::error(MPI_ERR_INTERN, "'%s' cannot be a PMI key", std::string(key).c_str());
  }
  const std::string stored = wire::pmi_escape(value);
  if (stored.size() <= value_limit_) return put_piece(key, stored);

  const std::size_t piece_size = value_limit_ - kPiecesHeadRoom;
  const std::size_t pieces = (stored.size() + piece_size - 1) / piece_size;
  if (pieces > kMaxPieces) {
    return Status::error(MPI_ERR_INTERN, "PMI value of %zu bytes is too long for this launcher", value.size());
  }
  std::string first(kPmiPiecesMark);
  first.append(std::to_string(pieces)).append(1, ':').append(stored, 0, piece_size);
  LAPWING_TRY(put_piece(key, first));
  for (std::size_t piece = 1; piece < pieces; ++piece) {
    const std::string_view rest = std::string_view(stored).substr(piece * piece_size, piece_size);
    LAPWING_TRY(put_piece(piece_key(key, static_cast<int>(piece)), rest));
  }
  return {};
}

Status PmiClient::put_piece(std::string_view key, std::string_view value) {
  PmiMessage reply;
  LAPWING_TRY(
      request(PmiMessage("put").add("kvsname", kvs_name_).add("key", key).add("value", value), "put_result", reply));
  int code = -1;
  if (reply.find("rc", code) && code == 0) return {};
  return Status::error(MPI_ERR_OTHER, "the launcher did not take the PMI key '%s' (rc=%d)", std::string(key).c_str(),
                       code);
}

Status PmiClient::fence() {
  PmiMessage reply;
  return request_fence(PmiMessage("barrier_in"), reply);
}

Status PmiClient::request_fence(const PmiMessage& message, PmiMessage& reply) {
  in_fence_ = true;
  Status status = request(message, "barrier_out", reply);
  in_fence_ = false;
  return status;
}

Status PmiClient::get(std::string_view key, std::string& value) {
  std::string stored;
  LAPWING_TRY(get_piece(key, stored));
  if (!is_split(stored)) {
    value = wire::pmi_unescape(stored);
    return {};
  }
  int pieces = 0;
  std::string_view first;
  if (!parse_pieces_head(stored, pieces, first)) {
    return Status::error(MPI_ERR_OTHER, "the PMI value of '%s' is damaged", std::string(key).c_str());
  }
  std::string whole(first);
  for (int piece = 1; piece < pieces; ++piece) {
    LAPWING_TRY(get_piece(piece_key(key, piece), stored));
    whole += stored;
  }
  value = wire::pmi_unescape(whole);
  return {};
}

Status PmiClient::get_piece(std::string_view key, std::string& value) {
  PmiMessage reply;
  LAPWING_TRY(request(PmiMessage("get").add("kvsname", kvs_name_).add("key", key), "get_result", reply));
  int code = -1;
  const std::string* found = reply.find("value");
  if (!reply.find("rc", code) || code != 0 || found == nullptr) {
    return Status::error(MPI_ERR_OTHER, "the launcher has no PMI value for '%s': did a rank fail to start?",
                         std::string(key).c_str());
  }
  value = *found;
  return {};
}

Status PmiClient::get_all(std::string_view key_prefix, int count, std::vector<std::string>& values) {
  values.assign(static_cast<std::size_t>(std::max(count, 0)), {});
  if (offers_extensions_) return read_bulk(key_prefix, count, values);
  for (int i = 0; i < count; ++i) {
    LAPWING_TRY(get(std::string(key_prefix) + std::to_string(i), values[static_cast<std::size_t>(i)]));
  }
  return {};
}

// One request; one line per value comes back, in order, each "cmd=lapwing_value index=i value=...".
Status PmiClient::read_bulk(std::string_view key_prefix, int count, std::vector<std::string>& values) {
  if (fd_ < 0) return Status::error(MPI_ERR_OTHER, "no connection to the launcher");
  LAPWING_TRY(send(PmiMessage("lapwing_getall").add("prefix", key_prefix).add("count", count)));
  PmiMessage reply;
  std::vector<int> split;
  for (int i = 0; i < count; ++i) {
    LAPWING_TRY(receive(reply));
    int index = -1;
    const std::string* value = reply.find("value");
    if (reply.command() != "lapwing_value" || !reply.find("index", index) || index != i || value == nullptr) {
      return Status::error(MPI_ERR_OTHER, "the launcher has no PMI value for '%s%d': did a rank fail to start?",
                           std::string(key_prefix).c_str(), i);
    }
    values[static_cast<std::size_t>(i)] = wire::pmi_unescape(*value);
    if (is_split(*value)) split.push_back(i);
  }
  for (const int i : split) {
    LAPWING_TRY(get(std::string(key_prefix) + std::to_string(i), values[static_cast<std::size_t>(i)]));
  }
  return {};
}

Status PmiClient::exchange(std::string_view key_prefix, std::string_view value, int& table) {
  table = -1;
  const std::string stored = wire::pmi_escape(value);
  if (stored.size() > value_limit_) {
    LAPWING_TRY(put(std::string(key_prefix) + std::to_string(rank_), value));
    return fence();
  }
  PmiMessage reply;
  LAPWING_TRY(request_fence(PmiMessage("lapwing_exchange").add("prefix", key_prefix).add("value", stored), reply));
  table = std::exchange(received_fd_, -1);
  return {};
}

Status PmiClient::finalize() {
  if (finalized_) return {};
  finalized_ = true;
  // Our own mpiexec reads what a rank has said before it judges its end.
  PmiMessage reply;
  Status status = offers_table_ ? send(PmiMessage("finalize")) : request(PmiMessage("finalize"), "finalize_ack", reply);
  release_connection(fd_);
  return status;
}

bool PmiClient::served_by_mpiexec() const noexcept {
  return offers_extensions_ && runtime::served_by_mpiexec(fd_, ::environ);
}

bool PmiClient::abort(int code, std::string_view text) noexcept {
  PmiMessage message("abort");
  message.add("exitcode", code);
  if (offers_extensions_ && !text.empty()) message.add("lapwing_text", wire::pmi_escape(text.substr(0, 1000)));
  return fd_ >= 0 && send(message).ok();
}

bool PmiClient::abort_by_error(int code, std::string_view block, int blamed_rank, bool heard) noexcept {
  PmiMessage message("abort");
  message.add("exitcode", code).add("lapwing_error", wire::pmi_escape(block));
  if (blamed_rank >= 0) message.add("lapwing_blamed", blamed_rank).add("lapwing_heard", heard ? 1 : 0);
  return fd_ >= 0 && message.encode().size() <= wire::kPmiMaxLine && send(message).ok();
}

}  // namespace lapwing::runtime
