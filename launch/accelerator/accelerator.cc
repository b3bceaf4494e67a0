#include "accelerator/accelerator.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "accelerator/accounts.h"
#include "accelerator/listener.h"
#include "accelerator/options.h"
#include "accelerator/rights.h"
#include "accelerator/session.h"
#include "base/descriptor_limit.h"
#include "base/settings.h"

extern char** environ;

namespace lapwing::launch {
namespace {

using net::bpf::Descriptor;

constexpr std::size_t kDescriptorsPerRank = 10, kStackBytes = 256 << 10;
constexpr int kAgainMs = 10;  // until the next try to accept

// ---- ranks ----------------------------------------------------------------------------------------------------------

void* serve_rank(void* session) {
  const std::unique_ptr<Session> owned(static_cast<Session*>(session));
  owned->run();
  return nullptr;
}

bool start_thread(Session* session) noexcept {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, &serve_rank, session) == 0;
  pthread_attr_destroy(&attributes);
  return started;
}

void admit(Descriptor connection, Accounts& accounts, EtherPrograms& programs) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(connection.fd(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return;
  Ledger::Id id = 0;
  if (const Status admitted = accounts.admit(peer.uid, id); !admitted.ok()) return turn_away(connection.fd(), admitted);
  auto session = std::make_unique<Session>(std::move(connection), peer.uid, accounts, id, programs);
  if (start_thread(session.get())) [[maybe_unused]] Session* const thread_owns = session.release();
}

// ---- the thread that accepts ----------------------------------------------------------------------------------------

// All that stand in the queue. False: the system has no room for another now.
bool accept_all(int listener, Accounts& accounts, EtherPrograms& programs) {
  for (;;) {
    Descriptor connection(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.open())
      admit(std::move(connection), accounts, programs);
    else if (errno != EINTR && errno != ECONNABORTED)
      return errno == EAGAIN;
  }
}

Status end_signals(Descriptor& signals) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC));
  return signals.open() ? Status() : Status::error(MPI_ERR_OTHER, "signals cannot be waited for: %s", std::strerror(errno));
}

void serve(int listener, int signals, Accounts& accounts, EtherPrograms& programs) {
  bool room = true;
  for (;;) {
    pollfd watched[] = {{signals, POLLIN, 0}, {room ? listener : -1, POLLIN, 0}};
    const int ready = ::poll(watched, 2, room ? -1 : kAgainMs);
    if (ready > 0 && watched[0].revents != 0) return;
    room = accept_all(listener, accounts, programs);
  }
}

// ---- begin and end --------------------------------------------------------------------------------------------------

std::uint64_t machine_memory() noexcept {
  struct sysinfo info {};
  return ::sysinfo(&info) == 0 ? std::uint64_t{info.totalram} * info.mem_unit : 0;
}

// So that an administrator hears at once what is missing, and not each user later.
Status try_rights() {
  net::kernel::OwnLoader loader;
  Descriptor keeper;
  LAPWING_TRY(loader.prepare(1, 1));
  LAPWING_TRY(loader.load());
  return loader.make_keeper(keeper);
}

Status run(const AcceleratorOptions& options, const Settings& settings) {
  Accounts accounts(options.limits);
  EtherPrograms programs(options.ether, settings.ether_type, settings.ether_port, settings.ether_rules == Choice::kAuto);
  Descriptor listener, signals;
  LAPWING_TRY(end_signals(signals));
  LAPWING_TRY(accounts.open());
  LAPWING_TRY(listen_at(options.socket, options.group, listener));
  Status begun = keep_only_needed_rights(!options.ether.empty());
  if (begun.ok()) begun = try_rights();
  if (begun.ok()) {
    std::printf("lapwing accelerator: serves at %s\n", options.socket.c_str());
    std::fflush(stdout);
    serve(listener.fd(), signals.fd(), accounts, programs);
  }
  ::unlink(options.socket.c_str());
  if (begun.ok()) std::_Exit(0);  // threads of ranks use what this function owns
  return begun;
}

int complain(const Status& why, const char* usage) {
  std::fprintf(stderr, "lapwing accelerator: %s\n%s", why.text(), usage);
  return usage[0] == '\0' ? 1 : 2;
}

}  // namespace

int run_accelerator(const std::vector<std::string>& arguments) {
  Settings settings;
  if (const Status loaded = settings.load(environ); !loaded.ok()) return complain(loaded, "");
  set_log_level(settings.log);
  AcceleratorOptions options;
  options.socket = settings.accelerator;
  if (const Status parsed = parse_accelerator_options(arguments, machine_memory(), options); !parsed.ok()) return complain(parsed, kAcceleratorUsage);
  if (options.help) return std::fputs(kAcceleratorUsage, stdout), 0;
  if (options.socket.empty()) return complain(Status::error(MPI_ERR_ARG, "--socket says where ranks find it"), kAcceleratorUsage);
  make_room_for_descriptors(options.limits.ranks * kDescriptorsPerRank);
  return complain(run(options, settings), "");
}

}  // namespace lapwing::launch
