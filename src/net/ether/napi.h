// What the kernel tells, since Linux 6.8, of the contexts in which an interface's packets are received (NAPI): which queue belongs to which, and what
// runs it. Asked by generic netlink, in the thread's network namespace; any process may.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lapwing::net::ether {

struct Napi {
  std::uint32_t id = 0;
  std::int32_t interrupt = -1;  // -1: the driver does not tell
  std::int32_t thread = -1;     // process id of the kernel thread that runs it; -1: none, or not told
};

// By receive queue; empty: nothing is told. A driver that does not say which queue has which context has them in the order of the queues.
std::vector<Napi> napis_of_queues(unsigned interface, unsigned queues);

// ---- for tests: what answers consist of -------------------------------------------------------------------------------

struct QueueNapi {
  std::uint32_t queue = 0, napi = 0;
};
// False: it is an answer about something else, or damaged.
bool read_napi(std::span<const std::byte> attributes, Napi& napi) noexcept;
bool read_queue(std::span<const std::byte> attributes, QueueNapi& queue) noexcept;
std::vector<Napi> match_napis(std::vector<Napi> napis, const std::vector<QueueNapi>& queues, unsigned count);

}  // namespace lapwing::net::ether
