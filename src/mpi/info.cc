// MPI 5.0, chapter 10: info objects, MPI_INFO_ENV, and the deprecated readers.
#include "comm/info.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/read_file.h"
#include "mpi/handle_numbers.h"
#include "mpi/handles.h"
#include "mpi/implementation.h"
#include "runtime/launcher_search.h"

namespace lapwing::mpi {

namespace {

// A value that is too long for an info object is cut; no program should fail to start because of it.
void set_if_known(comm::Info& info, const char* key, const std::string& value) {
  if (!value.empty()) (void)info.set(key, value.substr(0, MPI_MAX_INFO_VAL - 1)).ok();
}

void set_command(comm::Info& info, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return;
  set_if_known(info, "command", arguments[0]);
  std::string rest;
  for (std::size_t i = 1; i < arguments.size(); ++i) rest += (i > 1 ? " " : "") + arguments[i];
  set_if_known(info, "argv", rest);
}

std::vector<std::string> own_arguments() {
  const std::string all = read_file("/proc/self/cmdline");
  std::vector<std::string> arguments;
  for (std::size_t begin = 0; begin < all.size();) {
    arguments.emplace_back(all.c_str() + begin);
    begin += arguments.back().size() + 1;
  }
  return arguments;
}

// Looked up when the library is loaded: MPI_Finalize closes the connection that tells it.
const bool started_by_mpiexec = runtime::served_by_mpiexec(::environ);

// Everything here is known from the start of the program to its end: what MPI_Info_create_env gives is to be the same
// before, while and after MPI runs. (The thread level would be one that was asked for before the program started: none
// was.)
void set_surroundings(comm::Info& info) {
  const char* of_program = started_by_mpiexec ? std::getenv("LAPWING_INTERNAL_PROGRAM_RANKS") : nullptr;
  const char* processes = of_program != nullptr ? of_program : std::getenv("PMI_SIZE");
  set_if_known(info, "maxprocs", processes != nullptr ? processes : "1");
  utsname system;
  if (uname(&system) == 0) {
    set_if_known(info, "host", system.nodename);
    set_if_known(info, "arch", system.machine);
  }
  if (char* folder = getcwd(nullptr, 0)) {
    set_if_known(info, "wdir", folder);
    std::free(folder);
  }
}

// MPI_INFO_ENV: made when first asked for.
comm::Info& environment_info() {
  static comm::Info* info = [] {
    comm::Info* made = comm::Info::make();
    set_command(*made, own_arguments());
    set_surroundings(*made);
    return made;
  }();
  return *info;
}

Status check_writable(MPI_Info info) {
  if (info != MPI_INFO_ENV) return {};
  return Status::error(MPI_ERR_INFO, "MPI_INFO_ENV can only be read; MPI_Info_dup gives a copy that can be changed");
}

// At most `capacity` characters and a zero.
void copy_text(const std::string& text, char* destination, std::size_t capacity) {
  destination[text.copy(destination, capacity)] = '\0';
}

}  // namespace

comm::Info* resolve(MPI_Info handle) noexcept {
  if (handle == MPI_INFO_ENV) return &environment_info();
  if (is_predefined(handle)) return nullptr;
  auto* info = reinterpret_cast<comm::Info*>(handle);
  return info->kind() == ObjectKind::kInfo ? info : nullptr;
}

Status info_create(MPI_Info* info) {
  *info = handle_of(comm::Info::make());
  return {};
}

Status info_create_env(int argc, char* argv[], MPI_Info* info) {
  comm::Info* made = comm::Info::make();
  std::vector<std::string> arguments;
  for (int i = 0; argv != nullptr && i < argc && argv[i] != nullptr; ++i) arguments.emplace_back(argv[i]);
  set_command(*made, arguments.empty() ? own_arguments() : arguments);
  set_surroundings(*made);
  *info = handle_of(made);
  return {};
}

Status info_dup(MPI_Info info, MPI_Info* newinfo) {
  *newinfo = handle_of(resolve(info)->duplicate());
  return {};
}

Status info_free(MPI_Info* info) {
  LAPWING_TRY(check_writable(*info));
  forget_handle_number(*resolve(*info));
  comm::Info::drop(resolve(*info));
  *info = MPI_INFO_NULL;
  return {};
}

Status info_set(MPI_Info info, const char* key, const char* value) {
  LAPWING_TRY(check_writable(info));
  return resolve(info)->set(key, value);
}

Status info_delete(MPI_Info info, const char* key) {
  LAPWING_TRY(check_writable(info));
  return resolve(info)->remove(key);
}

Status info_get_nkeys(MPI_Info info, int* nkeys) {
  *nkeys = resolve(info)->size();
  return {};
}

Status info_get_nthkey(MPI_Info info, int n, char* key) {
  std::string text;
  LAPWING_TRY(resolve(info)->nth_key(n, text));
  copy_text(text, key, MPI_MAX_INFO_KEY - 1);
  return {};
}

Status info_get_string(MPI_Info info, const char* key, int* buflen, char* value, int* flag) {
  LAPWING_TRY(comm::Info::check_key(key));
  std::string text;
  *flag = resolve(info)->get(key, text);
  if (*flag == 0) return {};
  if (*buflen > 0 && value == nullptr)
    return Status::error(MPI_ERR_ARG, "value is a null pointer, but buflen says that it has room for %d characters",
                         *buflen);
  if (*buflen > 0) copy_text(text, value, static_cast<std::size_t>(*buflen) - 1);
  *buflen = static_cast<int>(text.size()) + 1;
  return {};
}

Status info_get(MPI_Info info, const char* key, int valuelen, char* value, int* flag) {
  LAPWING_TRY(comm::Info::check_key(key));
  if (valuelen < 0) return Status::error(MPI_ERR_ARG, "valuelen is %d; it cannot be negative", valuelen);
  std::string text;
  *flag = resolve(info)->get(key, text);
  if (*flag != 0) copy_text(text, value, static_cast<std::size_t>(valuelen));
  return {};
}

Status info_get_valuelen(MPI_Info info, const char* key, int* valuelen, int* flag) {
  LAPWING_TRY(comm::Info::check_key(key));
  std::string text;
  *flag = resolve(info)->get(key, text);
  if (*flag != 0) *valuelen = static_cast<int>(text.size());
  return {};
}

}  // namespace lapwing::mpi
