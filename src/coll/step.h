// A step of a schedule: what is done, as one of twelve kinds with what each needs, and its place in the graph.
#pragma once

#include <cstdint>
#include <type_traits>
#include <variant>

#include "coll/area_parts.h"
#include "coll/block.h"
#include "coll/shared_area.h"
#include "comm/communicator.h"

namespace lapwing::coll {

using StepId = std::uint32_t;
inline constexpr StepId kNoStep = ~StepId{0};

// A message to or from another rank.
struct MessageStep {
  Block data;
  comm::Plane plane;
  std::int32_t peer;  // rank in communicator.peers(plane)
  std::uint8_t lane;
};
struct SendStep : MessageStep {
  bool rendezvous = false;  // leaves when its receive is there, however short it is
  bool unasked = false;     // between hosts it leaves without being asked for, up to what lies in the receiver's kernel
};
struct ReceiveStep : MessageStep {};

// target = source op target: the source is the operand of the lower rank.
struct ReduceStep {
  Block source, target;
};
// As a message would.
struct CopyStep {
  Block source, target;
};
// Nothing: bundles dependencies.
struct JoinStep {};

// On the area. Rounds are counted from the schedule's first.
struct PostedParts {
  Blocks blocks;
  PartRules rules;
};
struct PostStep {
  Block source;
  const PostedParts* parts;  // not null: one for each rank, behind a table (area_parts.h), instead of the source
  std::uint32_t round;
  std::uint32_t flags;  // of AreaSlot: whether the source is posted at all, or its place
  bool wakes_each;      // another rank waits for this post alone
  bool kept = false;    // this rank reads it as well
  // Not 0: of the source only a slice of what is packed, from a byte on, so many lines or what is left.
  std::uint16_t slice_lines = 0;
  std::uint32_t slice_first = 0;

  static constexpr std::uint64_t kLine = 64, kMostSliced = ~std::uint32_t{0};
  bool is_slice() const noexcept { return slice_lines != 0; }
  std::uint64_t bytes() const noexcept {
    if (is_slice()) return std::min(slice_lines * kLine, source.bytes() - std::min<std::uint64_t>(slice_first, source.bytes()));
    if (parts != nullptr) return bytes_with_table(parts->blocks, parts->rules);
    if (flags == AreaSlot::kInPlace) return sizeof(BufferPlace);
    return flags == AreaSlot::kByMessage ? 0 : source.bytes();
  }
};
// Until `rank`, or all, have posted; or until `rank`, which has, acknowledges the round: in any case, or if what it posted lies in place, or unless
// it has posted where ours is to be put.
struct AwaitStep {
  static constexpr std::int32_t kAll = SharedArea::kAll;
  enum class What : std::uint8_t { kPost, kAcknowledgement, kIfInPlace, kUnlessPlaced };
  std::uint32_t round;
  std::int32_t rank;
  What what = What::kPost;
};
// A run of bytes of what `rank` posted: as many as the target has; or all, and more is an error, or that as a slice of what the target has packed,
// from the byte `offset` on; or our part, or all of what is ours alone to take, and any other length is an error. These last two follow what the
// post says: the bytes may come as a message, or lie in place. A part that does neither has `piece` bytes at most, and what is behind them comes with
// the next rounds, as pieces, of which any other length is an error as well.
struct TakeStep {
  enum class What : std::uint8_t { kRun, kWhole, kSlice, kPart, kPiece, kGathered };
  static constexpr std::uint32_t kAll = ~std::uint32_t{0};
  std::uint32_t round;
  std::int32_t rank;
  std::uint64_t offset;
  Block target;
  What what;
  bool placed = false;  // what lies in place has been put into the target by the rank that has it
  std::uint32_t piece = kAll;

  // Of the target: what its slice or piece begins behind, and what may come there.
  std::uint64_t skipped() const noexcept { return what == What::kSlice || what == What::kPiece ? offset : 0; }
  std::uint64_t wanted() const noexcept { return std::min<std::uint64_t>(target.bytes() - std::min(skipped(), target.bytes()), piece); }
  bool is_exact() const noexcept { return what == What::kPart || what == What::kPiece || what == What::kGathered; }
};
// Others may go on with their buffers: always, or if something has been taken from one.
struct AcknowledgeStep {
  std::uint32_t round;
  bool always;
};
// target = the operands of ranks `first_rank` to `last_rank`, such runs of what they posted, combined; or that of one rank and `onto`, an operand of
// ours, which may be the target. In the order of ranks, or of all ranks beginning with this one's own, and each of the others before the one that
// follows it, around.
struct FoldStep {
  static constexpr std::int32_t kAround = -1;  // as the last rank
  std::uint32_t round;
  std::int32_t first_rank, last_rank;
  std::uint32_t offset;
  const void* onto;  // null: none
  Block target;

