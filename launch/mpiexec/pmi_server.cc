#include "mpiexec/pmi_server.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "wire/card_book.h"

namespace lapwing::launch {
namespace {

using wire::PmiMessage;

constexpr int kKeyLimit = 256;
constexpr int kValueLimit = 16384;
constexpr std::size_t kSecretBytes = 32;
// What all ranks together may store, keys and what an entry costs included: far more than the cards of the largest job.
constexpr std::size_t kMaxStoredBytes = 1 << 30;
constexpr std::size_t kEntryBytes = 128;

}  // namespace

PmiServer::PmiServer(EventLoop& loop, Listener& listener, std::vector<int> appnums)
    : loop_(loop), listener_(listener), peers_(appnums.size()), kvs_name_("lapwing_" + std::to_string(::getpid())) {
  for (std::size_t rank = 0; rank < appnums.size(); ++rank) peers_[rank].appnum = appnums[rank];
  // As Hydra writes it: from node 0 on, one node with all ranks.
  values_["PMI_process_mapping"] = "(vector,(0,1," + std::to_string(appnums.size()) + "))";
}

PmiServer::~PmiServer() {
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) disconnect(static_cast<int>(rank));
}

Status PmiServer::open_connection(int rank, int& child_fd) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Status::error(MPI_ERR_OTHER, "cannot make the connection to rank %d: %s", rank, std::strerror(errno));
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  peer(rank).fd = ends[0];
  child_fd = ends[1];
  loop_.add(ends[0], EPOLLIN, [this, rank](std::uint32_t events) { on_event(rank, events); });
  return {};
}

void PmiServer::on_event(int rank, std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) {
    flush(rank);
    handle_lines(rank);
  }
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_input(rank);
}

void PmiServer::drain(int rank) {
  peer(rank).output.clear();  // it reads no more, and must not keep back its last lines
  while (peer(rank).fd >= 0 && read_input(rank)) {
  }
}

// True when there was something to read. An end of file is no news here: the process's own end will tell.
bool PmiServer::read_input(int rank) {
  char bytes[16384];
  const ssize_t count = ::read(peer(rank).fd, bytes, sizeof bytes);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return errno == EINTR;
  if (count <= 0) {
    disconnect(rank);
    return false;
  }
  Status status = peer(rank).input.append({bytes, static_cast<std::size_t>(count)});
  if (!status.ok()) {
    refuse(rank, status);
    return false;
  }
  handle_lines(rank);
  return true;
}

// A rank that does not read its answers gets no further ones, and is not read from: it waits for itself.
void PmiServer::handle_lines(int rank) {
  std::string line;
  while (peer(rank).fd >= 0 && peer(rank).output.empty() && peer(rank).input.next(line)) handle_line(rank, line);
}

void PmiServer::handle_line(int rank, const std::string& line) {
  PmiMessage message;
  if (const Status status = message.parse(line); !status.ok()) {
    refuse(rank, status);
    return;
  }
  const std::string& command = message.command();
  if (command == "init") {
    peer(rank).state = PmiState::kInitialised;
    reply(rank,
          PmiMessage("response_to_init").add("pmi_version", 1).add("pmi_subversion", 1).add("rc", 0).add("lapwing", 3));
  } else if (command == "get_maxes") {
    reply(rank, PmiMessage("maxes")
                    .add("rc", 0)
                    .add("kvsname_max", kKeyLimit)
                    .add("keylen_max", kKeyLimit)
                    .add("vallen_max", kValueLimit));
  } else if (command == "get_appnum") {
    reply(rank, PmiMessage("appnum").add("rc", 0).add("appnum", peer(rank).appnum));
  } else if (command == "get_universe_size") {
    reply(rank, PmiMessage("universe_size").add("rc", 0).add("size", static_cast<int>(peers_.size())));
  } else if (command == "get_my_kvsname") {
    reply(rank, PmiMessage("my_kvsname").add("rc", 0).add("kvsname", kvs_name_));
  } else if (command == "put") {
    answer_put(rank, message);
  } else if (command == "get") {
    answer_get(rank, message);
  } else if (command == "lapwing_getall") {
    answer_get_all(rank, message);
  } else if (command == "lapwing_hello") {
    answer_hello(rank);
  } else if (command == "lapwing_exchange") {
    enter_exchange(rank, message);
  } else if (command == "lapwing_lost") {
    note_lost(rank, message);
  } else if (command == "barrier_in") {
    enter_fence(rank);
  } else if (command == "finalize") {
    peer(rank).state = PmiState::kFinalised;
    reply(rank, PmiMessage("finalize_ack").add("rc", 0));
  } else if (command == "abort") {
    note_abort(rank, message);
  } else {
    // Spawn, publish and the like: known to PMI-1, not to this launcher. The client gets an orderly refusal.
    reply(rank, PmiMessage(command + "_result").add("rc", -1).add("msg", "not_supported"));
  }
}

