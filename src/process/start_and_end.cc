#include "process/start_and_end.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>

#include "base/descriptor_limit.h"
#include "base/outer_call.h"
#include "coll/coll.h"
#include "process/announce.h"
#include "process/process.h"
#include "process/selection_rules.h"
#include "process/settling.h"
#include "process/statistics.h"
#include "runtime/host_identity.h"
#include "runtime/key_file.h"
#include "wire/hang_report.h"

extern char** environ;

namespace lapwing::process {
namespace {

comm::Communicator* make_predefined(std::uint64_t context, comm::Group* group, MPI_Comm handle, const char* name) {
  auto* communicator = new comm::Communicator(context, group, nullptr);
  communicator->predefined_handle = handle;
  communicator->name = name;
  return communicator;
}

MPI_Errhandler handler_of(InitialErrhandler which) noexcept {
  switch (which) {
    case InitialErrhandler::kFatal:
      return MPI_ERRORS_ARE_FATAL;
    case InitialErrhandler::kAbort:
      return MPI_ERRORS_ABORT;
    case InitialErrhandler::kReturn:
      return MPI_ERRORS_RETURN;
  }
  return MPI_ERRORS_ARE_FATAL;
}

void make_communicators(Process& process) {
  const ProcessId self = process.self_id();
  comm::Group* all = comm::Group::make_range({}, process.job.size(), process.job.rank());
  all->retain();
  using comm::ContextIds;
  using runtime::ProcessTable;
  static_assert(ContextIds::kMostRanks == ProcessTable::kMostRanks && ContextIds::kJobs == ProcessTable::kShortNumbers);
  const wire::JobRank name = process.table.name(self);
  process.context_ids = std::make_unique<ContextIds>(ProcessTable::short_number(name.job), name.rank);
  process.world = make_predefined(ContextIds::kWorld, all, MPI_COMM_WORLD, "MPI_COMM_WORLD");
  process.self =
      make_predefined(ContextIds::kSelf, comm::Group::make_range(self, 1, 0), MPI_COMM_SELF, "MPI_COMM_SELF");
  process.processes = make_predefined(ContextIds::kProcesses, all, MPI_COMM_NULL, "all processes");
  for (comm::Communicator* each : {process.world, process.self, process.processes}) {
    each->oversubscribed = process.job.oversubscribed();
    (void)each->exchange_error_handler(handler_of(process.settings.initial_errhandler));
  }
}

// Ranks on this host: as the launcher says, or as the cards say.
int count_local_ranks(const Process& process, const wire::CardBook& cards) {
  if (process.job.launcher_local_size() > 0) return process.job.launcher_local_size();
  int count = 0;
  wire::Card card;
  for (std::uint32_t rank = 0; rank < cards.size(); ++rank)
    count += cards.read(rank, card).ok() && card.get("host") == process.job.host_identity();
  return count;
}

Status open_network(Process& process) {
  constexpr std::size_t kOwnDescriptors = 256;  // and the application's
  const runtime::Job& job = process.job;
  make_room_for_descriptors(static_cast<std::size_t>(job.size()) + kOwnDescriptors);
  net::NetworkConfig config;
  config.self = process.self_id();
  config.processes = &process.table;
  config.size = static_cast<std::uint32_t>(job.size());
  config.transports = process.settings.transports;
  config.single_host = job.single_host();
  config.job_secret = job.secret();
  if (job.size() > 1) LAPWING_TRY(runtime::read_key_file(process.settings.key_file, config.key_file));
  config.host_identity = job.host_identity();
  config.host_name = job.host_name();
  config.settings = &process.settings;
  config.host_memory_user = &process.areas;
  process.network = std::make_unique<net::Network>(process.engine, *process.messenger, config);

  wire::Card card;
  LAPWING_TRY(process.network->publish(card));
  offer_selection_rules(process, card);
  wire::CardBook cards;
  LAPWING_TRY(process.job.exchange(card, cards));
  adopt_selection_rules(process, cards);

  engine::EngineOptions options;
  options.event_thread = process.settings.progress == Progress::kThread;
  options.ranks_per_core = job.ranks_per_core(count_local_ranks(process, cards));
  options.cores = runtime::usable_cores();
  if (process.settings.spin) options.spin_budget = std::chrono::nanoseconds(*process.settings.spin).count();
  LAPWING_TRY(process.engine.start(options));

  engine::Visit visit(process.engine);
  LAPWING_TRY(process.network->attach(cards));
  process.messenger->set_network(*process.network);
  process.launcher_socket.open();
  announce(process);
  return {};
}

Status start(Process& process) {
  LAPWING_TRY(process.settings.load(environ));
  set_log_level(process.settings.log);
  put_in_force(process.settings.tune);
  LAPWING_TRY(process.job.join(environ, process.settings.singleton));
  set_log_rank(process.job.rank());
  LAPWING_TRY(process.table.add_job(process.job.number(), static_cast<std::uint32_t>(process.job.size())));
  process.messenger = std::make_unique<p2p::Messenger>(process.engine, process.settings.unexpected_limit);
  make_communicators(process);
  return open_network(process);
}

// Why the end waits: sends that have not met their receivers.
class SettleWait final : public engine::WaitReason {
 public:
  explicit SettleWait(Process& process) noexcept
      : WaitReason(OuterCall::name() != nullptr ? OuterCall::name() : "MPI_Finalize"),
        process_(process),
        began_(process.clock.now()) {}
  void describe(wire::HangWait& wait) const override {
    wait.age_ms = (process_.clock.now() - began_) / 1'000'000;
    wire::HangReport lists;
    process_.messenger->describe(lists);
    for (wire::HangItem& item : lists.pending.items)
      if (item.kind == wire::HangItem::Kind::kSend) wait.items.push_back(std::move(item));
  }

