// Long messages between the ranks of one host, and the path that each takes: which rank copies from which memory, and what is measured.
//
// As a receiver this rank owns, for each peer, the choice of the path (path_selection.h), for which it measures every long message, and a
// queue of pulls: messages that it copies from the peer's memory, alone or shared with the sender (shared_pull.h), one after the other. As
// a sender it reads what the peer has chosen from the words that the two share (PullWords::paths, four bits for each class of sizes),
// and helps while a message is open. No system call is made beside the copies themselves.
//
// Where messages of one class go both ways, as in an exchange, the two ranks copy for both directions at the same time, so what one direction gains
// by a path depends on the path of the other: two receivers that decide alone try a path at different times, each beside the other's usual one, and
// seldom see what it would bring. There the rank with the lower local number decides for both directions, and says so in its word (kBothWays): by
// the time from when it has sent a message until the next one has come, so that it sees what both take, at once in an exchange or one after the
// other in a ping-pong. It counts what goes to and fro, and gives the choice back when the counts differ by more than a factor of four.
//
// The time of a message runs at the receiver: from the moment when both sides are ready, which is when the later one of the message's header
// and its receive has come, until the last byte has landed (path_clock.h). So it holds what else the two ranks have to copy meanwhile, as in an
// exchange, and not how late a program calls.
#pragma once

#include <sys/types.h>

#include <array>
#include <memory>
#include <vector>

#include "base/memory_order.h"
#include "base/settings.h"
#include "base/tuning.h"
#include "engine/engine.h"
#include "net/host_memory.h"
#include "net/shm/invitation.h"
#include "net/shm/path_selection.h"
#include "net/shm/shared_pull.h"
#include "net/shm/single_copy.h"
#include "net/transport.h"

namespace lapwing::net::shm {

class Pulls {
  struct Pair;

 public:
  Pulls(engine::Engine& engine, Choice single_copy) noexcept : engine_(engine), choice_(single_copy) {}

  void set_ranks(std::uint32_t local_ranks, std::uint32_t my_local) {
    local_ranks_ = local_ranks;
    my_local_ = my_local;
    pairs_ = std::make_unique<Pair[]>(local_ranks);
  }
  // What this rank shares with the rank of that local number: the words of messages from it, and of messages to it.
  // `rank` is the peer's in the job, for messages.
  void attach(std::uint32_t local, std::uint32_t rank, const Invitation& invitation, PullWords& in, PullWords& out);
  // Whether the peer's memory can be read: tried once, when it is asked for first.
  bool may_pull(std::uint32_t local) noexcept { return access_to(pairs_[local]); }

  // Copies without a message, for a room above that knows where the peer's bytes lie (net/host_memory.h).
  Copied read_directly(std::uint32_t local, std::uint64_t address, void* to, std::uint64_t bytes) noexcept;
  Copied write_directly(std::uint32_t local, const void* from, std::uint64_t address, std::uint64_t bytes) noexcept;

  // As a sender: whether a message of so many bytes must be offered, because it is to be pulled. One that is not is sent at once.
  bool asked_of(std::uint32_t local, std::uint64_t bytes) noexcept {
    if (bytes <= tuning().shm_least_pull) return false;
    if (path_to(pairs_[local], bytes) != Path::kRing) return true;
    count_sent(pairs_[local], bytes);
    return false;
  }
  // The same of a message that is about to be sent: true when it is to be offered.
  bool offers(std::uint32_t local, std::uint64_t bytes) noexcept;

  // As a receiver.
  PullOp::End pull(std::uint32_t local, PullOp& op) noexcept;
  // A message has come through the ring, all but `before` of its bytes since `began`.
  void came_in_frames(std::uint32_t local, std::uint64_t bytes, std::uint64_t before, std::int64_t began);
  // The same where ranks share cores: each byte has taken so many ps from both processors.
  void came_by_copies(std::uint32_t local, std::uint64_t bytes, std::uint64_t ps_per_byte);
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
  // Of a copy that has just been made by single_copy_.
  Copied outcome(std::uint32_t local, bool whole) noexcept;