void PmiServer::answer_put(int rank, const PmiMessage& message) {
  const std::string* key = message.find("key");
  const std::string* value = message.find("value");
  const bool taken = key != nullptr && value != nullptr && key->size() <= kKeyLimit && value->size() <= kValueLimit &&
                     store(*key, *value);
  reply(rank,
        PmiMessage("put_result").add("rc", taken ? 0 : -1).add("msg", taken ? "success" : "invalid_key_or_value"));
}

bool PmiServer::store(const std::string& key, const std::string& value) {
  const auto [place, is_new] = values_.try_emplace(key);
  const std::size_t before = is_new ? 0 : place->second.size();
  const std::size_t after = stored_bytes_ - before + value.size() + (is_new ? key.size() + kEntryBytes : 0);
  if (after > kMaxStoredBytes) {
    if (is_new) values_.erase(place);
    return false;
  }
  stored_bytes_ = after;
  place->second = value;
  return true;
}

void PmiServer::answer_get(int rank, const PmiMessage& message) {
  const std::string* key = message.find("key");
  const auto found = key != nullptr ? values_.find(*key) : values_.end();
  if (found == values_.end()) {
    reply(rank, PmiMessage("get_result").add("rc", -1).add("msg", "key_not_found").add("value", "unknown"));
  } else {
    reply(rank, PmiMessage("get_result").add("rc", 0).add("msg", "success").add("value", found->second));
  }
}

void PmiServer::answer_get_all(int rank, const PmiMessage& message) {
  const std::string* prefix = message.find("prefix");
  int count = 0;
  if (prefix == nullptr || !message.find("count", count) || count < 0 || count > static_cast<int>(peers_.size())) {
    reply(rank, PmiMessage("lapwing_getall_result").add("rc", -1).add("msg", "invalid_argument"));
    return;
  }
  std::string lines;
  for (int index = 0; index < count; ++index) {
    const auto found = values_.find(*prefix + std::to_string(index));
    if (found == values_.end()) {
      // The client stops at this line, so it must be the last one.
      lines += PmiMessage("lapwing_missing").add("index", index).encode();
      break;
    }
    lines += PmiMessage("lapwing_value").add("index", index).add("value", found->second).encode();
  }
  send(rank, lines);
}

// With the block of an error that ends the job, or with a text alone.
void PmiServer::note_abort(int rank, const PmiMessage& message) {
  int code = 1;
  message.find("exitcode", code);
  if (const std::string* block = message.find("lapwing_error")) {
    RankError error{code, wire::pmi_unescape(*block)};
    int heard = 0;
    message.find("lapwing_blamed", error.blamed_rank);
    error.heard = message.find("lapwing_heard", heard) && heard != 0;
    return listener_.on_error(rank, std::move(error));
  }
  const std::string* text = message.find("lapwing_text");
  listener_.on_abort(rank, code, text != nullptr ? wire::pmi_unescape(*text) : std::string());
}

void PmiServer::note_lost(int rank, const PmiMessage& message) {
  int lost = -1;
  if (!message.find("rank", lost) || lost < 0 || lost >= static_cast<int>(peers_.size()) || lost == rank)
    return refuse(rank, Status::error(MPI_ERR_OTHER, "it named no other rank that it has lost"));
  if (!peer(lost).excused) listener_.on_given_up(lost, rank);
}

void PmiServer::enter_fence(int rank) {
  if (peer(rank).in_fence) {
    refuse(rank, Status::error(MPI_ERR_OTHER, "it entered a PMI barrier twice"));
    return;
  }
  if (peer(rank).excused) return leave_fence(rank, kNoTable);
  peer(rank).in_fence = true;
  ++waiting_;
  leave_fence_if_complete();
  if (peer(rank).in_fence) listener_.on_waiting(rank);
}

void PmiServer::leave_fence_if_complete() {
  if (waiting_ > 0 && waiting_ + excused_ == peers_.size()) leave_fence();
}

void PmiServer::excuse(int rank) {
  if (std::exchange(peer(rank).excused, true)) return;
  ++excused_;
  if (std::exchange(peer(rank).in_fence, false)) {
    --waiting_;
    leave_fence(rank, kNoTable);
  }
  leave_fence_if_complete();
}

