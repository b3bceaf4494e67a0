// The tools' interface (MPI 5.0, chapter 15): it can be initialized, and has nothing to show in this version. Its
// functions return codes and never call an error handler.

#include <atomic>

#include "mpi.h"
#include "mpi/implementation.h"
#include "mpi/shim_support.h"

namespace lapwing::mpi {
namespace {
std::atomic<int> initializations{0};

// The answer of every *_get_num: none.
Status none_of_them(int* number) {
  if (initializations.load(std::memory_order_relaxed) == 0) {
    return Status::error(MPI_T_ERR_NOT_INITIALIZED, "MPI_T_init_thread was not called");
  }
  *number = 0;
  return {};
}

}  // namespace

Status t_init_thread(int, int* provided) {
  initializations.fetch_add(1, std::memory_order_relaxed);
  *provided = MPI_THREAD_MULTIPLE;
  return {};
}

Status t_finalize() {
  int count = initializations.load(std::memory_order_relaxed);
  do {
    if (count == 0) return Status::error(MPI_T_ERR_NOT_INITIALIZED, "MPI_T_init_thread was not called");
  } while (!initializations.compare_exchange_weak(count, count - 1, std::memory_order_relaxed));
  return {};
}

Status t_category_get_num(int* num_cat) {
  return none_of_them(num_cat);
}
Status t_cvar_get_num(int* num_cvar) {
  return none_of_them(num_cvar);
}
Status t_event_get_num(int* num_events) {
  return none_of_them(num_events);
}
Status t_pvar_get_num(int* num_pvar) {
  return none_of_them(num_pvar);
}
Status t_source_get_num(int* num_sources) {
  return none_of_them(num_sources);
}

int tool_code(const Status& status) noexcept {
  const int error_class = status.error_class();
  return error_class == MPI_SUCCESS || error_class >= MPI_T_ERR_CANNOT_INIT ? error_class : MPI_T_ERR_INVALID;
}

int lacking_tool_function() noexcept {
  return initializations.load(std::memory_order_relaxed) == 0 ? MPI_T_ERR_NOT_INITIALIZED : MPI_T_ERR_NOT_SUPPORTED;
}

}  // namespace lapwing::mpi
