#include "process/announce.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/log.h"
#include "base/processor_list.h"
#include "process/process.h"
#include "process/version.h"

namespace lapwing::process {
namespace {

// "0-3,8": the processors that this process may use.
std::string processors() {
  const ProcessorSet own = processors_of(0);
  return own.none() ? "unknown processors" : "processors " + print_processor_list(own);
}

bool is_set(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != '\0' && std::string(text) != "0";
}

std::string launcher(const runtime::Job& job) {
  return job.singleton() ? "without a launcher" : std::string("started by ") + job.started_by();
}

std::string bytes(std::uint64_t count) {
  return settings::BytesKind::print(count);
}

void announce_job(const Process& process) {
  const Settings& settings = process.settings;
  log_info("%s, %d ranks, %s%s", version().c_str(), process.job.size(), launcher(process.job).c_str(),
           process.job.oversubscribed() ? ", more of them than cores" : "");
  log_info(
      "transports %s; progress by %s; messages of up to %s (shm) and %s (tcp%s) travel without asking first; messages "
      "that "
      "no receive has asked for may take %s",
      settings::NamesKind::print(settings.transports).c_str(),
      settings.progress == Progress::kThread ? "the event thread" : "polling in MPI calls",
      bytes(settings.eager_limit_shm).c_str(), bytes(settings.eager_limit_tcp).c_str(),
      settings.is_given("eager_limit_tcp") ? "" : ", to other hosts",
      bytes(settings.unexpected_limit).c_str());
}

}  // namespace

void announce(const Process& process) {
  if (!log_enabled(LogLevel::kInfo)) return;
  if (process.job.rank() == 0) announce_job(process);
  log_info("process %d on host %s, %s %s", static_cast<int>(::getpid()), process.job.host_name().c_str(),
           is_set("LAPWING_INTERNAL_BOUND") ? "bound to" : "not bound by the launcher, may use", processors().c_str());
}

}  // namespace lapwing::process
