// The program of receive in the kernel, loaded, and what this process shares with it: an area for each connection (area.h), and a zone (zone.h). A
// loader has it loaded and lets it see sockets: this process itself where it may, else the service `lapwing accelerator`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "net/kernel/area.h"
#include "net/kernel/loader.h"
#include "net/kernel/notices.h"
#include "net/kernel/zone.h"

namespace lapwing::net::kernel {

class Program {
 public:
  Program() noexcept = default;
  ~Program() { release(); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // For so many connections and bytes of the zone, in two steps; the text of an error says what is missing. The first is short, and finds out what
  // this process may. The second takes tens of milliseconds: the kernel's proof, and the memory of the areas. It runs on any thread while no other
  // uses this object. `service`: where the service is, for a process that may not; empty: without.
  Status prepare(std::uint32_t connections, std::uint64_t zone_bytes, const std::string& service = "");
  Status load();
  // It cannot be used, or is used no more: its memory goes back to the kernel, but for what has been allocated in the zone.
  void release() noexcept;
  bool loaded() const noexcept { return areas_mapped_ != nullptr; }
  std::uint32_t connections() const noexcept { return connections_; }
  ConnectionArea& area(std::uint32_t index) const noexcept;
  // Of all connections; from load() on.
  Notices& notices() noexcept { return notices_; }
  const Notices& notices() const noexcept { return notices_; }
  // From prepare() on until release(); null otherwise.
  const std::shared_ptr<Zone>& zone() const noexcept { return zone_; }
  // By whose rights; from prepare() on.
  std::string by() const { return loader_->by(); }

  // From now on the packets of this socket come past the program, and their frames to this area, which is as new but for its queue. What the
  // socket has received before is unread, or has been read to its end.
  Joining join(std::uint32_t index, int socket);
  // As Loader's.
  Permission answer_by(std::uint32_t index, int socket) { return loader_->answer_by(index, socket); }
  Permission permission(std::uint32_t index) { return loader_->permission(index); }
  // A socket that is closed has left the others by itself, and the program sees none of its packets any more.
  void forget(std::uint32_t index) noexcept { loader_->forget(index); }

 private:
  Status choose_loader(std::uint32_t zone_blocks, const std::string& service);
  Status map_areas();
  std::size_t stride() const noexcept { return (sizeof(ConnectionArea) + 7) & ~std::size_t{7}; }

  std::uint32_t connections_ = 0;
  std::unique_ptr<Loader> loader_;
  std::shared_ptr<Zone> zone_;  // what has been allocated in it may outlive this object
  Notices notices_;
  std::byte* areas_mapped_ = nullptr;
};

}  // namespace lapwing::net::kernel
