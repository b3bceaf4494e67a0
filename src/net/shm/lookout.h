// Notices when a process of this host ends without a word: under a launcher that does not end the job then, the others would sleep
// for ever, because memory that is shared says nothing of the processes that wrote it.
//
// The ranks of a host watch in a circle: each the next one that is there, by one descriptor (pidfd) in its event port, which costs
// nothing until it fires. The one that notices an end writes it into the segment and notifies all others; then it watches the one after
// that. So every end is seen by the nearest living rank before it, at a cost per rank that does not depend on their number. (The
// obvious way, each watches all, takes n * n descriptors. A socket that stays open would tell of the end only when no child that
// was forked holds a copy of it.) Ranks in different pid namespaces cannot watch each other and are passed over.
//
// Called with the endpoint's lock held.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/engine.h"
#include "net/shm/process_name.h"
#include "net/shm/segment.h"

namespace lapwing::net::shm {

class Lookout final : public engine::FdHandler {
 public:
  class User {
   public:
    // The segment says now that a rank of the host has ended: wake the others.
    virtual void on_end_noticed() noexcept = 0;

   protected:
    ~User() = default;
  };

  Lookout(engine::Engine& engine, Segment& segment, User& user) noexcept
      : engine_(engine), segment_(segment), user_(user) {}

  // `processes` by local rank.
  void start(std::vector<ProcessName> processes, std::uint32_t own);
  // Says that this rank leaves, which is no end without a word, and watches no other any more.
  void stop() noexcept;

  // True when ends were noted, by any rank, since the last call.
  bool news() noexcept {
    const std::uint32_t count = segment_.ends().load(std::memory_order_acquire);
    return count != known_ends_ && (known_ends_ = count, true);
  }
  bool unheard_news() const noexcept { return segment_.ends().load(std::memory_order_relaxed) != known_ends_; }
  bool has_ended(std::uint32_t local) noexcept {
    return segment_.control(local).presence.load(std::memory_order_relaxed) == kEnded;
  }

 private:
  void on_ready(std::uint32_t events) noexcept override;
  void watch_next() noexcept;
  bool note_end(std::uint32_t local) noexcept;
  void look_away() noexcept;

  engine::Engine& engine_;
  Segment& segment_;
  User& user_;
  std::vector<ProcessName> processes_;
  std::uint32_t own_ = 0, watched_ = 0;
  std::uint32_t known_ends_ = 0;
  OwnedFd end_;  // of watched_
};

}  // namespace lapwing::net::shm
