#include "process/blame.h"

#include "process/process.h"

namespace lapwing::process {

// Every function that fails because of a loss passes on what was found first, with its own words around it. Errors of other classes may come from a
// callback of the program that runs with the lock held.
runtime::Blame blame_for(int error_class, std::string_view text) noexcept {
  runtime::Blame blame;
  Process* process = process_or_null();
  if (process == nullptr || (error_class != MPI_ERR_PROC_ABORTED && error_class != MPI_ERR_IN_STATUS)) return blame;
  const engine::Visit visit(process->engine);
  process->messenger->for_each_failed([&](ProcessId lost, const Status& why) {
    if (blame.rank >= 0 || !process->table.is_own_job(lost) || text.find(why.text()) == std::string_view::npos) return;
    blame = {static_cast<int>(lost.index), process->messenger->source_of_loss(lost) != lost};
  });
  return blame;
}

}  // namespace lapwing::process