  enum class Access : std::uint8_t { kUnknown, kGranted, kRefused };

  // Messages of one class since they were last compared.
  struct Traffic {
    std::uint32_t sent = 0, received = 0;
  };
  struct Pair {
    std::uint32_t rank = 0;
    pid_t pid = 0;
    std::uint64_t probe_address = 0, probe_value = 0;
    Access access = Access::kUnknown;
    PullWords* in = nullptr;
    PullWords* out = nullptr;

    std::unique_ptr<PathSelection> selection;  // from the first long message on
    bool leads = false;                        // decides for both directions where messages go both ways
    std::array<Traffic, PathSelection::kClasses> traffic{};
    std::int64_t sent = 0;                 // when the last message to the peer was, where messages go both ways; 0: before the last one from it
    std::uint64_t both_ways = 0;           // classes in which they do: flags of kBothWays, where this rank leads
    IntrusiveList<PullOp, PullTag> queue;  // not empty: in pulling_
    PullTaker taker;
    bool open = false;  // the first of `queue` is shared

    PullHelper helper;
    bool offering = false;    // in offering_
    unsigned idle_looks = 0;  // since there was a piece to help with
  };

  // Above the paths in PullWords::paths: classes for which the writer of the word decides in both directions; the writer cannot pull.
  static constexpr unsigned kBothWays = 48;
  static constexpr std::uint64_t kCannotPull = std::uint64_t{1} << 63;
  static std::uint64_t both_ways_flag(std::uint64_t bytes) noexcept {
    return std::uint64_t{1} << (kBothWays + PathSelection::class_of(bytes));
  }
  static Path path_to(const Pair& pair, std::uint64_t bytes) noexcept {
    const bool decides = (pair.both_ways & both_ways_flag(bytes)) != 0;
    return path_in(load_relaxed((decides ? pair.in : pair.out)->paths), bytes);
  }
  static bool follows(const Pair& pair, std::uint64_t bytes) noexcept {
    return !pair.leads && (load_relaxed(pair.out->paths) & both_ways_flag(bytes)) != 0;
  }
  void count_sent(Pair& pair, std::uint64_t bytes) noexcept {
    ++pair.traffic[PathSelection::class_of(bytes)].sent;
    if ((pair.both_ways & both_ways_flag(bytes)) != 0) pair.sent = engine_.clock().now();
  }
  void count_received(Pair& pair, std::uint64_t bytes);
  Path path_from(Pair& pair, std::uint64_t bytes);

  bool access_to(Pair& pair) noexcept;
  PathSelection& selection_of(Pair& pair);
  bool begin(Pair& pair, PullOp& op);
  void unqueue(Pair& pair, PullOp& op) noexcept;
  bool copy_piece(Pair& pair, PullOp& op) noexcept;
  bool copy_shared(Pair& pair, PullOp& op) noexcept;
  bool read(Pair& pair, PullOp& op, std::uint64_t offset, std::uint64_t bytes) noexcept;
  static PullOp::End state_of(const Pair& pair, const PullOp& op) noexcept;
  void take_out(Pair& pair, PullOp& op, PullOp::End end) noexcept;
  bool pull_some(Pair& pair) noexcept;
  bool help(Pair& pair) noexcept;
  void note(Pair& pair, Path path, std::uint64_t bytes, std::uint64_t unseen, std::int64_t began);
  void weigh(Pair& pair, Path path, std::uint64_t bytes, std::int64_t copying);
  void judge(Pair& pair, const TimedMessage& message);
  void publish(Pair& pair) noexcept;
  void tell(const Pair& pair, unsigned size_class, Path before) const;

  engine::Engine& engine_;
  Choice choice_;
  SingleCopy single_copy_;
  std::uint64_t calls_ = 0;  // for other ranks
  std::uint32_t local_ranks_ = 0, my_local_ = 0;
  std::unique_ptr<Pair[]> pairs_;  // by local number
  std::vector<Pair*> pulling_;     // with messages that this rank pulls
  std::vector<Pair*> offering_;    // that may pull a message of this rank
};

}  // namespace lapwing::net::shm
