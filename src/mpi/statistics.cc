#include "mpi/statistics.h"

#include <cinttypes>
#include <cstdio>

namespace lapwing::mpi {

void print_statistics(Process& process) {
  const engine::EngineCounters& engine = process.engine.counters();
  const p2p::MessengerCounters& messages = process.messenger->counters();
  char text[1024];
  std::snprintf(text, sizeof text,
                "lapwing: rank %d: %" PRIu64 " eager, %" PRIu64 " rendezvous, %" PRIu64 " held-back sends; %" PRIu64
                " unexpected messages (peak %" PRIu64
                " bytes)\n"
                "lapwing: rank %d: %" PRIu64 " bytes received, %" PRIu64
                " bytes moved while the application computed\n"
                "lapwing: rank %d: %" PRIu64 " waits spun, %" PRIu64 " slept; event thread: %" PRIu64
                " wake-ups, %" PRIu64 " useful turns, %" PRIu64 " arm or disarm calls\n",
                process.job.rank(), messages.eager_sends, messages.rendezvous_sends, messages.held_back_sends,
                messages.unexpected_messages, messages.unexpected_bytes_peak, process.job.rank(),
                messages.bytes_received, messages.bytes_overlapped, process.job.rank(), engine.waits_spun,
                engine.waits_slept, engine.event_thread_wakeups, engine.event_thread_turns, engine.arms);
  std::fputs(text, stderr);
}

}  // namespace lapwing::mpi