 private:
  Process& process_;
  std::int64_t began_;
};

// Waits until everything this process sent has left and every send has met its receiver. Where a connection may break and be made again, what has
// left may have to be sent once more: so until peers have said that it has come. After this process has gone, nobody could.
void settle(Process& process) {
  engine::Visit visit(process.engine);
  while (process.engine.turn()) {
  }
  const SettleWait reason(process);
  wait_until(process.engine, reason, [&] {
    if (!process.messenger->quiet()) return false;
    process.network->ask_for_flush();
    return process.network->flushed();
  });
}

// All ranks have made their last collective call on MPI_COMM_WORLD. Where they share memory, one that met no other is found now.
Status compare_last_calls(Process& process) {
  engine::Visit visit(process.engine);
  return coll::compare_last_calls(*process.world);
}

// All ranks meet, and rank 0 learns the statistics of all. Where some rank has none, each tells its own at least.
Status meet_and_compare(Process& process) {
  const int rank = process.job.rank();
  Statistics mine;
  {
    engine::Visit visit(process.engine);
    mine = Statistics::of(process);
  }
  process.statistics = mine.report("rank " + std::to_string(rank));
  wire::CardBook texts;
  const bool complete = process.job.fence_and_tell(mine.encode(), texts).ok();
  if (rank != 0 || !complete || process.job.size() < 2) return {};
  Statistics sum;
  for (std::uint32_t other = 0; other < texts.size(); ++other) {
    Statistics theirs;
    if (!theirs.decode(std::string(texts.text(other)))) return {};
    sum.add(theirs);
  }
  process.statistics += sum.report("all " + std::to_string(texts.size()) + " ranks");
  return {};
}

bool some_failed(Process& process) {
  engine::Visit visit(process.engine);
  return process.messenger->some_failed();
}

bool is_given_up(Process& process) {
  engine::Visit visit(process.engine);
  return process.messenger->is_given_up();
}

std::vector<int> failed_ranks(Process& process) {
  engine::Visit visit(process.engine);
  std::vector<int> ranks;
  process.messenger->for_each_failed([&](ProcessId id, const Status&) {
    if (process.table.is_own_job(id)) ranks.push_back(static_cast<int>(id.index));
  });
  return ranks;
}

// While this process waits outside of the engine, a peer that settles later still asks what of its frames has come. Where nothing is under way, the
// event thread does not hear that before this process calls again (engine/source.h, rest); so this is under way.
class AnswersMeanwhile {
 public:
  explicit AnswersMeanwhile(engine::Engine& engine) noexcept : engine_(engine) {
    const engine::Visit visit(engine_);
    engine_.hold();
  }
  ~AnswersMeanwhile() {
    const engine::Visit visit(engine_);
    engine_.unhold();
  }
  AnswersMeanwhile(const AnswersMeanwhile&) = delete;
  AnswersMeanwhile& operator=(const AnswersMeanwhile&) = delete;

