// Long messages between the ranks of one host, and the path that each takes: which rank copies from which memory, and what is measured.
//
// As a receiver this rank owns, for each peer, the choice of the path (path_selection.h), for which it measures every long message, and a
// queue of pulls: messages that it copies from the peer's memory, alone or shared with the sender (shared_pull.h), one after the other. As
// a sender it reads what the peer has chosen from the words that the two share (PullWords::paths, four bits for each class of sizes),
// and helps while a message is open. No system call is made beside the copies themselves.
//
// The time of a message runs at the receiver: from the moment when both sides are ready, which is when the later one of the message's header
// and its receive has come, until the last byte has landed (path_clock.h). So it holds what else the two ranks have to copy meanwhile, as in an
// exchange, and not how late a program calls.
#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include "base/memory_order.h"
#include "base/settings.h"
#include "base/tuning.h"
#include "engine/engine.h"
#include "net/shm/invitation.h"
#include "net/shm/path_selection.h"
#include "net/shm/shared_pull.h"
#include "net/shm/single_copy.h"
#include "net/transport.h"

namespace lapwing::net::shm {

class Pulls {
 public:
  Pulls(engine::Engine& engine, Choice single_copy) noexcept : engine_(engine), choice_(single_copy) {}

  void set_ranks(std::uint32_t local_ranks) {
    local_ranks_ = local_ranks;
    pairs_ = std::make_unique<Pair[]>(local_ranks);
  }
  // What this rank shares with the rank of that local number: the words of messages from it, and of messages to it.
  // `rank` is the peer's in the job, for messages.
  void attach(std::uint32_t local, std::uint32_t rank, const Invitation& invitation, PullWords& in, PullWords& out);
  // Whether the peer's memory can be read: tried once, when it is asked for first.
  bool may_pull(std::uint32_t local) noexcept { return access_to(pairs_[local]); }

  // As a sender: whether the peer has chosen to pull messages of so many bytes.
  bool asked_of(std::uint32_t local, std::uint64_t bytes) const noexcept {
    return bytes > tuning().shm_least_pull && path_in(load_relaxed(pairs_[local].out->paths), bytes) != Path::kRing;
  }
  // The same of a message that is about to be sent: true when it is to be offered.
  bool offers(std::uint32_t local, std::uint64_t bytes) noexcept;

  // As a receiver.
  PullOp::End pull(std::uint32_t local, PullOp& op) noexcept;
  // A message has come through the ring, all but `before` of its bytes since `began`.
  void came_in_frames(std::uint32_t local, std::uint64_t bytes, std::uint64_t before, std::int64_t began);
  // The peer is gone: its pulls end.
  void end(std::uint32_t local, const Status& why) noexcept;

  // Whether poll() is worth a call.
  bool active() const noexcept { return !pulling_.empty() || !offering_.empty(); }
  // A piece of each message that is under way. True when something was copied.
  bool poll() noexcept;
  // Whether poll() has something to do that no other process does if it does not.
  bool work_left() const noexcept { return !pulling_.empty(); }

  PathCounters counters() const noexcept;
  // System calls.
  std::uint64_t calls() const noexcept { return calls_ + single_copy_.calls(); }

 private:
  enum class Access : std::uint8_t { kUnknown, kGranted, kRefused };

  struct Pair {
    std::uint32_t rank = 0;
    pid_t pid = 0;
    std::uint64_t probe_address = 0, probe_value = 0;
    Access access = Access::kUnknown;
    PullWords* in = nullptr;
    PullWords* out = nullptr;

    std::unique_ptr<PathSelection> selection;  // from the first long message on
    IntrusiveList<PullOp, PullTag> queue;               // not empty: in pulling_
    PullTaker taker;
    bool open = false;  // the first of `queue` is shared

    PullHelper helper;
    bool offering = false;    // in offering_
    unsigned idle_looks = 0;  // since there was a piece to help with
  };

  bool access_to(Pair& pair) noexcept;
  PathSelection& selection_of(Pair& pair);
  bool copy_piece(Pair& pair, PullOp& op) noexcept;
  bool copy_shared(Pair& pair, PullOp& op) noexcept;
  bool read(Pair& pair, PullOp& op, std::uint64_t offset, std::uint64_t bytes) noexcept;
  static PullOp::End state_of(const Pair& pair, const PullOp& op) noexcept;
  void take_out(Pair& pair, PullOp& op, PullOp::End end) noexcept;
  bool pull_some(Pair& pair) noexcept;
  bool help(Pair& pair) noexcept;
  void note(Pair& pair, Path path, std::uint64_t bytes, std::uint64_t unseen, std::int64_t began);
  void publish(Pair& pair) noexcept;
  void tell(const Pair& pair, unsigned size_class, Path before) const;

  engine::Engine& engine_;
  Choice choice_;
  SingleCopy single_copy_;
  std::uint64_t calls_ = 0;  // for other ranks
  std::uint32_t local_ranks_ = 0;
  std::unique_ptr<Pair[]> pairs_;  // by local number
  std::vector<Pair*> pulling_;     // with messages that this rank pulls
  std::vector<Pair*> offering_;    // that may pull a message of this rank
};

}  // namespace lapwing::net::shm
