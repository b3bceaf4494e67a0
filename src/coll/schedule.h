// Schedules: what one rank does in one collective operation, compiled before it starts (paper 5, LibNBC, section 3).
//
// A schedule is a graph of steps. A step starts when all steps that it waits for are done. An algorithm adds steps and
// names what each waits for, or calls fence() between rounds, after which everything waits for everything before.
// Nothing here communicates: CollectiveRequest runs a schedule, and the tests run those of all ranks against each other
// in one thread, in random order, to find dependencies that an algorithm forgot.
//
//     Why a graph and not LibNBC's rounds: a round ends with its slowest message. In a pipelined chain or a ring the
//     next segment can be passed on while another one is late; rounds remain one special case, the fence.
//
// Two ranks that exchange long messages: the send comes before the receive. Else the answer to the peer's RTS (a CTS) is on the wire before the own
// RTS; the peer begins to send its data, and its answer to our RTS queues behind them, so that the one message follows the other.
//
// Messages between a pair of ranks match in the order in which they are *started*. Where a graph does not fix that
// order on both sides, the algorithm gives them different lanes.
//
// Where all ranks share memory there are steps for an area as well (shared_area.h): post, await, take, fold. They come one after
// the other, in the order of rounds, and every rank posts every round.
//
// A schedule owns its scratch memory and keeps the datatypes and the operation alive. It belongs to one request, and is
// used with the endpoint's lock held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "coll/block.h"
#include "coll/levels.h"
#include "coll/scratch_pool.h"
#include "coll/selection.h"
#include "coll/step.h"
#include "comm/communicator.h"
#include "datatype/datatype.h"
#include "datatype/op.h"

namespace lapwing::coll {

using After = std::initializer_list<StepId>;  // what a step waits for; kNoStep is ignored

inline constexpr int kLanes = 256;

class Schedule {
 public:
  Schedule() = default;
  ~Schedule() { clear(); }
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  // ---- the team: set before and between algorithms

  // All ranks of one plane of a communicator. `rank` is this process's.
  void set_team(comm::Plane plane, int rank, int size) noexcept;
  // Some of them: team rank i is members[i]; the vector must live until the schedule is sealed.
  void set_team(comm::Plane plane, const std::vector<int>& members, int rank) noexcept;
  // Where ranks share hosts (levels.h; null: it makes no difference): those of this rank's host, and one rank of each.
  void set_levels(const Levels* levels) noexcept { levels_ = levels; }
  const Levels* levels() const noexcept { return levels_; }
  void set_team_inside() noexcept;
  void set_team_across(const std::vector<int>& speakers) noexcept;
  // The schedule's own, as a list of members that lives as long as it.
  const std::vector<int>& keep_members(std::vector<int> members);
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  // What algorithms are chosen by, beside the size of the team (selection.h).
  void set_situation(const Situation& situation) noexcept {
    situation_ = situation;
    levels_ = situation.levels;
  }
  void set_oversubscribed(bool oversubscribed) noexcept { situation_.oversubscribed = oversubscribed; }
  bool oversubscribed() const noexcept { return situation_.oversubscribed; }
  // Whether there is one for all ranks or, with levels, for those of this host.
  void set_area(bool area) noexcept { situation_.area = area; }
  void set_direct(bool direct) noexcept { situation_.direct = direct; }
  void set_wanted(const AlgorithmChoices& wanted) noexcept { situation_.wanted = wanted; }
  Situation situation() const noexcept {
    Situation team = situation_;
    team.ranks = size_;
    team.area = situation_.area && (levels_ == nullptr || inside_);
    if (inside_) team.link = model::LinkKind::kShared;
    team.levels = members_ == nullptr ? levels_ : nullptr;
    return team;
  }

  // ---- building