 private:
  engine::Engine& engine_;
};

// All ranks that are left, through the launcher.
Status meet_through_launcher(Process& process) {
  const AnswersMeanwhile answers(process.engine);
  for (const int rank : failed_ranks(process)) LAPWING_TRY(process.job.tell_lost(rank));
  return process.settings.stats ? meet_and_compare(process) : process.job.fence();
}

// Through the launcher where there is an event thread: a barrier over messages would make connections between ranks that had nothing to do with
// each other. Without the thread, this one must drive while it waits.
//
// Ranks that have failed do not come, nor does one that the others have given up. Our mpiexec counts those that are left; under other launchers, and
// in messages, these do not meet.
Status meet_all(Process& process) {
  if (is_given_up(process)) return {};
  if (some_failed(process) && !(process.job.fence_counts_the_living() && process.engine.has_event_thread())) return {};
  if (process.engine.has_event_thread()) return meet_through_launcher(process);
  const Status met = coll::barrier({process.engine, *process.messenger}, {*process.processes, comm::Plane::kManagement});
  return some_failed(process) ? Status() : met.copy();
}

void print_statistics(Process& process) {
  if (process.statistics.empty()) {
    engine::Visit visit(process.engine);
    process.statistics = Statistics::of(process).report("rank " + std::to_string(process.job.rank()));
  }
  std::fputs(process.statistics.c_str(), stderr);
}

// In the order in which they may go.
void drop_parts(Process& process) {
  for (comm::Communicator* communicator : {process.world, process.self, process.processes}) comm::Communicator::drop(communicator);
  process.network.reset();
  process.messenger.reset();
}

std::unique_ptr<runtime::Job> failed_start;

Statistics at_the_end;  // of the process that has ended; guarded by end_mutex()

}  // namespace

std::mutex& end_mutex() noexcept {
  static std::mutex& mutex = *new std::mutex;  // never destroyed: a tool may still ask while the program exits
  return mutex;
}

Statistics Statistics::until_now() {
  const std::lock_guard guard(end_mutex());
  Process* process = process_or_null();
  if (process == nullptr) return at_the_end;
  const engine::Visit visit(process->engine);
  return of(*process);
}

runtime::Job* job_of_failed_start() noexcept {
  return failed_start.get();
}

void abandon_failed_start() noexcept {
  static std::atomic<runtime::Job*> abandoned;  // what looks for leaks shall find it
  abandoned.store(failed_start.release());
}

Status start_process() {
  failed_start.reset();
  auto process = std::make_unique<Process>();
  if (Status started = start(*process); !started.ok()) {
    process->engine.stop();  // work that a transport has submitted ends before the transport
    drop_parts(*process);
    failed_start = std::make_unique<runtime::Job>(std::move(process->job));
    return started;
  }
  the_process.store(process.release(), std::memory_order_release);
  return {};
}

void abandon_process() noexcept {
  static std::atomic<ProcessHead*> abandoned;  // what looks for leaks shall find it
  abandoned.store(the_process.exchange(nullptr));
}

void settle_process() {
  settle(process::process());
}

Status meet_at_the_end(bool leaves) {
  Process& process = process::process();
  if (leaves) settle(process);
  {
    engine::Visit visit(process.engine);
    process.network->expect_goodbye();
  }
  LAPWING_TRY(meet_all(process));
  if (leaves) settle(process);
  return some_failed(process) ? Status() : compare_last_calls(process);
}

Status stop_process() {
  const std::lock_guard guard(end_mutex());
  std::unique_ptr<Process> process(&process::process());
  if (process->settings.stats) print_statistics(*process);
  const std::array own{process->world, process->self, process->processes};
  {
    engine::Visit visit(process->engine);
    at_the_end = Statistics::of(*process);
    for (comm::Communicator* communicator : own) {
      if (communicator != nullptr) coll::stop_draining(*communicator);
    }
    process->messenger->cancel_what_is_aside();
    process->launcher_socket.close();
    process->network->close();
  }
  process->engine.stop();
  Status status = process->job.leave();
  the_process.store(nullptr, std::memory_order_release);
  drop_parts(*process);
  return status;
}

}  // namespace lapwing::process
