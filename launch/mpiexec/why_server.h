// The door at which `lapwing why` knocks: a local socket with an abstract name, open to processes of the same user (and root) only.
//
// A client says nothing; it gets the text and then the end of the stream. The name ends in random digits, so that no other process can
// take it first; `lapwing why` finds it in /proc/net/unix. Without one (no socket to be had) the job runs all the same. On the event
// loop's thread; a client that does not read costs a descriptor until it goes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "mpiexec/event_loop.h"

namespace lapwing::launch {

// The name is this, the process id of mpiexec, '-', and random digits.
inline constexpr const char* kWhySocket = "lapwing-mpiexec-";

class WhyServer {
 public:
  using Answer = std::function<void(const std::string& text)>;
  // `asked` is called for each client; it calls the Answer when it has the text.
  WhyServer(EventLoop& loop, std::function<void(Answer)> asked);
  ~WhyServer();
  WhyServer(const WhyServer&) = delete;
  WhyServer& operator=(const WhyServer&) = delete;

 private:
  struct Client {
    int fd = -1;
    std::string text;
    std::size_t sent = 0;
    bool answered = false;
  };
  static constexpr std::size_t kMostClients = 16;

  void accept_client();
  void answer(std::uint64_t id, const std::string& text);
  void on_event(std::uint64_t id, std::uint32_t events);
  void drop(std::uint64_t id);

  EventLoop& loop_;
  std::function<void(Answer)> asked_;
  int fd_ = -1;
  std::map<std::uint64_t, Client> clients_;
  std::uint64_t next_id_ = 0;
};

}  // namespace lapwing::launch
