// The program of receive in the kernel, loaded, with its maps (net/bpf/bpf.h). Needs CAP_BPF and CAP_NET_ADMIN.
//
//   areas      array, a ConnectionArea each; mapped into this process. Pinned memory of the kernel's: 1.2 MiB each
//   indices    hash: a socket's cookie to its index in `areas`
//   zone       memory of this rank that payloads are put into (zone.h)
//   sockets    those whose packets the program sees
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"
#include "net/bpf/bpf.h"
#include "net/kernel/area.h"
#include "net/kernel/zone.h"

namespace lapwing::net::kernel {

using bpf::Descriptor;

class Program {
 public:
  Program() noexcept = default;
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Whether this library was built with it.
  static bool built() noexcept;

  // For so many connections and bytes of the zone, in two steps; the text of an error says what is missing. The first is short, and finds out what this process may. The
  // second takes tens of milliseconds: the kernel's proof, and the memory of the areas. It runs on any thread while no other uses this object.
  Status prepare(std::uint32_t connections, std::uint64_t zone_bytes);
  Status load();
  bool loaded() const noexcept { return areas_mapped_ != nullptr; }
  std::uint32_t connections() const noexcept { return connections_; }
  ConnectionArea& area(std::uint32_t index) const noexcept;
  // From prepare() on; null before.
  const std::shared_ptr<Zone>& zone() const noexcept { return zone_; }

  // From now on the packets of this socket come past the program, and their frames to this area, which is as new but for its queue. What the
  // socket has received before is unread, or has been read to its end.
  Status join(std::uint32_t index, int socket);
  // A socket that is closed has left the others by itself, and the program sees none of its packets any more.
  void forget(std::uint32_t index) noexcept;

 private:
  Status load_instructions();
  Status map_areas();
  std::size_t stride() const noexcept { return (sizeof(ConnectionArea) + 7) & ~std::size_t{7}; }

  std::uint32_t connections_ = 0;
  Descriptor areas_, indices_, sockets_, program_;
  std::shared_ptr<Zone> zone_;  // what has been allocated in it may outlive this object
  std::byte* areas_mapped_ = nullptr;
  std::unique_ptr<std::uint64_t[]> cookies_;  // of the sockets that have joined
};

}  // namespace lapwing::net::kernel