void PmiServer::answer_hello(int rank) {
  if (secret_.empty()) {
    secret_.resize(kSecretBytes);
    if (::getrandom(secret_.data(), secret_.size(), 0) != static_cast<ssize_t>(kSecretBytes)) secret_.clear();
  }
  reply(rank, PmiMessage("lapwing_welcome")
                  .add("vallen_max", kValueLimit)
                  .add("appnum", peer(rank).appnum)
                  .add("size", static_cast<int>(peers_.size()))
                  .add("kvsname", kvs_name_)
                  .add("oversubscribed", oversubscribed_ ? 1 : 0)
                  .add("shows_errors", shows_errors_ ? 1 : 0)
                  .add("secret", wire::pmi_escape(secret_)));
}

void PmiServer::enter_exchange(int rank, const PmiMessage& message) {
  const std::string* prefix = message.find("prefix");
  const std::string* value = message.find("value");
  if (prefix == nullptr || value == nullptr || prefix->size() > kKeyLimit || value->size() > kValueLimit) {
    refuse(rank, Status::error(MPI_ERR_OTHER, "it gave no valid value to exchange"));
    return;
  }
  if (!store(*prefix + std::to_string(rank), *value)) {
    refuse(rank, Status::error(MPI_ERR_OTHER, "the ranks have stored more than %zu bytes", kMaxStoredBytes));
    return;
  }
  table_prefix_ = *prefix;
  peer(rank).wants_table = true;
  enter_fence(rank);
}

void PmiServer::leave_fence() {
  waiting_ = 0;
  all_have_met_ = true;
  const bool wanted = std::any_of(peers_.begin(), peers_.end(), [](const Peer& each) { return each.wants_table; });
  const int table = wanted ? make_table() : kNoTable;
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    if (std::exchange(peers_[rank].in_fence, false)) leave_fence(static_cast<int>(rank), table);
  }
  if (table != kNoTable) ::close(table);
}

void PmiServer::leave_fence(int rank, int table) {
  const bool hand_over = std::exchange(peer(rank).wants_table, false) && table != kNoTable;
  const PmiMessage answer = PmiMessage("barrier_out").add("rc", 0);
  if (!hand_over || !send_with_table(rank, answer, table)) reply(rank, answer);
}

// kNoTable when there is a value that a table cannot hold: one is missing, or was split by its rank.
int PmiServer::make_table() const {
  std::vector<std::string> texts;
  texts.reserve(peers_.size());
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    const auto found = values_.find(table_prefix_ + std::to_string(rank));
    if (found == values_.end() || found->second.starts_with(wire::kPmiPiecesMark)) return kNoTable;
    texts.push_back(wire::pmi_unescape(found->second));
  }
  const std::string table = wire::encode_card_table(texts);
  const int file = ::memfd_create("lapwing-cards", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return kNoTable;
  const bool written = !table.empty() &&
                       ::write(file, table.data(), table.size()) == static_cast<ssize_t>(table.size()) &&
                       ::fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  if (written) return file;
  ::close(file);
  return kNoTable;
}

// False when nothing was sent.
bool PmiServer::send_with_table(int rank, const PmiMessage& message, int table) {
  if (peer(rank).fd < 0 || !peer(rank).output.empty()) return false;
  std::string line = message.encode();
  iovec body{line.data(), line.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof table)] = {};
  msghdr header{};
  header.msg_iov = &body;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof table);
  std::memcpy(CMSG_DATA(rights), &table, sizeof table);
  const ssize_t sent = ::sendmsg(peer(rank).fd, &header, MSG_NOSIGNAL);
  if (sent <= 0) return false;
  send(rank, std::string_view(line).substr(static_cast<std::size_t>(sent)));
  return true;
}

int PmiServer::waiting_rank() const noexcept {
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    if (peers_[rank].in_fence) return static_cast<int>(rank);
  }
  return -1;
}

void PmiServer::send(int rank, std::string_view bytes) {
  if (peer(rank).fd < 0 || bytes.empty()) return;
  peer(rank).output += bytes;
  flush(rank);
}

void PmiServer::flush(int rank) {
  std::string& output = peer(rank).output;
  std::size_t sent = 0;
  while (sent < output.size()) {
    const ssize_t count = ::send(peer(rank).fd, output.data() + sent, output.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count < 0) {
      disconnect(rank);
      return;
    }
    sent += static_cast<std::size_t>(count);
  }
  output.erase(0, sent);
  if (peer(rank).watched_for_output == !output.empty()) return;
  peer(rank).watched_for_output = !output.empty();
  loop_.change(peer(rank).fd, output.empty() ? EPOLLIN : EPOLLOUT);
}

void PmiServer::disconnect(int rank) {
  if (peer(rank).fd < 0) return;
  loop_.remove(peer(rank).fd);
  ::close(peer(rank).fd);
  peer(rank).fd = -1;
}

void PmiServer::refuse(int rank, const Status& status) {
  disconnect(rank);
  listener_.on_protocol_error(rank, status);
}

}  // namespace lapwing::launch