  StepId send(const Block& source, int peer, After after = {}, int lane = 0);
  // Leaves when its receive is there, however short it is (window.h).
  StepId send_when_asked(const Block& source, int peer, After after = {});
  StepId send_unasked(const Block& source, int peer, After after = {});
  StepId receive(const Block& target, int peer, After after = {}, int lane = 0);
  StepId copy(const Block& source, const Block& target, After after = {});
  // target = source op target.
  StepId reduce(const Block& source, const Block& target, After after = {});
  // On an area. All ranks post in every round, the rounds one after the other.
  enum class Wakes { kAll, kEach };  // whether others wait for the posts of all, or a rank for this one
  StepId post(const Block& source, std::uint32_t round, After after = {}, Wakes wakes = Wakes::kAll);
  // The same, with a flag of AreaSlot: only where the source lies, or that it comes as a message.
  StepId post_as(std::uint64_t flag, const Block& source, std::uint32_t round);
  // One part for each rank, which may be empty.
  StepId post_parts(Blocks parts, std::uint32_t round, const PartRules& rules, Wakes wakes = Wakes::kAll);
  // Two runs, of lengths that all ranks know, behind such a table too.
  StepId post_both(const Block& first, const Block& second, std::uint32_t round) { return post_parts({first, second}, round, {}); }
  StepId await(int rank, std::uint32_t round, After after, AwaitStep::What what = AwaitStep::What::kPost);
  StepId take(int rank, std::uint32_t round, std::uint64_t offset, const Block& target, After after);
  // All that the rank posted: more than the target takes is an error.
  StepId take_whole(int rank, std::uint32_t round, const Block& target, After after);
  // Slices of what is packed: so many bytes from the byte `first` on (4 GiB and 4 MiB at most; a whole number of lines of 64 bytes, or the rest); and
  // all that the rank posted, to the byte `first` and behind it.
  StepId post_slice(const Block& source, std::uint64_t first, std::uint64_t bytes, std::uint32_t round, After after = {}, Wakes wakes = Wakes::kAll);
  StepId take_slice(int rank, std::uint32_t round, const Block& target, std::uint64_t first, After after);
  // The part of this rank, whichever way it goes. `piece`: if it is posted, no more than so many bytes of it are; what the post says is read, though
  // nothing is to be taken.
  StepId take_part(int rank, std::uint32_t round, const Block& target, After after, std::uint32_t piece = TakeStep::kAll);
  // The next piece of it, from the byte `offset` on, if it is posted.
  StepId take_piece(int rank, std::uint32_t round, const Block& target, std::uint64_t offset, std::uint32_t piece, After after);
  // All that the rank posted for this one, likewise. `placed`: this rank has posted where it is to be put.
  StepId take_gathered(int rank, std::uint32_t round, const Block& target, bool placed, After after);
  StepId acknowledge(std::uint32_t round, bool always, After after);
  StepId fold(int last_rank, std::uint32_t round, std::uint64_t offset, const Block& target, After after);
  // Of all ranks, where the order does not count: beginning with this rank's own.
  StepId fold_around(std::uint32_t round, std::uint64_t offset, const Block& target, After after);
  // target = a run of what `rank` posted and `own`, which may be the target, combined in the order of ranks.
  StepId fold_onto(int rank, std::uint32_t round, std::uint64_t offset, const Block& own, const Block& target, After after);
  // Where buffers lie, one after the other, for the others' direct copies: none where one is no run of bytes.
  StepId post_places(const Blocks& buffers, std::uint32_t round, Wakes wakes);
  // `own` = a run of bytes of a buffer of which `rank` has posted the place, the `index`th one, of `whole` bytes; and the reverse.
  StepId read_directly(int rank, std::uint32_t round, int index, std::uint64_t whole, std::uint64_t offset,
                       const Block& own, After after);
  StepId write_directly(int rank, std::uint32_t round, int index, std::uint64_t whole, std::uint64_t offset,
                        const Block& own, After after, bool other_complains = false);
  // The message that goes in place of such a copy, where the kernel refuses it to that rank; only if what the step `if_step` takes lies in place, or if it
  // is awaited.
  enum class Copies { kThisRank, kPeer };
  StepId send_if_refused(Copies copies, const Block& source, int peer, After after, StepId if_step = kNoStep);
  StepId receive_if_refused(Copies copies, const Block& target, int peer, After after, StepId if_step = kNoStep);
  // Done when all of `steps` are.
  StepId join(After steps);
  // Everything added from now on waits for everything added until now.
  void fence();
  // The same, and rounds on the area are counted from those added until now: an algorithm may go once more, for the next piece.
  void next_piece() {
    fence();
    first_round_ = rounds_;
  }
  // What `build` adds waits for `after` alone, also behind its fences, and its rounds are counted from zero; returns the step after which
  // all of it is done. So what is built one after the other may go on at the same time.
  template <typename Build>
  StepId branch(After after, Build build) {
    const Branch outer = begin_branch(after);
    build();
    return end_branch(outer);
  }
  // The lane that algorithms take for their first, from now on: what goes on at the same time needs other lanes.
  void set_first_lane(int lane) noexcept { first_lane_ = lane; }
  // `step` waits for one more: for lists of dependencies that grow in loops.
  void add_dependency(StepId step, StepId waits_for);

