// The functions of include/lapwing.h.
#include "../../include/lapwing.h"

#include "mpi/handles.h"

using lapwing::process::Process;

extern "C" __attribute__((visibility("default"))) int LAPWING_Get_progress(LAPWING_Progress* progress) {
  Process* process = lapwing::process::process_or_null();
  if (process == nullptr || progress == nullptr) return MPI_ERR_OTHER;
  lapwing::engine::Visit visit(process->engine);
  const auto& engine = process->engine.counters();
  const auto& messages = process->messenger->counters();
  *progress = {messages.bytes_moved, messages.bytes_overlapped, engine.waits_spun, engine.waits_slept,
               engine.event_thread_wakeups};
  return MPI_SUCCESS;
}
