#include "net/tcp/congestion_control.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lapwing::net::tcp {

const std::string& congestion_control_of_loopback() noexcept {
  static const std::string kName = "reno";
  return kName;
}

std::string congestion_control_of_machine() {
  const std::string better = "cubic";
  return check_congestion_control(better).ok() ? better : congestion_control_of_loopback();
}

int set_congestion_control(int fd, const std::string& name) noexcept {
  if (name.empty()) return 0;
  return setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), static_cast<socklen_t>(name.size())) == 0 ? 0 : errno;
}

Status check_congestion_control(const std::string& name) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return {};  // listening says what is wrong
  const int error = set_congestion_control(fd, name);
  ::close(fd);
  switch (error) {
    case 0:
      return {};
    case ENOENT:
      return Status::error(MPI_ERR_ARG, "LAPWING_TCP_CONGESTION names \"%s\", which this kernel does not have: see net.ipv4.tcp_available_congestion_control",
                           name.c_str());
    case EPERM:
      return Status::error(MPI_ERR_ARG, "LAPWING_TCP_CONGESTION names \"%s\", which only root may choose here: see net.ipv4.tcp_allowed_congestion_control",
                           name.c_str());
    default:
      return Status::error(MPI_ERR_ARG, "LAPWING_TCP_CONGESTION names \"%s\", which the kernel refuses: %s", name.c_str(), std::strerror(error));
  }
}

}  // namespace lapwing::net::tcp
