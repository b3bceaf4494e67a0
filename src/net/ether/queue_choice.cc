#include "net/ether/queue_choice.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>

#include "base/processor_list.h"
#include "base/status.h"

namespace lapwing::net::ether {
namespace {

bool meet(const ProcessorSet& left, const ProcessorSet& right) noexcept {
  return (left & right).any();
}

// The first queue that one of these processors serves as well.
std::uint32_t first_of(const std::vector<QueueService>& services, std::uint32_t queue) noexcept {
  std::uint32_t first = 0;
  while (first < queue && !meet(services[first].processors, services[queue].processors)) ++first;
  return first;
}

enum class Fit { kOwn, kOwnShared, kUnknown, kElsewhere };

// One that serves on processors of others is left for those.
Fit fit_of(const std::vector<QueueService>& services, std::uint32_t queue, const ProcessorSet& own) noexcept {
  if (!services[queue].known()) return Fit::kUnknown;
  if (!meet(services[queue].processors, own)) return Fit::kElsewhere;
  return first_of(services, queue) == queue ? Fit::kOwn : Fit::kOwnShared;
}

// A thread that begins meanwhile has the processors of the one that began it, and is seen in the next round.
Status bind_threads(const ProcessorSet& processors) {
  constexpr int kRounds = 2;
  for (int round = 0; round < kRounds; ++round) {
    const std::unique_ptr<DIR, int (*)(DIR*)> threads(::opendir("/proc/self/task"), &::closedir);
    if (!threads) return Status::error(MPI_ERR_OTHER, "the threads of this process are not known: %s", std::strerror(errno));
    while (const dirent* entry = ::readdir(threads.get())) {
      const int thread = std::atoi(entry->d_name);
      if (thread > 0 && !bind_to_processors(thread, processors) && errno != ESRCH)
        return Status::error(MPI_ERR_OTHER, "the kernel does not bind it: %s", std::strerror(errno));
    }
  }
  return {};
}

}  // namespace

QueueOrder order_queues(const std::vector<QueueService>& services, const ProcessorSet& own) {
  QueueOrder order;
  order.queues.resize(services.size());
  std::iota(order.queues.begin(), order.queues.end(), 0u);
  std::stable_sort(order.queues.begin(), order.queues.end(), [&](std::uint32_t left, std::uint32_t right) {
    return fit_of(services, left, own) < fit_of(services, right, own);
  });
  order.own = static_cast<std::size_t>(
      std::count_if(order.queues.begin(), order.queues.end(), [&](std::uint32_t queue) { return fit_of(services, queue, own) == Fit::kOwn; }));
  return order;
}

ProcessorSet processors_for(const std::vector<QueueService>& services, std::uint32_t queue, const ProcessorSet& own, std::string& why) {
  ProcessorSet none;
  if (queue >= services.size() || !services[queue].known()) return why = "nothing tells which processors serve it", none;
  const QueueService& service = services[queue];
  const std::string by = service.text() + " serves it on " + print_processor_list(service.processors);
  const ProcessorSet both = service.processors & own;
  if (both.none()) return why = by + ", where this rank may not run", none;
  if (both == own) return why = by + ", which is where this rank runs", none;
  if (const std::uint32_t first = first_of(services, queue); first != queue)
    return why = by + ", where queue " + std::to_string(first) + " is served too", none;
  why = by;
  return both;
}

std::string stay_where_served(const std::vector<QueueService>& services, std::uint32_t queue) {
  std::string why;
  const ProcessorSet own = processors_of(0);
  const ProcessorSet processors = processors_for(services, queue, own, why);
  const bool stays = processors.none();
  if (const Status bound = stays ? Status() : bind_threads(processors); !bound.ok()) return bound.text();
  return why + (stays ? "; it stays on processors " : "; bound to processors ") + print_processor_list(stays ? own : processors);
}

}  // namespace lapwing::net::ether
