#include "coll/collective_request.h"

#include <algorithm>
#include <utility>

#include "base/internal_error.h"
#include "base/tuning.h"
#include "coll/cache.h"
#include "coll/communicator_state.h"
#include "coll/description.h"
#include "coll/tag.h"
#include "datatype/pack.h"
#include "net/transport.h"

namespace lapwing::coll {

CollectiveRequest::CollectiveRequest(const Services& services, comm::Communicator& communicator, const char* name,
                                     bool persistent)
    : Request(persistent), services_(services), name_(name) {
  schedule_.set_scratch_pool(services.scratch);
  attach(communicator);
  if (persistent) own_place_ = std::make_unique<AreaPlace>(state_of(communicator).next_persistent());
}

CollectiveRequest::~CollectiveRequest() {
  detach();
}

void CollectiveRequest::attach(comm::Communicator& communicator) noexcept {
  communicator.retain();
  communicator_ = &communicator;
}

void CollectiveRequest::lend(comm::Communicator& communicator) noexcept {
  attach(communicator);
  retain();
}

void CollectiveRequest::detach() noexcept {
  comm::Communicator* communicator = communicator_;
  communicator_ = nullptr;
  if (communicator != nullptr) comm::Communicator::drop(communicator);
}

AreaPlace& CollectiveRequest::place() const noexcept {
  return own_place_ != nullptr ? *own_place_ : state_of(*communicator_).place;
}

Status CollectiveRequest::cancel() {
  return Status::error(MPI_ERR_REQUEST, "%s: a collective operation cannot be cancelled", name_);
}

void CollectiveRequest::destroy() noexcept {
  if (cacheable && keep_for_later(*this)) return;
  delete this;
}

// Makes the messages that the steps will use, once; starting again allocates nothing.
void CollectiveRequest::prepare() {
  const std::vector<Step>& steps = schedule_.steps();
  waits_for_.resize(steps.size());
  slot_.resize(steps.size(), kNoSlot);
  ready_.reserve(steps.size());
  for (StepId id = 0; id < steps.size(); ++id) {
    switch (steps[id].kind()) {
      case Step::Kind::kSend:
        slot_[id] = static_cast<std::uint32_t>(sendings_.size());
        sendings_.push_back(std::make_unique<Sending>());
        break;
      case Step::Kind::kReceive:
        slot_[id] = static_cast<std::uint32_t>(receivings_.size());
        receivings_.push_back(std::make_unique<Receiving>());
        break;
      case Step::Kind::kReduce:
        if (!schedule_.op()->is_user()) break;
        slot_[id] = static_cast<std::uint32_t>(user_reductions_.size());
        user_reductions_.push_back(std::make_unique<UserReduction>(*this, id));
        break;
      default:
        break;
    }
  }
  for (auto& sending : sendings_) sending->owner = this;
  for (auto& receiving : receivings_) receiving->owner = this;
  only_on_area_ = schedule_.rounds() != 0 && sendings_.empty() && receivings_.empty() && user_reductions_.empty();
  between_hosts_ = !communicator_->is_inter() && state_of(*communicator_).link == model::LinkKind::kHosts;
  unasked_ = sends_unasked();
  only_takes_ = schedule_.rounds() == 0 && only_takes();
  prepared_ = true;
}

// Over TCP on one machine every message: its receiver makes the same call, and where ranks outnumber the cores each question and each answer waits for
// a core. And of two ranks on two hosts, each of which sends the other one no more than what lies in its kernel until the application's next call
// (what comes to a rank at rest and does not wake its event thread): asked for it would cost each of them two messages and, beside a computation, a
// wake-up more. With more ranks that might be more than a port of the switch takes (window.h), but where each sends as much as comes to it
// (SendStep::unasked).
std::uint64_t CollectiveRequest::sends_unasked() const noexcept {
  if (!communicator_->is_inter() && state_of(*communicator_).link == model::LinkKind::kLocalTcp) return tuning().tcp_local_unasked;
  if (!between_hosts_ || communicator_->size() != 2) return 0;
  std::uint64_t sent = 0, received = 0;
  for (const Step& step : schedule_.steps()) {
    if (step.is<SendStep>()) sent += step.as<SendStep>().data.bytes();
    if (step.is<ReceiveStep>()) received += step.as<ReceiveStep>().data.bytes();
  }
  return std::max(sent, received) <= net::kMostUrgentBytes ? net::kMostUrgentBytes : 0;
}

bool CollectiveRequest::only_takes() const noexcept {
  const std::vector<Step>& steps = schedule_.steps();
  const std::uint64_t unasked = form == Form::kBlocking ? 0 : std::min(unasked_, net::kMostUrgentBytes);
  return std::all_of(steps.begin(), steps.end(), [this, unasked](const Step& step) {
    if (step.is<SendStep>()) return step.waits_for == 0;
    if (!step.is<ReceiveStep>()) return true;
    const auto& receive = step.as<ReceiveStep>();
    return step.waits_for == 0 && services_.messenger.comes_whole(*communicator_, receive.plane, receive.peer, receive.data.bytes(), unasked);
  });
}

// Its messages have left, and those that it waits for come by themselves: so it needs no thread before the application's next call.
void CollectiveRequest::tell_if_calm() noexcept {
  const auto is_pending = [](const auto& message) { return !message->done(); };
  if (!only_takes_ || !std::ranges::all_of(sendings_, [](const auto& sending) { return sending->has_left(); })) return;
  services_.engine.need_nothing(1 + std::ranges::count_if(sendings_, is_pending) + std::ranges::count_if(receivings_, is_pending));
}

// Those that wait for nothing that is not done yet.
void CollectiveRequest::put_first_steps() {
  const std::vector<Step>& steps = schedule_.steps();
  steps_left_ = steps.size() - done_at_once_;
  if (done_at_once_ == 0) owes_ = false;
  ready_.clear();
  next_ready_ = 0;
  for (StepId id = 0; id < steps.size(); ++id) waits_for_[id] = steps[id].waits_for;
  for (StepId id = 0; id < done_at_once_; ++id) {
    for (std::uint32_t i = 0; i < steps[id].followers; ++i) --waits_for_[schedule_.followers(steps[id])[i]];
  }
  for (StepId id = done_at_once_; id < steps.size(); ++id) {
    if (waits_for_[id] == 0) ready_.push_back(id);
  }
  done_at_once_ = 0;
}

Status CollectiveRequest::start() {
  if (!prepared_) prepare();
  put_first_steps();
  result() = request::Result::empty();
  retain();  // the engine's reference, until complete()
  set_active(true);
  services_.engine.begin(*this);
  services_.messenger.watch_losses(*this);
  services_.messenger.for_each_failed([this](ProcessId process, const Status& why) { end_without(process, why); });
  if (schedule_.rounds() != 0) {
    area_ = &place().area();
    if (!std::exchange(has_rounds_, false)) first_round_ = area_->take_rounds(schedule_.rounds());
    if (!place().join(*this)) return {};
  }
  advance();
  if (form != Form::kBlocking && !done()) tell_if_calm();
  return {};
}

bool CollectiveRequest::needs(ProcessId process) const noexcept {
  if (!members_.empty()) return std::find(members_.begin(), members_.end(), process) != members_.end();
  const comm::Group* const remote = communicator_->remote_group();
  return communicator_->local_group().rank_of(process) != MPI_UNDEFINED || (remote != nullptr && remote->rank_of(process) != MPI_UNDEFINED);
}

// True when that is what ends it.
bool CollectiveRequest::end_without(ProcessId process, const Status& why) noexcept {
  if (!failure_.ok() || !needs(process)) return false;
  failure_ = Status::error(why.error_class(), "%s cannot be carried out: %s", name_, why.text());
  return true;
}

// One that waits for its turn on the area ends then, or that has it and has not begun.
void CollectiveRequest::on_process_lost(ProcessId process, const Status& why) noexcept {
  if (!end_without(process, why) || !has_turn() || turn_is_due_) return;
  abandon_messages();
  if (area_ != nullptr && area_->is_watched()) {
    area_->unwatch();
    step_done(waiting_);
  }
  advance();  // may destroy the request
}

bool CollectiveRequest::has_turn() const noexcept {
  return schedule_.rounds() == 0 || place().first() == this;
}

// Nothing that begins calls back: a message that completes at once continues in a tasklet.
void CollectiveRequest::advance() noexcept {
  // In the order in which the steps became ready: messages of one pair and lane must start in the order of the
  // schedule.
  while (failure_.ok() && next_ready_ < ready_.size()) begin(ready_[next_ready_++]);
  if (under_way_ == 0 && (steps_left_ == 0 || !failure_.ok())) complete();
}

void CollectiveRequest::begin(StepId id) noexcept {
  const Step& step = schedule_.steps()[id];
  ++under_way_;
  switch (step.kind()) {
    case Step::Kind::kSend:
      return begin_send(id);
    case Step::Kind::kReceive:
      return begin_receive(id);
    case Step::Kind::kReduce:
      return begin_reduction(id);
    case Step::Kind::kPost:
      return begin_post(id);
    case Step::Kind::kAwait:
      return begin_await(id);
    case Step::Kind::kTake:
      return begin_take(id);
    case Step::Kind::kDirect:
      return begin_direct(id);
    case Step::Kind::kAcknowledge:
      return begin_acknowledge(id);
    case Step::Kind::kIfRefused:
      return begin_if_refused(id);
    case Step::Kind::kCopy:
    case Step::Kind::kFold:
    case Step::Kind::kJoin:
      if (complaint_.ok()) compute(step);
      return step_done(id);
  }
}

void CollectiveRequest::begin_send(StepId id) noexcept {
  const Step& made = schedule_.steps()[id];
  const MessageStep& step = message_of(made);
  const bool if_refused = made.is<IfRefusedStep>();
  Sending& sending = *sendings_[slot_[id]];
  p2p::SendArguments arguments;
  arguments.buffer = step.data.address;
  arguments.count = step.data.count;
  arguments.type = step.data.type;
  arguments.destination = step.peer;
  arguments.tag = message_tag(tag_, step.lane);
  arguments.communicator = communicator_;
  arguments.plane = step.plane;
  arguments.note = description_;
  arguments.rendezvous = if_refused || made.as<SendStep>().rendezvous;
  if (!complaint_.ok()) [[unlikely]] {
    arguments.count = 0;
    arguments.note = kGivenUp;
    arguments.rendezvous = if_refused;
  }
  arguments.unasked = !if_refused && made.as<SendStep>().unasked && between_hosts_ ? net::kMostUrgentBytes : unasked_;
  sending.set_arguments(arguments);
  sending.set_followed(schedule_.steps()[id].followers != 0);
  sending.step = id;
  sending.under_way = true;
  sending.set_continuation(&on_message_done<Sending>);
  services_.engine.helped();  // a peer waits for it
  services_.messenger.start(sending);
}

void CollectiveRequest::begin_receive(StepId id) noexcept {
  const auto& step = schedule_.steps()[id].as<ReceiveStep>();
  if (complaint_.ok()) [[likely]]
    return start(*receivings_[slot_[id]], id, step);
  drain(arguments_of(step));
  step_done(id);
}

void CollectiveRequest::drain(const p2p::ReceiveArguments& message) noexcept {
  state_of(*communicator_).drain.take(services_.messenger, message);
}

p2p::ReceiveArguments CollectiveRequest::arguments_of(const MessageStep& message) const noexcept {
  p2p::ReceiveArguments arguments;
  arguments.buffer = message.data.address;
  arguments.count = message.data.count;
  arguments.type = message.data.type;
  arguments.source = message.peer;
  arguments.tag = message_tag(tag_, message.lane);
  arguments.communicator = communicator_;
  arguments.plane = message.plane;
  return arguments;
}

void CollectiveRequest::start(Receiving& receiving, StepId id, const MessageStep& message) noexcept {
  receiving.set_arguments(arguments_of(message));
  receiving.step = id;
  receiving.under_way = true;
  receiving.set_continuation(&on_message_done<Receiving>);
  services_.messenger.start(receiving);
}

void CollectiveRequest::begin_reduction(StepId id) noexcept {
  if (complaint_.ok() && schedule_.op()->is_user())
    return services_.engine.defer_to_application(*user_reductions_[slot_[id]]);
  if (complaint_.ok()) compute(schedule_.steps()[id]);
  step_done(id);
}

void CollectiveRequest::compute(const Step& step) noexcept {
  switch (step.kind()) {
    case Step::Kind::kReduce: {
      const auto& reduce = step.as<ReduceStep>();
      return datatype::apply(*schedule_.op(), reduce.source.address, reduce.target.address, reduce.target.count,
                             *reduce.target.type);
    }
    case Step::Kind::kCopy:
      return copy(step.as<CopyStep>());
    case Step::Kind::kFold:
      return fold(step.as<FoldStep>());
    default:  // a join is nothing to do
      return;
  }
}

void CollectiveRequest::UserReduction::run(engine::Tasklet& tasklet) noexcept {
  auto& reduction = static_cast<UserReduction&>(tasklet);
  CollectiveRequest& request = reduction.owner;
  const StepId id = reduction.step;
  // A schedule does not change while it runs, so it can be read without the lock.
  const auto& step = request.schedule_.steps()[id].as<ReduceStep>();
  datatype::apply(*request.schedule_.op(), step.source.address, step.target.address, step.target.count,
                  *step.target.type);
  engine::Lock& lock = request.services_.engine.lock();
  lock.lock();
  request.step_done(id);
  request.advance();  // may destroy the request
  lock.unlock();
}

void CollectiveRequest::copy(const CopyStep& step) noexcept {
  datatype::copy(step.source.address, step.source.count, *step.source.type, step.target.address, step.target.count,
                 *step.target.type);
}

template <typename Slot>
void CollectiveRequest::on_message_done(engine::Operation& operation) noexcept {
  auto& message = static_cast<Slot&>(operation);
  CollectiveRequest& request = *message.owner;
  message.under_way = false;
  if (message.result().cancelled && request.failure_.ok()) [[unlikely]] {
    request.begin_instead(message);
  } else {
    const Status& status = message.result().status;
    request.compare(message);
    if (!status.ok()) request.fail(message.step, status);
    request.step_done(message.step);
  }
  request.advance();  // may destroy the request
}

// Withdrawn when the call was given up.
void CollectiveRequest::begin_instead(Sending& sending) noexcept {
  begin_send(sending.step);
}
void CollectiveRequest::begin_instead(Receiving& receiving) noexcept {
  drain(receiving.arguments());
  step_done(receiving.step);
}

// Whether the message belongs to the same call as ours, and has all that is expected. If not, nothing that follows would make sense.
void CollectiveRequest::compare(Receiving& receiving) noexcept {
  const std::uint64_t theirs = receiving.result().note;
  if (theirs == 0 || agree(description_, theirs)) [[likely]]
    return compare_lengths(receiving);
  state_of(*communicator_).told_of_difference();
  const int peer = partner_of(schedule_.steps()[receiving.step]).rank;
  give_up(mismatch(*communicator_, {communicator_->rank(), description_}, {peer, theirs}));
}

// A longer one is cut off, which is an error of the receive.
void CollectiveRequest::compare_lengths(Receiving& receiving) noexcept {
  const Step& step = schedule_.steps()[receiving.step];
  const std::uint64_t expected = step.is<TakeStep>() ? step.as<TakeStep>().target.bytes() : message_of(step).data.bytes();
  if (receiving.result().status.ok() && receiving.result().bytes < expected) [[unlikely]]
    complain_of_length(step.is<TakeStep>() ? area_->rank_of(step.as<TakeStep>().rank) : message_of(step).peer, expected, receiving.result().bytes);
}

// The first reason is the cause. What is under way and can be withdrawn is begun again as what a call sends and receives that is given up: it may be to a
// rank, or from one, that is in another call and never answers.
void CollectiveRequest::give_up(Status why) noexcept {
  if (!failure_.ok() || !complaint_.ok()) return;
  complaint_ = std::move(why);
  abandon_messages();
}

void CollectiveRequest::step_done(StepId id) noexcept {
  LAPWING_CHECK(under_way_ > 0);
  --under_way_;
  --steps_left_;
  const Step& step = schedule_.steps()[id];
  const StepId* followers = schedule_.followers(step);
  for (std::uint32_t i = 0; i < step.followers; ++i) {
    if (--waits_for_[followers[i]] == 0) ready_.push_back(followers[i]);
  }
}

void CollectiveRequest::fail(StepId id, const Status& why) noexcept {
  if (!failure_.ok() || !complaint_.ok()) return;  // the first is the cause
  const Step& failed = schedule_.steps()[id];
  const bool sending = failed.is<SendStep>() || (failed.is<IfRefusedStep>() && failed.as<IfRefusedStep>().sends);
  const Partner peer = partner_of(failed);
  Status failure = Status::error(
      why.error_class(), "%s, while it %s rank %d%s: %s", name_, sending ? "sent to" : "received from", peer.rank,
      communicator_->is_inter() && peer.plane == comm::Plane::kCollective ? " of the remote group" : "", why.text());
  if (failed.is<TakeStep>() || why.error_class() == MPI_ERR_TRUNCATE) return give_up(std::move(failure));
  failure_ = std::move(failure);
  abandon_messages();
}

// The peers may never answer what is still under way. Those that can be withdrawn end now, the others with their
// connection.
void CollectiveRequest::abandon_messages() noexcept {
  for (auto& receiving : receivings_) {
    if (receiving->under_way && !receiving->done()) services_.messenger.cancel(*receiving);
  }
  for (auto& sending : sendings_) {
    if (sending->under_way && !sending->done()) services_.messenger.cancel(*sending);
  }
}

// Calls that are not blocking may have been followed by others before.
void CollectiveRequest::learn_need() noexcept {
  const std::uint32_t need = std::exchange(need_, 0);
  if (need != 0 && form == Form::kBlocking) [[unlikely]]
    state_of(*communicator_).uneven_rounds.needed(UnevenNeed::said(need));
}

void CollectiveRequest::complete() noexcept {
  if (schedule_.rounds() != 0 && form == Form::kBlocking && steps_left_ == 0) area_->settle(first_round_ + schedule_.rounds());
  learn_need();
  if (owes_) acknowledge({schedule_.rounds() - 1, true});  // where the lengths differed: no step of this rank's does
  if (failure_.ok()) failure_ = std::move(complaint_);
  complaint_ = {};
  if (failure_.ok()) {
    if (on_success_ != nullptr) on_success_(on_success_context_, *on_success_value_);
  } else {
    cacheable = false;
    result().status = std::move(failure_);
    failure_ = {};
  }
  if (schedule_.rounds() != 0) place().leave();
  services_.messenger.unwatch_losses(*this);
  services_.engine.finish(*this);
  if (release()) destroy();
}

}  // namespace lapwing::coll
