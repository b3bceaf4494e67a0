// A step of a schedule: what is done, as one of ten kinds with what each needs, and its place in the graph.
#pragma once

#include <cstdint>
#include <type_traits>
#include <variant>

#include "coll/block.h"
#include "coll/shared_area.h"
#include "comm/communicator.h"

namespace lapwing::coll {

using StepId = std::uint32_t;

// A message to or from another rank.
struct MessageStep {
  Block data;
  comm::Plane plane;
  std::int32_t peer;  // rank in communicator.peers(plane)
  std::uint8_t lane;
};
struct SendStep : MessageStep {
  bool rendezvous = false;  // leaves when its receive is there, however short it is
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
struct PostStep {
  Block source;
  const Blocks* parts;  // not null: one for each rank, behind a table (area_parts.h), instead of the source
  std::uint32_t round;
  bool wakes_each;        // another rank waits for this post alone
  std::uint64_t longest;  // what is longer goes as a message, and the post only says so
};
// Until `rank`, or all, have posted.
struct AwaitStep {
  static constexpr std::int32_t kAll = SharedArea::kAll;
  std::uint32_t round;
  std::int32_t rank;
};
// A run of bytes of what `rank` posted: as many as the target has, or all, or our part; then more is an error. Or nothing: all, or our
// part, comes as a message, for which there is a step of its own; that the rank has posted it is an error.
struct TakeStep {
  enum class What : std::uint8_t { kRun, kWhole, kPart, kWholeByMessage, kPartByMessage };
  std::uint32_t round;
  std::int32_t rank;
  std::uint64_t offset;
  Block target;
  What what;

  bool is_part() const noexcept { return what == What::kPart || what == What::kPartByMessage; }
  bool expects_message() const noexcept { return what == What::kWholeByMessage || what == What::kPartByMessage; }
};
// target = the operands of ranks `first_rank` to `last_rank`, such runs of what they posted, combined; or, `onto` the target, these op
// target.
struct FoldStep {
  std::uint32_t round;
  std::int32_t first_rank, last_rank;
  bool onto;
  std::uint64_t offset;
  Block target;
};

// Where a rank's buffer lies, as it posts it for others that copy from there or to there.
struct BufferPlace {
  std::uint64_t address = 0, bytes = 0;
};
// A run of bytes between our memory and a rank's, without the area: `rank` has posted where its buffer lies, alone or as the `index`th of
// several. The two ranks must agree on the length of that buffer.
struct DirectStep {
  std::uint32_t round;
  std::int32_t rank;
  std::uint32_t index;
  bool writes;           // from here to there
  std::uint64_t whole;   // what its buffer must have
  std::uint64_t offset;  // from its beginning
  void* own;
  std::uint64_t bytes;
};

struct Step {
  using Work = std::variant<SendStep, ReceiveStep, ReduceStep, CopyStep, JoinStep, PostStep, AwaitStep, TakeStep, FoldStep,
                            DirectStep>;
  // In the same order: a switch over it is a jump, where std::visit may be a call through a pointer.
  enum class Kind : std::uint8_t { kSend, kReceive, kReduce, kCopy, kJoin, kPost, kAwait, kTake, kFold, kDirect };

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
// Of a step that is a send or a receive.
inline const MessageStep& message_of(const Step& step) noexcept {
  if (step.is<SendStep>()) return step.as<SendStep>();
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
              std::variant_size_v<Step::Work> == 10);
static_assert(sizeof(Step) <= 72);

}  // namespace lapwing::coll
