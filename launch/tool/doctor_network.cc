// Sockets, ports and interfaces.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/settings.h"
#include "machine.h"
#include "net/tcp/congestion_control.h"
#include "net/tcp/interfaces.h"
#include "runtime/key_file.h"
#include "tool/doctor.h"
#include "tool/receive_way.h"

extern char** environ;

namespace lapwing::launch {
namespace {

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

// Listens on a port of the system's choice, connects to it and sends a byte. Null, or the step that failed.
const char* try_loopback() {
  const Socket listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (listener.fd() < 0) return "socket";
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener.fd(), generic, sizeof address) != 0) return "bind";
  if (::listen(listener.fd(), 1) != 0) return "listen";
  if (::getsockname(listener.fd(), generic, &length) != 0) return "getsockname";
  const Socket client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (client.fd() < 0) return "socket";
  if (::connect(client.fd(), generic, sizeof address) != 0) return "connect";
  const Socket server(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  if (server.fd() < 0) return "accept";
  char byte = 'x';
  if (::send(client.fd(), &byte, 1, MSG_NOSIGNAL) != 1) return "send";
  if (::recv(server.fd(), &byte, 1, 0) != 1) return "receive";
  return nullptr;
}

}  // namespace

Finding check_loopback() {
  if (const char* step = try_loopback()) {
    return {Verdict::kError, "loopback TCP", std::string(step) + " fails: " + std::strerror(errno),
            "bring the interface up (ip link set lo up) and let the firewall pass 127.0.0.1"};
  }
  return {Verdict::kOk, "loopback TCP", "a connection to 127.0.0.1 works", ""};
}

Finding check_port_range() {
  const std::string text = read_small_file("/proc/sys/net/ipv4/ip_local_port_range");
  int first = 0;
  int last = 0;
  if (std::sscanf(text.c_str(), "%d %d", &first, &last) != 2) return {Verdict::kOk, "ports", "range unknown", ""};
  const std::string fact = "the system gives ports " + std::to_string(first) + " to " + std::to_string(last);
  if (last - first >= 1000) return {Verdict::kOk, "ports", fact, ""};
  return {Verdict::kWarning, "ports", fact,
          "few for many ranks: widen net.ipv4.ip_local_port_range, or set LAPWING_TCP_PORTS"};
}

Finding check_local_sockets() {
  const Socket listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A leading NUL makes the name abstract: nothing appears in the file system.
  const int written = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "lapwing-doctor-%d",
                                    static_cast<int>(::getpid()));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(written));
  if (listener.fd() < 0 || ::bind(listener.fd(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
    return {Verdict::kError, "local sockets", std::string("abstract Unix sockets fail: ") + std::strerror(errno),
            "ranks of one host need them to share memory; without them use LAPWING_TRANSPORTS=tcp"};
  }
  return {Verdict::kOk, "local sockets", "abstract Unix sockets work", ""};
}

// The same choice as a rank makes for the addresses it tells its peers.
Finding check_interfaces() {
  Settings settings;
  [[maybe_unused]] const Status reported_by_check_settings = settings.load(environ);
  std::vector<net::tcp::Interface> usable;
  const Status status = net::tcp::usable_interfaces(net::tcp::list_interfaces(), settings.tcp_interface, usable);
  if (!status.ok()) return {Verdict::kError, "interfaces", status.text(), "correct LAPWING_TCP_INTERFACE"};
  if (usable.empty()) return {Verdict::kOk, "interfaces", "none but loopback: jobs on this host only", ""};
  std::string list;
  for (const net::tcp::Interface& entry : usable) {
    list += (list.empty() ? "" : ", ") + entry.name + " " + entry.address.text_without_port();
  }
  return {Verdict::kOk, "interfaces", "other hosts would use " + list, ""};
}

// BBR paces: what that costs grows with the network's speed, and on a slow or lossy one it may be the better choice.
Finding check_congestion_control() {
  Settings settings;
  [[maybe_unused]] const Status reported_by_check_settings = settings.load(environ);
  const Status status = net::tcp::check_congestion_control(settings.tcp_congestion);
  if (!status.ok()) return {Verdict::kError, "congestion", status.text(), "correct LAPWING_TCP_CONGESTION, or unset it"};
  const bool by_user = !settings.tcp_congestion.empty();
  const std::string systems = read_small_file("/proc/sys/net/ipv4/tcp_congestion_control");
  const std::string name = by_user ? settings.tcp_congestion : systems.substr(0, systems.find('\n'));
  const std::string fact = "connections to other hosts use " + name + (by_user ? " (LAPWING_TCP_CONGESTION)" : " (net.ipv4.tcp_congestion_control)");
  if (name != "bbr") return {Verdict::kOk, "congestion", fact, ""};
  return {Verdict::kOk, "congestion", fact, "it paces long messages: on a network of more than 10 Gbit/s compare LAPWING_TCP_CONGESTION=cubic, or reno"};
}

// Of a job that is started here.
Finding check_protection() {
  Settings settings;
  [[maybe_unused]] const Status reported_by_check_settings = settings.load(environ);
  std::string key;
  const Status status = runtime::read_key_file(settings.key_file, key);
  if (!status.ok()) return {Verdict::kError, "protection", status.text(), "correct it, or unset LAPWING_KEY_FILE"};
  const std::string path = runtime::key_file_path(settings.key_file);
  return {Verdict::kOk, "protection",
          "frames over TCP are " + std::string(name_of(settings.wire)) + " (LAPWING_WIRE); a connection needs the job's secret" +
              (key.empty() ? ", and no key file is in use" : " and the key file " + path),
          ""};
}

// Loads the program as a rank would, and tries it out.
Finding check_receive() {
  Settings settings;
  [[maybe_unused]] const Status reported_by_check_settings = settings.load(environ);
  const ReceiveWay way = find_receive_way(settings, true);
  const std::string fact = "messages over TCP are matched " + describe(way, settings);
  if (way.kernel.ok() || settings.receive == Receive::kUser) return {Verdict::kOk, "receive", fact, way.remedy};
  return {settings.receive == Receive::kKernel ? Verdict::kError : Verdict::kWarning, "receive", fact, way.remedy};
}

}  // namespace lapwing::launch
