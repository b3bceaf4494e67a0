#include "base/no_resource.h"

#include <cerrno>
#include <cstring>

namespace lapwing {
namespace {

// Calls that open descriptors and start threads need no privilege: only a filter answers so.
bool is_filtered(int error) noexcept {
  return error == EPERM || error == EACCES || error == ENOSYS;
}

Status refused(const char* attempt, const char* what, int error, const char* remedy, const char* otherwise) {
  if (is_filtered(error))
    return Status::error(MPI_ERR_OTHER, "%s %s: %s; a filter of system calls (seccomp, of a container or a service) forbids it%s", attempt, what,
                         std::strerror(error), otherwise);
  return Status::error(MPI_ERR_NO_MEM, "%s %s: %s%s%s", attempt, what, std::strerror(error), remedy, otherwise);
}

}  // namespace

Status no_descriptor(const char* what, int error) {
  const char* of_process = error == EMFILE ? "; raise the limit of open files (ulimit -n)" : "";
  return refused("cannot open", what, error, error == ENFILE ? "; raise the system's limit of open files (fs.file-max)" : of_process, "");
}

Status no_thread(const char* what, int error, const char* otherwise) {
  return refused("cannot start", what, error, error == EAGAIN ? "; raise the limit of processes (ulimit -u)" : "", otherwise);
}

}  // namespace lapwing
