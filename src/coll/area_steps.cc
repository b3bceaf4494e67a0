// CollectiveRequest, its steps on a shared area (step.h): posts, waits for those of others, and what is done with them.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/ring_copy.h"
#include "coll/area_parts.h"
#include "coll/area_pool.h"
#include "coll/collective_request.h"
#include "coll/communicator_state.h"
#include "coll/description.h"
#include "datatype/pack.h"

namespace lapwing::coll {
namespace {

constexpr std::uint64_t kFoldedAtOnce = 16'384;  // bytes

}  // namespace

// Nothing once something is wrong.
std::uint64_t CollectiveRequest::posted_bytes(const PostStep& step) const noexcept {
  return complaint_.ok() ? step.bytes() : 0;
}

void CollectiveRequest::begin_post(StepId id) noexcept {
  const auto& step = schedule_.steps()[id].as<PostStep>();
  const std::uint64_t round = first_round_ + step.round;
  const std::uint64_t bytes = posted_bytes(step);
  if (!area_->may_post(round, bytes, step.kept) && wait_for(id, SharedArea::kAll, area_->awaited_before(round, bytes, step.kept))) return;
  if (failure_.ok()) post(step, round, bytes);
  step_done(id);
}

void CollectiveRequest::copy_in(const Block& source, std::uint64_t post, std::byte* to) noexcept {
  const datatype::Datatype& type = *source.type;
  if (!type.contiguous()) return datatype::pack(source.address, source.count, type, to);
  const auto* from = static_cast<const std::byte*>(Block::at(source.address, type.true_lb()));
  const std::uint64_t bytes = source.bytes();
  if (area_->posts_in_cell()) return services_.areas->copy_in()(services_.engine.clock(), to, from, bytes);
  copy_into_ring(area_->trials(), post, services_.areas->copy_in(), services_.engine.clock(), to, from, bytes);
}

void CollectiveRequest::copy_in(const PostStep& step, std::uint64_t post, std::byte* to) noexcept {
  if (!step.is_slice()) return copy_in(step.source, post, to);
  const datatype::Datatype& type = *step.source.type;
  if (type.contiguous()) return copy_in(bytes_block(Block::at(step.source.address, type.true_lb() + step.slice_first), post), post, to);
  datatype::pack(step.source.address, step.source.count, type, step.slice_first, to, post);
}

void CollectiveRequest::copy_out(const std::byte* from, std::uint64_t bytes, const Block& target, std::uint64_t skipped) noexcept {
  if (bytes == 0) return;  // neither need be an address
  const datatype::Datatype& type = *target.type;
  if (!type.contiguous()) {
    datatype::unpack(from, bytes, target.address, target.count, type, skipped);
    return;
  }
  auto* to = static_cast<std::byte*>(Block::at(target.address, type.true_lb() + static_cast<std::int64_t>(skipped)));
  services_.areas->copy_out()(services_.engine.clock(), to, from, bytes);
}

// The time of reading counts in a trial of how posts are best written (base/ring_trial.h).
template <typename Reading>
void CollectiveRequest::time_reading(Reading reading) noexcept {
  if (!area_->trials().times_reading()) [[likely]]
    return reading();
  const std::int64_t began = services_.engine.clock().now();
  reading();
  area_->trials().has_read(static_cast<double>(services_.engine.clock().now() - began));
}

void CollectiveRequest::post(const PostStep& step, std::uint64_t round, std::uint64_t bytes) noexcept {
  std::byte* to = bytes != 0 ? area_->destination(round, bytes, step.kept) : nullptr;
  const std::uint64_t flags = step.flags | area_->claim_flag(bytes);
  if (to != nullptr && step.parts != nullptr) {
    write_parts(step.parts->blocks, step.parts->rules, to, [&](const Block& part, std::byte* at) { copy_in(part, bytes, at); });
    need_ = std::max(need_, step.parts->rules.need);
  } else if (to != nullptr && step.flags == SharedArea::kInPlace) {
    const BufferPlace place = place_of(step.source);
    std::memcpy(to, &place, sizeof place);
  } else if (to != nullptr) {
    copy_in(step, bytes, to);
  }
  area_->post(round, bytes, description_, step.wakes_each, flags);
  services_.engine.helped();  // the peers wait for it
  compare_posts();
}

void CollectiveRequest::begin_await(StepId id) noexcept {
  const auto& step = schedule_.steps()[id].as<AwaitStep>();
  const auto sign = step.what == AwaitStep::What::kPost ? SharedArea::Sign::kPost : SharedArea::Sign::kAcknowledgement;
  if (is_awaited(step) && wait_for(id, step.rank, first_round_ + step.round, sign)) return;
  compare_posts();
  step_done(id);
}

// A rank that is in another call acknowledges nothing. What the rank has posted is there.
bool CollectiveRequest::is_awaited(const AwaitStep& step) const noexcept {
  if (step.what == AwaitStep::What::kPost) return true;
  const SharedArea::Posted posted = area_->read(step.rank, first_round_ + step.round);
  if (!posted.of_this_call) return false;
  switch (step.what) {
    case AwaitStep::What::kIfInPlace:
      return posted.in_place();
    case AwaitStep::What::kUnlessPlaced:
      return posted_place(step.rank, step.round, static_cast<std::uint32_t>(area_->rank())).bytes == 0;
    default:
      return true;
  }
}

// False when there is nothing to wait for, or no hope: then failure_ says why.
bool CollectiveRequest::wait_for(StepId id, int rank, std::uint64_t round, SharedArea::Sign sign) noexcept {
  waiting_ = id;
  const SharedArea::Outlook outlook = area_->watch(*this, rank, round, sign);
  if (outlook == SharedArea::Outlook::kNever) stop_waiting(area_->why_never());
  return outlook == SharedArea::Outlook::kNotYet;
}

void CollectiveRequest::on_posted() noexcept {
  if (schedule_.steps()[waiting_].is<PostStep>()) {
    begin_post(waiting_);
  } else {
    compare_posts();
    step_done(waiting_);
  }
  advance();  // may destroy the request
}

void CollectiveRequest::on_member_lost(const Status& why) noexcept {
  stop_waiting(why);
  step_done(waiting_);
  advance();  // may destroy the request
}

void CollectiveRequest::stop_waiting(const Status& why) noexcept {
  if (failure_.ok())
    failure_ = Status::error(why.error_class(), "%s, while it waited for the other ranks: %s", name_, why.text());
}

// Whether the others' posts, as far as they have been seen, belong to the same call as ours. A rank that may wait for the round before
// ours may find a difference in that one: of a call that is over here.
void CollectiveRequest::compare_posts() noexcept {
  if (!area_->differs()) [[likely]]
    return;
  const SharedArea::Difference difference = area_->take_difference();
  state_of(*communicator_).told_of_difference();
  if (complaint_.ok())
    complaint_ = mismatch(*communicator_, {communicator_->rank(), difference.ours},
                          {area_->rank_of(difference.rank), difference.what});
}

// What is posted is a place: the bytes are those that lie there.
void CollectiveRequest::locate(Operand& from, const BufferPlace& place) noexcept {
  from.posted = place.bytes;
  from.address = place.address;
}

template <typename Reading>
CollectiveRequest::Operand CollectiveRequest::operand(const Reading& step, int rank) const noexcept {
  const SharedArea::Posted posted = area_->read(rank, first_round_ + step.round);
  Operand from{posted.data, 0, posted.bytes};
  from.claimed = posted.claimed() && rank != area_->rank();
  if (posted.bytes <= step.offset) return from;
  from.data += step.offset;
  from.bytes = std::min(posted.bytes - step.offset, step.target.bytes());
  return from;
}

CollectiveRequest::Operand CollectiveRequest::own_part(const TakeStep& step) const noexcept {
  const SharedArea::Posted posted = area_->read(step.rank, first_round_ + step.round);
  const PartPlace part = find_part(posted.data, posted.bytes, static_cast<std::uint64_t>(area_->size()),
                                   static_cast<std::uint64_t>(area_->rank()));
  Operand from{posted.data + part.offset, std::min(part.bytes, step.wanted()), part.bytes, part.by_message(), part.in_place()};
  from.claimed = posted.claimed();
  from.need = part.need;
  if (from.in_place) locate(from, read_place(from.data, part.bytes));
  return from;
}

// Nothing of one that goes otherwise.
CollectiveRequest::Operand CollectiveRequest::piece_of_own_part(const TakeStep& step) const noexcept {
  Operand from = own_part(step);
  if (!from.by_message && !from.in_place) return from;
  return {from.data, 0, step.wanted()};
}

CollectiveRequest::Operand CollectiveRequest::gathered(const TakeStep& step) const noexcept {
  const SharedArea::Posted posted = area_->read(step.rank, first_round_ + step.round);
  Operand from{posted.data, std::min(posted.bytes, step.target.bytes()), posted.bytes, posted.by_message(), posted.in_place()};
  from.claimed = posted.claimed();
  if (from.in_place) locate(from, read_place(posted.data, posted.bytes));
  return from;
}

CollectiveRequest::Operand CollectiveRequest::sliced(const TakeStep& step) const noexcept {
  const SharedArea::Posted posted = area_->read(step.rank, first_round_ + step.round);
  Operand from{posted.data, std::min(posted.bytes, step.wanted()), posted.bytes};
  from.claimed = posted.claimed();
  return from;
}

CollectiveRequest::Operand CollectiveRequest::operand(const TakeStep& step) const noexcept {
  switch (step.what) {
    case TakeStep::What::kSlice:
      return sliced(step);
    case TakeStep::What::kPart:
      return own_part(step);
    case TakeStep::What::kPiece:
      return piece_of_own_part(step);
    case TakeStep::What::kGathered:
      return gathered(step);
    default:
      return operand(step, step.rank);
  }
}

// Also when something is wrong: a message that is under way must meet its receiver, and a rank that waits for an answer must get it.
void CollectiveRequest::begin_take(StepId id) noexcept {
  const auto& step = schedule_.steps()[id].as<TakeStep>();
  const Operand from = operand(step);
  need_ = std::max(need_, from.need);
  if (from.by_message) return receive_instead(id, {step.target, comm::Plane::kCollective, area_->rank_of(step.rank), 0});
  take(step, from);
  step_done(id);
}

void CollectiveRequest::take(const TakeStep& step, const Operand& from) noexcept {
  owes_ = owes_ || (from.in_place && !step.placed);
  if (!complaint_.ok()) return;
  const std::uint64_t wanted = from.in_place ? step.target.bytes() : step.wanted();
  if (step.is_exact() ? from.posted != wanted : step.what != TakeStep::What::kRun && from.posted > wanted)
    complain_of_length(area_->rank_of(step.rank), wanted, from.posted);
  if (!from.in_place) {
    time_reading([&] { copy_out(from.data, from.bytes, step.target, step.skipped()); });
    return claim(from);
  }
  if (complaint_.ok() && !step.placed && !was_refused_a_copy()) read_in_place(step, from.address);
}

void CollectiveRequest::claim(const Operand& from) noexcept {
  if (from.claimed) SharedArea::claim(from.data, from.bytes);
}

void CollectiveRequest::read_in_place(const TakeStep& step, std::uint64_t address) noexcept {
  const datatype::Datatype& type = *step.target.type;
  void* const to = Block::at(step.target.address, type.true_lb());
  judge_copy(step.rank, Direction::kFromThere, type.contiguous() ? area_->read_from(step.rank, address, to, step.target.bytes())
                                                                 : read_and_unpack(step.rank, address, step.target));
}

// Some kilobytes after the others, which stay in the nearest cache.
net::Copied CollectiveRequest::read_and_unpack(int rank, std::uint64_t address, const Block& target) noexcept {
  std::array<std::byte, 16'384> some;
  const std::uint64_t bytes = target.bytes();
  for (std::uint64_t done = 0; done < bytes; done += some.size()) {
    const std::uint64_t now = std::min<std::uint64_t>(some.size(), bytes - done);
    if (const net::Copied copied = area_->read_from(rank, address + done, some.data(), now); copied != net::Copied::kWhole) return copied;
    datatype::unpack(some.data(), now, target.address, target.count, *target.type, done);
  }
  return net::Copied::kWhole;
}

void CollectiveRequest::begin_acknowledge(StepId id) noexcept {
  acknowledge(schedule_.steps()[id].as<AcknowledgeStep>());
  step_done(id);
}

void CollectiveRequest::acknowledge(const AcknowledgeStep& step) noexcept {
  if (!std::exchange(owes_, false) && !step.always) return;
  area_->acknowledge(first_round_ + step.round);
  services_.engine.helped();  // a peer waits for it
}

void CollectiveRequest::complain_of_length(int rank, std::uint64_t expected, std::uint64_t posted) noexcept {
  if (!complaint_.ok()) return;
  complaint_ = Status::error(posted > expected ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT,
                             "%s, while it received from rank %d: that one gave %llu bytes, but %llu are expected here",
                             name_, rank, static_cast<unsigned long long>(posted),
                             static_cast<unsigned long long>(expected));
}

// A schedule that runs again uses the same request for it.
void CollectiveRequest::receive_instead(StepId id, const MessageStep& message) noexcept {
  if (slot_[id] == kNoSlot) {
    slot_[id] = static_cast<std::uint32_t>(receivings_.size());
    receivings_.push_back(std::make_unique<Receiving>());
    receivings_.back()->owner = this;
  }
  start(*receivings_[slot_[id]], id, message);
}

// Once it is known whether the copy was refused. Where something is wrong the other rank still sends, or waits for a message.
void CollectiveRequest::begin_if_refused(StepId id) noexcept {
  const auto& step = schedule_.steps()[id].as<IfRefusedStep>();
  if (!is_refused(step)) return step_done(id);
  if (step.sends) {
    if (slot_[id] == kNoSlot) {
      slot_[id] = static_cast<std::uint32_t>(sendings_.size());
      sendings_.push_back(std::make_unique<Sending>());
      sendings_.back()->owner = this;
    }
    return begin_send(id);
  }
  if (complaint_.ok()) return receive_instead(id, step);
  drain(arguments_of(step));
  step_done(id);
}

bool CollectiveRequest::is_refused(const IfRefusedStep& step) const noexcept {
  if (!area_->has_refused(step.peer_copies ? step.peer : area_->rank(), first_round_)) [[likely]]
    return false;
  if (step.if_step == kNoStep) return true;
  const Step& told_by = schedule_.steps()[step.if_step];
  return told_by.is<TakeStep>() ? operand(told_by.as<TakeStep>()).in_place : is_awaited(told_by.as<AwaitStep>());
}

void CollectiveRequest::begin_direct(StepId id) noexcept {
  const auto& step = schedule_.steps()[id].as<DirectStep>();
  if (complaint_.ok()) copy_directly(step);
  step_done(id);
}

void CollectiveRequest::copy_directly(const DirectStep& step) noexcept {
  if (was_refused_a_copy()) return;
  const BufferPlace place = posted_place(step.rank, step.round, step.index);
  if (place.bytes != step.whole) {
    if (!step.other_complains) complain_of_length(area_->rank_of(step.rank), step.whole, place.bytes);
    return;
  }
  const std::uint64_t address = place.address + step.offset;
  if (step.writes)
    judge_copy(step.rank, Direction::kToThere, area_->write_to(step.rank, step.own, address, step.bytes));
  else
    judge_copy(step.rank, Direction::kFromThere, area_->read_from(step.rank, address, step.own, step.bytes));
}

// What the kernel refuses whatever the buffers are goes as a message, in this call and, soon, in all. A message has to read them as well, so where it
// does not reach them this rank gives up; another rank that would wait for its block in vain gets a message that says so.
void CollectiveRequest::judge_copy(int member, Direction direction, net::Copied copied) noexcept {
  switch (copied) {
    case net::Copied::kWhole:
      return;
    case net::Copied::kForbidden:
      area_->refuse(first_round_);
      return area_->end_direct_copies();
    case net::Copied::kRefused:
      if (direction == Direction::kToThere) area_->refuse(first_round_);
      complaint_ = Status::error(MPI_ERR_BUFFER,
                                 "the kernel does not copy for %s between a buffer of rank %d and one of this rank; if one of them lies in memory of "
                                 "a device, LAPWING_SINGLE_COPY=off makes collectives copy through shared memory",
                                 name_, area_->rank_of(member));
      return;
  }
}

BufferPlace CollectiveRequest::posted_place(int rank, std::uint32_t round, std::uint32_t index) const noexcept {
  const SharedArea::Posted posted = area_->read(rank, first_round_ + round);
  const std::uint64_t offset = index * sizeof(BufferPlace);
  return posted.bytes > offset ? read_place(posted.data + offset, posted.bytes - offset) : BufferPlace{};
}

// x0 op (x1 op (... op xlast)), in the order of ranks; or, with the own one first, in that order around, which ends with the own one.
// For predefined operations on types without gaps. In the order of ranks also where there are but two, although these operations commute: they do not
// for each bit, of a NaN and a number, or of two zeros, and where each rank combines all of the operands all must get the same.
void CollectiveRequest::fold(const FoldStep& step) noexcept {
  time_reading([&] {
    const std::uint64_t size = static_cast<std::uint64_t>(step.target.type->size()), all = step.target.count;
    const std::uint64_t some = std::max<std::uint64_t>(1, kFoldedAtOnce / size);  // elements: what is combined stays in the nearest cache
    for (std::uint64_t first = 0; first < all; first += some) fold_some(step, first * size, std::min(some, all - first) * size);
  });
}

// So many bytes, from `begin` on.
void CollectiveRequest::fold_some(const FoldStep& step, std::uint64_t begin, std::uint64_t bytes) noexcept {
  const datatype::Datatype& type = *step.target.type;
  const bool around = step.last_rank == FoldStep::kAround;
  const int last = around ? area_->size() - 1 : step.last_rank;
  int rank = around ? area_->rank() : last, left = last - step.first_rank + 1;
  const auto next_operand = [&] {
    Operand next = operand(step, rank);
    rank = rank == step.first_rank ? last : rank - 1;
    --left;
    const std::uint64_t before = std::min(begin, next.bytes);
    next.data += before;
    next.bytes = std::min(bytes, next.bytes - before);
    return next;
  };
  auto* const target = static_cast<std::byte*>(Block::at(step.target.address, type.true_lb())) + begin;
  const auto combine_with = [&](const std::byte* other, bool is_lower = false) {
    const Operand next = next_operand();
    const std::byte *left = next.data, *right = other;
    if (is_lower) std::swap(left, right);
    datatype::combine(*schedule_.op(), left - type.true_lb(), right - type.true_lb(), target - type.true_lb(),
                      next.bytes / static_cast<std::uint64_t>(type.size()), type);
    claim(next);
  };
  if (step.onto != nullptr) {
    combine_with(static_cast<const std::byte*>(step.onto) + type.true_lb() + begin, area_->rank() < step.first_rank);
  } else {
    const Operand first = next_operand();
    if (left == 0 || first.bytes < bytes)
      copy_out(first.data, first.bytes, bytes_block(target, bytes));
    else
      combine_with(first.data);
    claim(first);
  }
  while (left > 0) combine_with(target);
}

}  // namespace lapwing::coll
