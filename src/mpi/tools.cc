#include "mpi/tools.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "mpi.h"
#include "mpi/implementation.h"
#include "mpi/shim_support.h"

namespace lapwing::mpi {
namespace {

std::atomic<int> initializations{0};

// The categories. Each has variables of one kind, all of them.
struct Category {
  const char *name, *meaning;
  Status (*count_controls)(int*);
  Status (*count_counters)(int*);
};
Status none(int* number) {
  *number = 0;
  return {};
}
constexpr Category kCategories[] = {
    {"lapwing_settings", "the settings: environment variables LAPWING_*", t_cvar_get_num, none},
    {"lapwing_statistics", "what this process has sent, received and waited for since MPI_Init", none, t_pvar_get_num},
};

Status check_category(int index) {
  LAPWING_TRY(check_tools_running());
  return check_tool_index("category", index, std::size(kCategories));
}

// The indices of the category's variables, of which `count` tells the number: all there are.
Status list(int category, Status (*Category::*count)(int*), int room, int indices[]) {
  LAPWING_TRY(check_category(category));
  int number = 0;
  LAPWING_TRY((kCategories[category].*count)(&number));
  for (int i = 0; i < std::min(number, room); ++i) indices[i] = i;
  return {};
}

}  // namespace

// ---- start and end --------------------------------------------------------------------------------------------------

Status check_tools_running() {
  if (initializations.load(std::memory_order_relaxed) != 0) return {};
  return Status::error(MPI_T_ERR_NOT_INITIALIZED, "MPI_T_init_thread was not called");
}

Status t_init_thread(int, int* provided) {
  initializations.fetch_add(1, std::memory_order_relaxed);
  *provided = MPI_THREAD_MULTIPLE;
  return {};
}

Status t_finalize() {
  int count = initializations.load(std::memory_order_relaxed);
  do {
    if (count == 0) return check_tools_running();
  } while (!initializations.compare_exchange_weak(count, count - 1, std::memory_order_relaxed));
  if (count != 1) return {};
  forget_control_handles();
  forget_performance_handles();
  return {};
}

int tool_code(const Status& status) noexcept {
  const int error_class = status.error_class();
  return error_class == MPI_SUCCESS || error_class >= MPI_T_ERR_CANNOT_INIT ? error_class : MPI_T_ERR_INVALID;
}

int lacking_tool_function() noexcept {
  return initializations.load(std::memory_order_relaxed) == 0 ? MPI_T_ERR_NOT_INITIALIZED : MPI_T_ERR_NOT_SUPPORTED;
}

Status check_tool_index(const char* what, int index, std::size_t count) {
  if (index >= 0 && static_cast<std::size_t>(index) < count) return {};
  return Status::error(MPI_T_ERR_INVALID_INDEX, "there is no %s %d; there are %zu, from 0 on", what, index, count);
}

void give_text(std::string_view text, char* buffer, int* length) noexcept {
  if (length == nullptr) return;
  if (buffer != nullptr && *length > 0) {
    const std::size_t copied = std::min(text.size(), static_cast<std::size_t>(*length) - 1);
    std::memcpy(buffer, text.data(), copied);
    buffer[copied] = '\0';
  }
  *length = static_cast<int>(text.size()) + 1;
}

// ---- categories -----------------------------------------------------------------------------------------------------

Status t_category_get_num(int* num_cat) {
  LAPWING_TRY(check_tools_running());
  *num_cat = static_cast<int>(std::size(kCategories));
  return {};
}

// They are always the same.
Status t_category_changed(int* update_number) {
  LAPWING_TRY(check_tools_running());
  *update_number = 0;
  return {};
}

Status t_category_get_index(const char* name, int* cat_index) {
  LAPWING_TRY(check_tools_running());
  for (std::size_t i = 0; i < std::size(kCategories); ++i) {
    if (std::strcmp(kCategories[i].name, name) == 0) return *cat_index = static_cast<int>(i), Status();
  }
  return Status::error(MPI_T_ERR_INVALID_NAME, "there is no category '%s'", name);
}

Status t_category_get_info(int cat_index, char* name, int* name_len, char* desc, int* desc_len, int* num_cvars, int* num_pvars, int* num_categories) {
  LAPWING_TRY(check_category(cat_index));
  const Category& category = kCategories[cat_index];
  give_text(category.name, name, name_len);
  give_text(category.meaning, desc, desc_len);
  int controls = 0, counters = 0;
  LAPWING_TRY(category.count_controls(&controls));
  LAPWING_TRY(category.count_counters(&counters));
  give(controls, num_cvars);
  give(counters, num_pvars);
  give(0, num_categories);
  return {};
}

Status t_category_get_cvars(int cat_index, int len, int indices[]) {
  return list(cat_index, &Category::count_controls, len, indices);
}
Status t_category_get_pvars(int cat_index, int len, int indices[]) {
  return list(cat_index, &Category::count_counters, len, indices);
}
Status t_category_get_categories(int cat_index, int, int[]) {
  return check_category(cat_index);
}
Status t_category_get_events(int cat_index, int, int[]) {
  return check_category(cat_index);
}
Status t_category_get_num_events(int cat_index, int* num_events) {
  LAPWING_TRY(check_category(cat_index));
  return none(num_events);
}

// ---- what there is none of ------------------------------------------------------------------------------------------

Status t_event_get_num(int* num_events) {
  LAPWING_TRY(check_tools_running());
  return none(num_events);
}
Status t_source_get_num(int* num_sources) {
  LAPWING_TRY(check_tools_running());
  return none(num_sources);
}

Status t_enum_get_info(MPI_T_enum, int*, char*, int*) {
  LAPWING_TRY(check_tools_running());
  return Status::error(MPI_T_ERR_INVALID_HANDLE, "no variable has an enumeration");
}
Status t_enum_get_item(MPI_T_enum enumtype, int, int*, char*, int*) {
  return t_enum_get_info(enumtype, nullptr, nullptr, nullptr);
}

}  // namespace lapwing::mpi