  // The operation of all reduce steps.
  void set_op(datatype::Op& op) noexcept;
  datatype::Op* op() const noexcept { return op_; }
  bool commutative() const noexcept { return op_->commutative(); }

  // Where its memory comes from and goes to; it outlives the schedule. Null: the allocator.
  void set_scratch_pool(ScratchPool* pool) noexcept { scratch_pool_ = pool; }
  // Memory that lives as long as the schedule.
  std::byte* scratch(std::uint64_t bytes);
  // Room for `like.count` elements of `like.type`, gaps included.
  Block scratch_like(const Block& like);
  // The same data as one run of bytes: in place if it is one, else packed by a copy step, which becomes *ready.
  Block packed(const Block& data, StepId* ready);
  // A run of bytes as large as `data`: `data` itself where it is contiguous.
  Block unpacked_later(const Block& data);

  // Ends building: the followers of all steps are known.
  void seal();

  // ---- what was built

  const std::vector<Step>& steps() const noexcept { return steps_; }
  // The steps that wait for `step`.
  const StepId* followers(const Step& step) const noexcept { return followers_.data() + step.first_follower; }
  std::uint64_t scratch_bytes() const noexcept { return scratch_bytes_; }
  // On the area; none: it is not used.
  std::uint32_t rounds() const noexcept { return rounds_; }

  // Back to empty, keeping what memory can be used again.
  void clear() noexcept;

 private:
  struct Branch {
    StepId floor;
    StepId fenced;
  };
  Branch begin_branch(After after);
  StepId end_branch(const Branch& outer);
  StepId add(const Step::Work& work, After after);
  StepId add_if_refused(bool sends, Copies copies, const Block& data, int peer, After after, StepId if_step);
  void keep_what_is_read(const Step::Work& work) noexcept;
  MessageStep message(const Block& data, int peer, int lane) const noexcept;
  void keep(datatype::Datatype* type);

  std::vector<Step> steps_;
  struct Edge {
    StepId from;
    StepId to;
  };
  std::vector<Edge> edges_;
  std::vector<StepId> followers_;
  StepId floor_ = kNoStep;  // the last fence
  StepId fenced_ = 0;       // steps before this one are behind the floor
  std::vector<datatype::TypeRef> types_;
  datatype::Op* op_ = nullptr;
  std::vector<std::unique_ptr<const PostedParts>> parts_;
  ScratchPool* scratch_pool_ = nullptr;
  std::vector<ScratchMemory> scratch_;
  std::uint64_t scratch_bytes_ = 0;

  comm::Plane plane_ = comm::Plane::kCollective;
  const std::vector<int>* members_ = nullptr;
  const Levels* levels_ = nullptr;
  bool inside_ = false;  // the team is that of this host
  std::vector<std::unique_ptr<const std::vector<int>>> kept_members_;
  int first_lane_ = 0;
  int rank_ = 0;
  int size_ = 1;
  Situation situation_;
  std::uint32_t rounds_ = 0, first_round_ = 0;
};

}  // namespace lapwing::coll
