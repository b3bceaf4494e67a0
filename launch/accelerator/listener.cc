#include "accelerator/listener.h"

#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "net/kernel/local_message.h"

namespace lapwing::launch {
namespace {

using net::bpf::Descriptor;

Status failure(const std::string& path, const char* what) {
  return Status::error(MPI_ERR_OTHER, "%s: %s: %s", path.c_str(), what, std::strerror(errno));
}

// Nothing else is taken away.
Status remove_abandoned(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return {};
  if (!S_ISSOCK(found.st_mode)) return Status::error(MPI_ERR_OTHER, "%s is there, and no socket", path.c_str());
  Descriptor other;
  if (net::kernel::connect_local(path, 1000, other).ok()) return Status::error(MPI_ERR_OTHER, "another accelerator serves at %s", path.c_str());
  if (::unlink(path.c_str()) != 0) return failure(path, "cannot be taken away");
  return {};
}

Status open_to(const std::string& path, const std::string& group) {
  mode_t mode = 0666;
  if (!group.empty()) {
    const struct group* entry = ::getgrnam(group.c_str());
    if (entry == nullptr) return Status::error(MPI_ERR_OTHER, "there is no group %s", group.c_str());
    if (::chown(path.c_str(), static_cast<uid_t>(-1), entry->gr_gid) != 0) return failure(path, "cannot be given to the group");
    mode = 0660;
  }
  return ::chmod(path.c_str(), mode) == 0 ? Status() : failure(path, "cannot be opened to users");
}

}  // namespace

Status listen_at(const std::string& path, const std::string& group, Descriptor& listener) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return Status::error(MPI_ERR_OTHER, "%s is too long for a socket", path.c_str());
  std::copy(path.begin(), path.end(), address.sun_path);
  if (const std::size_t slash = path.rfind('/'); slash != std::string::npos && slash != 0) ::mkdir(path.substr(0, slash).c_str(), 0755);
  LAPWING_TRY(remove_abandoned(path));
  Descriptor made(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.open() || ::bind(made.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return failure(path, "no socket can be made");
  LAPWING_TRY(open_to(path, group));
  if (::listen(made.fd(), SOMAXCONN) != 0) return failure(path, "cannot be listened at");
  listener = std::move(made);
  return {};
}

}  // namespace lapwing::launch
