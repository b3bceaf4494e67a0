// A blocking call on a shared area that is carried out at once. Where all ranks call together, an operation of few bytes is a post, a look
// at the others' and a copy; to begin and end a request around them costs as much again. So a kept schedule is tried first: its steps
// run one after the other, in the order in which they stand, which is one that their dependencies allow. Neither the engine nor any
// other thread learns of it, as the endpoint's lock is held all the time. Nor does anything else move: so not while anything is in flight. Nor once a
// process is lost: a rank without which the call cannot be carried out may have ended its part with an error, and what it has posted with it.
//
// The first step that cannot be done after a short look ends that: a post that is not there, a message, a difference between the calls
// of two ranks. What is left is started as for any call, and whatever is wrong is told there.
#include "base/futex.h"
#include "base/tuning.h"
#include "coll/collective_request.h"
#include "coll/communicator_state.h"

namespace lapwing::coll {
namespace {

// Looks for as long as the others may need that are on their way; once, where they may need the core for it.
template <typename Look>
bool wait_briefly(bool oversubscribed, Look look) noexcept {
  for (std::uint32_t left = oversubscribed ? 0 : tuning().coll_looks_at_once; !look(); --left) {
    if (left == 0) return false;
    cpu_relax();
  }
  return true;
}

}  // namespace

bool CollectiveRequest::run_at_once(comm::Communicator& communicator) noexcept {
  AreaPlace& place = state_of(communicator).place;
  if (!only_on_area_ || services_.engine.in_flight() || services_.messenger.some_failed() || place.first() != nullptr) return false;
  communicator_ = &communicator;
  area_ = &place.area();
  first_round_ = area_->take_rounds(schedule_.rounds());
  owes_ = false;
  const std::vector<Step>& steps = schedule_.steps();
  while (done_at_once_ < steps.size() && do_at_once(steps[done_at_once_])) ++done_at_once_;
  if (done_at_once_ == steps.size()) {
    area_->settle(first_round_ + schedule_.rounds());
    learn_need();
  }
  has_rounds_ = done_at_once_ < steps.size() || !complaint_.ok();
  if (has_rounds_) return false;
  communicator_ = nullptr;
  done_at_once_ = 0;
  return true;
}

bool CollectiveRequest::do_at_once(const Step& step) noexcept {
  if (!complaint_.ok()) [[unlikely]]
    return false;
  switch (step.kind()) {
    case Step::Kind::kPost:
      return post_at_once(step.as<PostStep>());
    case Step::Kind::kAwait:
      return await_at_once(step.as<AwaitStep>());
    case Step::Kind::kTake:
      return take_at_once(step.as<TakeStep>());
    case Step::Kind::kDirect:
      copy_directly(step.as<DirectStep>());
      return true;
    case Step::Kind::kAcknowledge:
      acknowledge(step.as<AcknowledgeStep>());
      return true;
    case Step::Kind::kIfRefused:
      return !is_refused(step.as<IfRefusedStep>());
    default:
      compute(step);
      return true;
  }
}

bool CollectiveRequest::post_at_once(const PostStep& step) noexcept {
  const std::uint64_t round = first_round_ + step.round, bytes = posted_bytes(step);
  if (!wait_briefly(schedule_.oversubscribed(), [&] { return area_->may_post(round, bytes); })) return false;
  post(step, round, bytes);
  return true;
}

bool CollectiveRequest::await_at_once(const AwaitStep& step) noexcept {
  const std::uint64_t round = first_round_ + step.round;
  const auto is_there = [&] {
    return step.what == AwaitStep::What::kPost ? area_->is_there(step.rank, round) : area_->acknowledged(step.rank, round);
  };
  if (is_awaited(step) && !wait_briefly(schedule_.oversubscribed(), is_there)) return false;
  compare_posts();
  return true;
}

// Not where it comes as a message.
bool CollectiveRequest::take_at_once(const TakeStep& step) noexcept {
  const Operand from = operand(step);
  need_ = std::max(need_, from.need);
  if (from.by_message) return false;
  take(step, from);
  return true;
}

}  // namespace lapwing::coll
