// Control variables (MPI 5.0, section 15.3.6): the settings, by the names of their environment variables, as texts. They are read when MPI starts,
// so a tool may write them before that, and reads afterwards what holds. All processes must be given the same.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/settings.h"
#include "mpi/handles.h"
#include "mpi/implementation.h"
#include "mpi/tools.h"
#include "process/models.h"
#include "process/start_and_end.h"

namespace lapwing::mpi {
namespace {

constexpr int kTextBytes = 4096;  // of a value, with its end

struct ControlHandle {
  std::size_t index;
};

std::mutex mutex;  // guards handles, and the environment among tools
ToolObjects<MPI_T_cvar_handle, ControlHandle> handles;

// Before MPI has started: those with which it would.
std::vector<SettingDescription> settings_now() {
  const std::lock_guard process_stays(process::end_mutex());
  if (const Process* process = process_or_null()) return process->settings.describe();
  Settings settings;
  [[maybe_unused]] const Status told_by_mpi_init = settings.load(environ);
  return settings.describe();
}

Status check_handle(MPI_T_cvar_handle handle, std::size_t& index) {
  LAPWING_TRY(check_tools_running());
  const ControlHandle* found = handles.find(handle);
  if (found == nullptr) return Status::error(MPI_T_ERR_INVALID_HANDLE, "this is no handle of a control variable");
  index = found->index;
  return {};
}

}  // namespace

void forget_control_handles() {
  const std::lock_guard guard(mutex);
  handles.clear();
}

Status t_cvar_get_num(int* num_cvar) {
  LAPWING_TRY(check_tools_running());
  *num_cvar = static_cast<int>(settings_now().size());
  return {};
}

Status t_cvar_get_index(const char* name, int* cvar_index) {
  LAPWING_TRY(check_tools_running());
  const std::vector<SettingDescription> settings = settings_now();
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (settings[i].name == name) return *cvar_index = static_cast<int>(i), Status();
  }
  return Status::error(MPI_T_ERR_INVALID_NAME, "there is no control variable '%s'; `lapwing info --settings` lists them", name);
}

Status t_cvar_get_info(int cvar_index, char* name, int* name_len, int* verbosity, MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc,
                       int* desc_len, int* bind, int* scope) {
  LAPWING_TRY(check_tools_running());
  const std::vector<SettingDescription> settings = settings_now();
  LAPWING_TRY(check_tool_index("control variable", cvar_index, settings.size()));
  const SettingDescription& setting = settings[static_cast<std::size_t>(cvar_index)];
  give_text(setting.name, name, name_len);
  give_text(setting.meaning + " (" + setting.unit + "; default " + (setting.default_text.empty() ? "empty" : setting.default_text) + ")", desc, desc_len);
  give(MPI_T_VERBOSITY_USER_BASIC, verbosity);
  give(MPI_CHAR, datatype);
  give(MPI_T_ENUM_NULL, enumtype);
  give(MPI_T_BIND_NO_OBJECT, bind);
  give(MPI_T_SCOPE_ALL_EQ, scope);
  return {};
}

Status t_cvar_handle_alloc(int cvar_index, void*, MPI_T_cvar_handle* handle, int* count) {
  LAPWING_TRY(check_tools_running());
  LAPWING_TRY(check_tool_index("control variable", cvar_index, settings_now().size()));
  const std::lock_guard guard(mutex);
  *handle = handles.add({static_cast<std::size_t>(cvar_index)});
  *count = kTextBytes;
  return {};
}

Status t_cvar_handle_free(MPI_T_cvar_handle* handle) {
  const std::lock_guard guard(mutex);
  std::size_t index = 0;
  LAPWING_TRY(check_handle(*handle, index));
  handles.remove(*handle);
  *handle = MPI_T_CVAR_HANDLE_NULL;
  return {};
}

Status t_cvar_read(MPI_T_cvar_handle handle, void* buf) {
  const std::lock_guard guard(mutex);
  std::size_t index = 0;
  LAPWING_TRY(check_handle(handle, index));
  int room = kTextBytes;
  give_text(settings_now()[index].value_text, static_cast<char*>(buf), &room);
  return {};
}

Status t_cvar_write(MPI_T_cvar_handle handle, const void* buf) {
  const std::lock_guard guard(mutex);
  std::size_t index = 0;
  LAPWING_TRY(check_handle(handle, index));
  if (process_or_null() != nullptr || process::world_state() != process::WorldState::kNotInitialized)
    return Status::error(MPI_T_ERR_CVAR_SET_NOT_NOW, "settings hold from the start of MPI on: write them before MPI_Init or MPI_Session_init");
  const std::string name = settings_now()[index].name;
  const auto* text = static_cast<const char*>(buf);
  const std::string value(text, strnlen(text, kTextBytes));
  std::string line = name + "=" + value;
  char* environment[] = {line.data(), nullptr};
  Settings trial;
  if (const Status read = trial.load(environment); !read.ok()) return Status::error(MPI_T_ERR_INVALID, "%s", read.text());
  if (setenv(name.c_str(), value.c_str(), 1) != 0) return Status::error(MPI_T_ERR_MEMORY, "there is no memory for the environment");
  return {};
}

}  // namespace lapwing::mpi
