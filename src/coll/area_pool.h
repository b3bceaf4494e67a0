// The shared areas of one host, in memory that its ranks share, and how a rank sleeps that waits for a post (shared_area.h).
//
// The memory begins with what concerns all areas (pool_memory.h); the areas follow, first MPI_COMM_WORLD's.
//
// The same flag dance as for rings (net/shm/shm_transport.h), whose `sleeping` HostMemory::notify() looks at; what the other side looks
// at is the stamps:
//
//   waiter   in arm(): says in `watching`, on each area where it waits, for whose post; then raises `sleeping`, fences, and looks at the
//            stamps it waits for; all there, and it does not sleep.
//   poster   publishes its stamp, fences, and looks at the stamps of its round. When all are there it looks for `watching`, and notifies
//            those of them that sleep. Where a rank may wait for this post alone, it looks for those that wait for this rank in any case.
//
// A waiter for all is notified only by posters that see the round complete. There is one: of all that posted, the one whose fence came
// last sees the stamps of all; and its fence came before the waiter's, so that the waiter saw all of them itself, or after it, so that
// it sees `watching` and `sleeping`. So of ranks that arrive one by one only the last notifies.
//
// A member that leaves (SharedArea::leave) publishes that, fences, and notifies all that wait here and sleep, as a root does; and a
// waiter looks for it where it looks at the stamps. A rank that ends (on_close) does the same for all areas at once, also for those
// that it has not opened: it publishes that it has ended, fences, and notifies the ranks of the host that say that they wait at some
// area. So a wait ends, and one that begins later fails, whether or not the two ranks have ever exchanged a message, by which the
// transport would know (on_rank_lost). A process that ends without a word is told of by the transport in any case.
//
// While armed, an application thread that passes by may begin to wait: then watch() does at once what arm() would do.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/measured_copy.h"
#include "coll/pool_memory.h"
#include "coll/shared_area.h"
#include "comm/group.h"
#include "net/host_memory.h"

namespace lapwing::coll {

class AreaPool final : public net::HostMemoryUser {
 public:
  static constexpr unsigned kNone = ~0u;
  static constexpr unsigned kCount = PoolMemory::kAreas;
  static constexpr unsigned kWorld = 0;  // MPI_COMM_WORLD has it for ever
  static constexpr unsigned kMostUsed = kCount / 2;  // where as many have a user, persistent operations get no more

  // ---- for communicators, and for their persistent operations

  // Claims an area that has no user, or kNone. The process that leads the creation of a communicator does this before it tells
  // the others the communicator's context id, by which they find the area.
  unsigned claim(AreaKey key) noexcept;
  // The area that is claimed for `key`, or kNone. A member may ask until it has left the area.
  unsigned find(AreaKey key) noexcept;
  // For members that have not agreed beforehand (those that a communicator has on one of several hosts; those of a persistent operation): the area
  // that is claimed for `key`, or else is now. They ask one after the other, in any order, and all get the same answer, also if it is kNone: a
  // member that finds no area free refuses one to all of them, and to all keys of the same class (a hash), for ever, which costs nothing but time.
  // A key must be theirs alone.
  unsigned find_or_claim(AreaKey key) noexcept;
  // A member of `key` is about to open its end. False: the claimant has given the area back.
  bool take_part(unsigned number, AreaKey key) noexcept;
  // The claimant has not opened its end. True: no member has, and none will.
  bool retire(unsigned number) noexcept;
  // Gives back an area: the last member that leaves, or the claimant after retire().
  void give_back(unsigned number) noexcept;
  // Whether all of these can meet at an area.
  bool all_here(const comm::Group& members) const noexcept;
  bool all_here(const comm::Group& group, const std::vector<int>& ranks) const noexcept;
  // This process's end of an area for these ranks of a group, itself among them; null when not all of them are here.
  std::unique_ptr<SharedArea> open_area(unsigned number, const comm::Group& group, std::vector<int> ranks);

  // ---- for their ends of areas

  // False when the memory is gone: at the end.
  bool open() const noexcept { return memory_ != nullptr; }
  // Until unwatch(), looks for what the area's watcher waits for and calls it once; false when there is nothing to wait for.
  bool watch(SharedArea& area) noexcept;
  void unwatch(SharedArea& area) noexcept;
  // After a post and a full_fence().
  void notify(std::uint32_t local) noexcept { memory_->notify(local); }
  // Direct copies (net/host_memory.h).
  bool reaches(std::uint32_t local) noexcept { return open() && memory_->reaches(local); }
  net::Copied read_from(std::uint32_t local, std::uint64_t address, void* to, std::uint64_t bytes) noexcept {
    return open() ? memory_->read_from(local, address, to, bytes) : net::Copied::kRefused;
  }
  net::Copied write_to(std::uint32_t local, const void* from, std::uint64_t address, std::uint64_t bytes) noexcept {
    return open() ? memory_->write_to(local, from, address, bytes) : net::Copied::kRefused;
  }
  // How posts are best copied into areas and out of them.
  MeasuredCopy& copy_in() noexcept { return copy_in_; }
  MeasuredCopy& copy_out() noexcept { return copy_out_; }
  // The area is about to be destroyed.
  void forget(SharedArea& area) noexcept;

  // ---- net::HostMemoryUser

  std::uint64_t bytes_for(std::uint32_t local_ranks) const noexcept override;
  void on_open(net::HostMemory& memory) noexcept override;
  void on_close() noexcept override;
  void on_rank_lost(std::uint32_t local, const Status& why) noexcept override;
  bool poll() noexcept override;
  void arm() noexcept override;
  void disarm() noexcept override { armed_ = false; }
  bool work_left() noexcept override;

 private:
  struct Lost {
    std::uint32_t local;
    Status why;
  };

  // Before this process may sleep while it waits at `area`.
  void announce(SharedArea& area) noexcept;
  void end_watch(std::size_t index) noexcept;
  void publish_end() noexcept;
  bool is_for(unsigned number, AreaKey key) const noexcept;
  bool has_room_for(AreaKey key) const noexcept;

  net::HostMemory* memory_ = nullptr;
  PoolMemory shared_;
  std::uint32_t own_ = 0;   // this rank's number on the host
  bool announced_ = false;  // to ranks that end
  std::vector<SharedArea*> opened_;
  std::vector<SharedArea*> watched_;
  std::vector<Lost> lost_;
  bool armed_ = false;
  MeasuredCopy copy_in_, copy_out_;
};

}  // namespace lapwing::coll
