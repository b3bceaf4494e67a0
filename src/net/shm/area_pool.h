// The areas of one host, in the segment that its ranks share, and how a rank sleeps that waits for a post (net/shared_area.h).
//
// The same flag dance as for rings (shm_transport.h), with the same `sleeping`; what the other side looks at is the stamps:
//
//   waiter   in arm(): raises `watching` on each area where it waits, then `sleeping`, fences, and looks at the stamps it waits
//            for; all there, and it does not sleep.
//   poster   publishes its stamp, fences, and looks at the stamps of its round. When all are there, or somebody may wait for this
//            post alone, it looks for `watching`, and rings those of them that sleep.
//
// A waiter for everybody is rung by those posters only who see the round complete. There is one: of all who posted, the one whose
// fence came last sees the stamps of all; and its fence came before the waiter's, so that the waiter saw all of them itself, or
// after it, so that it sees `watching` and `sleeping`. So ranks that arrive one by one ring nobody, but for the last.
//
// A member that leaves (SharedArea::leave) publishes that, fences, and rings everybody who waits here and sleeps, as a root does; and a
// waiter looks for it where it looks at the stamps.
//
// While armed, an application thread that passes by may begin to wait: then watch() does at once what arm() would do.
#pragma once

#include <memory>
#include <vector>

#include "net/shared_area.h"
#include "net/shm/segment.h"

namespace lapwing::net::shm {

class SegmentAreaPool final : public AreaPool, public AreaHost {
 public:
  class Ringer {
   public:
    // Rings the rank with this number on the host if it sleeps.
    virtual void ring_sleeper(std::uint32_t local) noexcept = 0;

   protected:
    ~Ringer() = default;
  };

  // `local_of`: a rank's number on the host, -1 elsewhere. All must live as long as the pool.
  SegmentAreaPool(Segment& segment, const std::vector<std::int32_t>& local_of, Ringer& ringer) noexcept
      : segment_(segment), local_of_(local_of), ringer_(ringer) {}

  // ---- for the transport

  // Calls those who wait for something that is there.
  bool poll() noexcept;
  void arm() noexcept;  // before `sleeping` is raised
  void disarm() noexcept { armed_ = false; }
  bool work_left() noexcept;
  bool idle() const noexcept { return watched_.empty(); }
  // This rank of the host has gone. Ends the waits for what it has not posted.
  void lose(std::uint32_t local, const Status& why) noexcept;
  // This process takes no further part at any area. While the memory is there.
  void leave() noexcept;

  // ---- net::AreaPool

  unsigned claim(std::uint64_t key) noexcept override;
  unsigned find(std::uint64_t key) noexcept override;
  void give_back(unsigned number) noexcept override;
  bool all_here(const std::vector<PeerId>& members) const noexcept override;
  std::unique_ptr<SharedArea> open_area(unsigned number, const std::vector<PeerId>& members, int rank) override;

  // ---- AreaHost

  bool watch(SharedArea& area) noexcept override;
  void unwatch(SharedArea& area) noexcept override;
  void wake(std::uint32_t local) noexcept override { ringer_.ring_sleeper(local); }
  bool open() const noexcept override { return segment_.mapped(); }
  void forget(SharedArea& area) noexcept override;

 private:
  struct Lost {
    std::uint32_t local;
    Status why;
  };
  void end_watch(std::size_t index) noexcept;

  Segment& segment_;
  const std::vector<std::int32_t>& local_of_;
  Ringer& ringer_;
  std::vector<SharedArea*> opened_;
  std::vector<SharedArea*> watched_;
  std::vector<Lost> lost_;
  bool armed_ = false;
};

}  // namespace lapwing::net::shm