  bool reads(int rank) const noexcept { return last_rank == kAround || (rank >= first_rank && rank <= last_rank); }
};

// A run of bytes between our memory and a rank's, without the area: `rank` has posted where its buffer lies, alone or as the `index`th of
// several. The two ranks must agree on the length of that buffer; if not, nothing is copied, and this rank complains unless the other one does.
struct DirectStep {
  std::uint32_t round;
  std::int32_t rank;
  std::uint32_t index;
  bool writes;           // from here to there
  bool other_complains;
  std::uint64_t whole;   // what its buffer must have
  std::uint64_t offset;  // from its beginning
  void* own;
  std::uint64_t bytes;
};

// A message in place of a direct copy, where the rank that was to make it, this one or the peer, says that the kernel refuses it
// (SharedArea::has_refused()). It leaves when its receive is there: so what that rank says stands until the other one has read it.
struct IfRefusedStep : MessageStep {
  bool sends;        // or receives
  bool peer_copies;  // or this rank
  StepId if_step;    // a take, and what it takes lies in place; an await, and it has waited; or kNoStep: in any case
};

struct Step {
  using Work = std::variant<SendStep, ReceiveStep, ReduceStep, CopyStep, JoinStep, PostStep, AwaitStep, TakeStep, FoldStep,
                            DirectStep, AcknowledgeStep, IfRefusedStep>;
  // In the same order: a switch over it is a jump, where std::visit may be a call through a pointer.
  enum class Kind : std::uint8_t { kSend, kReceive, kReduce, kCopy, kJoin, kPost, kAwait, kTake, kFold, kDirect, kAcknowledge, kIfRefused };

  Work work;
  std::uint32_t waits_for = 0;
  std::uint32_t first_follower = 0;  // in Schedule::followers(); valid after seal()
  std::uint32_t followers = 0;

  Kind kind() const noexcept { return static_cast<Kind>(work.index()); }
  // For a step that is one: not checked again.
  template <typename T>
  const T& as() const noexcept {
    return *std::get_if<T>(&work);
  }
  template <typename T>
  bool is() const noexcept {
    return std::holds_alternative<T>(work);
  }
};
// Of a step that is a send or a receive, or one of the two if a copy is refused.
inline const MessageStep& message_of(const Step& step) noexcept {
  if (step.is<SendStep>()) return step.as<SendStep>();
  if (step.is<IfRefusedStep>()) return step.as<IfRefusedStep>();
  return step.as<ReceiveStep>();
}

// The rank with which a step exchanges a message: a take does, where its rank sends what it should have posted.
struct Partner {
  comm::Plane plane;
  std::int32_t rank;
};
inline Partner partner_of(const Step& step) noexcept {
  if (step.is<TakeStep>()) return {comm::Plane::kCollective, step.as<TakeStep>().rank};
  return {message_of(step).plane, message_of(step).peer};
}

template <Step::Kind kind, typename T>
inline constexpr bool kHolds =
    std::is_same_v<std::variant_alternative_t<static_cast<std::size_t>(kind), Step::Work>, T>;
static_assert(kHolds<Step::Kind::kSend, SendStep> && kHolds<Step::Kind::kReceive, ReceiveStep> &&
              kHolds<Step::Kind::kReduce, ReduceStep> && kHolds<Step::Kind::kCopy, CopyStep> &&
              kHolds<Step::Kind::kJoin, JoinStep> && kHolds<Step::Kind::kPost, PostStep> &&
              kHolds<Step::Kind::kAwait, AwaitStep> && kHolds<Step::Kind::kTake, TakeStep> &&
              kHolds<Step::Kind::kFold, FoldStep> && kHolds<Step::Kind::kDirect, DirectStep> &&
              kHolds<Step::Kind::kAcknowledge, AcknowledgeStep> && kHolds<Step::Kind::kIfRefused, IfRefusedStep> &&
              std::variant_size_v<Step::Work> == 12);
static_assert(sizeof(Step) <= 72);

}  // namespace lapwing::coll
