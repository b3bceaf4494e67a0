#include "coll/execute.h"

#include "coll/cache.h"
#include "coll/communicator_state.h"
#include "coll/compile.h"
#include "coll/description.h"
#include "coll/selection.h"
#include "coll/tag.h"
#include "request/waiting.h"

namespace lapwing::coll {

namespace {

// What carries the messages of a communicator, as all its members find alike.
model::LinkKind link_of(const Services& services, const SelectionRules& rules, const comm::Communicator& communicator) {
  const comm::Group* remote = communicator.remote_group();
  const bool all_here = services.areas != nullptr && services.areas->all_here(communicator.local_group()) &&
                        (remote == nullptr || services.areas->all_here(*remote));
  if (all_here) return model::LinkKind::kShared;
  return rules.single_host ? model::LinkKind::kLocalTcp : model::LinkKind::kHosts;
}

const SelectionRules& rules_of(const Services& services) noexcept {
  static const SelectionRules kDefaults;
  return services.rules != nullptr ? *services.rules : kDefaults;
}

// What algorithms are chosen by, but for the number of ranks.
Situation situation_of(const Services& services, comm::Communicator& communicator, const Call& call, Form form, AreaPlace& place) {
  const SelectionRules& rules = rules_of(services);
  CommunicatorState& state = state_of(communicator);
  if (!state.link) state.link = link_of(services, rules, communicator);
  Situation situation;
  situation.levels = state.levels(services.hosts, communicator);
  situation.area = place.area(services.areas, communicator, situation.levels) != nullptr;
  situation.direct = situation.area && form != Form::kPersistent && place.copies_directly();
  situation.oversubscribed = communicator.oversubscribed;
  situation.blocking = form == Form::kBlocking;
  situation.link = *state.link;
  situation.cores = rules.cores;
  situation.wanted = rules.wanted;
  situation.parameters =
      &state.link_rate.parameters(rules.parameters, call.op != nullptr, described_bytes(describe(call, communicator)));
  return situation;
}

// Whether a call is carried out by direct copies, as far as they suit it, and whether a trial wants something of it.
struct Way : DirectTrials::Way {
  unsigned trial = DirectTrials::kNone;
  bool possible = false;
  std::uint32_t uneven_rounds = 0;  // of those calls that learn them (uneven_rounds.h)
  bool uneven_by_messages = false;
  BarrierOrder::Order barrier_order;  // of a barrier (barrier_order.h)

  // Whether its schedule is not that of other calls with the same arguments.
  bool is_single() const noexcept { return meets || decides; }
  // Where it is possible another rank may go directly though this one does not.
  std::uint32_t variant() const noexcept { return possible + directly + 4 * (2 * uneven_rounds + uneven_by_messages + barrier_order.number()); }
};

// Of ranks that may copy directly: whether that should take much less time. The call has not been checked.
bool is_likely_faster(const Services& services, const comm::Communicator& communicator, unsigned trial) noexcept {
  Situation situation;
  situation.ranks = communicator.size();
  situation.area = situation.direct = true;
  situation.oversubscribed = communicator.oversubscribed;
  situation.link = model::LinkKind::kShared;
  situation.parameters = &rules_of(services).parameters;
  const CollectiveKind collective = DirectTrials::collective(trial);
  const std::uint64_t bytes = DirectTrials::least_bytes(trial);
  return likely_direct(collective, situation, bytes) || likely_in_place(collective, situation, bytes, !DirectTrials::decides_alone(trial));
}

// Calls whose ways are tried by turns (direct_trials.h): all ranks must count the same ones, so that one that is refused must not count. Others are
// checked when they are compiled.
Status check_what_counts(const comm::Communicator& communicator, CommunicatorState& state, const Call& call) {
  const bool counts = state.place.copies_directly() && DirectTrials::number_of(call, communicator) != DirectTrials::kNone;
  return counts ? check(call, communicator) : Status();
}

Way way_of(const Services& services, comm::Communicator& communicator, const Call& call, Form form) {
  Way way;
  CommunicatorState& state = state_of(communicator);
  if (form == Form::kPersistent) return way;
  if (call.what == Collective::kAlltoallv || call.what == Collective::kAlltoallw) {
    way.uneven_rounds = state.uneven_rounds.now();
    way.uneven_by_messages = state.uneven_rounds.by_messages();
    if (form == Form::kBlocking) state.uneven_rounds.called();
  }
  if (call.what == Collective::kBarrier && form == Form::kBlocking && communicator.oversubscribed) way.barrier_order = state.barrier_order.now();
  if (!state.place.copies_directly()) return way;
  way.possible = true;
  const unsigned trial = way.uneven_by_messages ? DirectTrials::kNone : DirectTrials::number_of(call, communicator);
  if (trial == DirectTrials::kNone) {
    state.place.area().trials().pause(false);
    return way;
  }
  if (!state.direct_trials) state.direct_trials = std::make_unique<DirectTrials>(communicator.size(), services.known_ways);
  DirectTrials& trials = *state.direct_trials;
  way.trial = trial;
  const bool begins = trials.is_new(trial) && (form == Form::kBlocking || DirectTrials::decides_alone(trial));
  const bool likely = begins && is_likely_faster(services, communicator, trial);
  if (form == Form::kBlocking)
    static_cast<DirectTrials::Way&>(way) = trials.next(trial, likely);
  else
    way.directly = trials.directly(trial, likely);
  state.place.area().trials().pause(way.on_trial);
  return way;
}

// In a round of its own, before the call's.
void post_verdict(Schedule& schedule, DirectTrials::Verdict* verdict) {
  static_assert(sizeof *verdict == 1);
  if (schedule.rank() == 0) {
    schedule.post(bytes_block(verdict, 1), 0, {}, Schedule::Wakes::kEach);
  } else {
    const StepId posted = schedule.post(bytes_block(nullptr, 0), 0);
    schedule.take(0, 0, 0, bytes_block(verdict, 1), {schedule.await(0, 0, {posted})});
  }
  schedule.next_piece();
}

// Compiles a call, which is checked.
CollectiveRequest* make(const Services& services, comm::Communicator& communicator, const Call& call, Form form,
                        const Way& way) {
  auto* made = new CollectiveRequest(services, communicator, name(call.what), form == Form::kPersistent);
  made->call = call;
  made->form = form;
  made->cacheable = form != Form::kPersistent && call.repeatable(communicator) && !way.is_single();
  if (made->cacheable) made->arrays = ArrayContents(call, communicator);
  Situation situation = situation_of(services, communicator, call, form, made->place());
  made->variant = way.variant();
  made->parameters = state_of(communicator).link_rate.parameters();
  situation.directly = way.directly;
  situation.uneven_rounds = way.uneven_rounds;
  situation.uneven_by_messages = way.uneven_by_messages;
  situation.barrier_order = way.barrier_order;
  if (way.decides) {
    made->schedule().set_team(comm::Plane::kCollective, communicator.rank(), communicator.size());
    post_verdict(made->schedule(), state_of(communicator).direct_trials->verdict(way.trial));
  }
  AtEnd at_end;
  if (way.meets) {
    DirectTrials& trials = *state_of(communicator).direct_trials;
    at_end = {true, trials.told(way.trial), trials.told_by_all()};
  }
  compile(call, communicator, situation, made->schedule(), at_end);
  made->set_description(describe(call, communicator));
  return made;
}

// Its place among the calls of the communicator.
void number(comm::Communicator& communicator, CollectiveRequest& request) noexcept {
  CommunicatorState& state = state_of(communicator);
  const std::uint64_t call = without_history(request.description());
  if (!request.persistent()) state.barrier_order.called(request.call.what, request.call.root, communicator.size());
  request.set_description(with_history(call, state.add_to_history(call)));
  request.set_tag(collective_tag(state.next_number(), request.persistent()));
}

}  // namespace

CollectiveRequest* repeat(comm::Communicator& communicator, const Call& call, Form form, std::uint32_t variant) noexcept {
  CollectiveRequest* kept = call.repeatable(communicator) ? take_kept(communicator, call, form, variant) : nullptr;
  if (kept != nullptr) number(communicator, *kept);
  return kept;
}

Status make_request(const Services& services, comm::Communicator& communicator, const Call& call, Form form,
                    CollectiveRequest** request) {
  LAPWING_TRY(check_what_counts(communicator, state_of(communicator), call));
  const Way way = way_of(services, communicator, call, form);
  const bool may_repeat = form != Form::kPersistent && !way.is_single();
  CollectiveRequest* made = may_repeat ? repeat(communicator, call, form, way.variant()) : nullptr;
  if (made != nullptr) {
    made->lend(communicator);
  } else {
    LAPWING_TRY(check(call, communicator));
    made = make(services, communicator, call, form, way);
    number(communicator, *made);
  }
  *request = made;
  return {};
}

Status run_to_end(engine::Visit& visit, CollectiveRequest& request, const char* call) {
  Status status = request.start();
  if (status.ok()) {
    wait_in(call, visit, request);
    status = std::move(request.result().status);
  }
  if (request.release()) request.destroy();
  return status;
}

namespace {

Status run(const Services& services, engine::Visit& visit, comm::Communicator& communicator, const Call& call,
           const Way& way) {
  CollectiveRequest* kept = way.is_single() ? nullptr : repeat(communicator, call, Form::kBlocking, way.variant());
  if (kept != nullptr) {
    if (kept->run_at_once(communicator)) {
      keep_again(communicator, *kept);
      return {};
    }
    kept->lend(communicator);
    return run_to_end(visit, *kept, kept->name());
  }
  LAPWING_TRY(check(call, communicator));
  CollectiveRequest* made = make(services, communicator, call, Form::kBlocking, way);
  number(communicator, *made);
  return run_to_end(visit, *made, made->name());
}

}  // namespace

Status run(const Services& services, comm::Communicator& communicator, const Call& call) {
  engine::Visit visit(services.engine);
  if (!state_of(communicator).link_rate.settled()) LAPWING_TRY(measure_if_due(services, visit, communicator, call));
  LAPWING_TRY(check_what_counts(communicator, state_of(communicator), call));
  const Way way = way_of(services, communicator, call, Form::kBlocking);
  if (!way.timed) return run(services, visit, communicator, call, way);
  DirectTrials& trials = *state_of(communicator).direct_trials;
  const auto now = [&] { return static_cast<double>(services.engine.clock().now()); };
  const double began = now();
  if (way.meets) trials.last_began(way.trial, began);
  Status status = run(services, visit, communicator, call, way);
  if (!way.meets)
    trials.took(way.trial, now() - began);
  else if (communicator.rank() == 0)
    trials.all_ended(way.trial, now());
  return status;
}

Status start(const Services& services, comm::Communicator& communicator, const Call& call, request::Request** request) {
  engine::Visit visit(services.engine);
  CollectiveRequest* made = nullptr;
  LAPWING_TRY(make_request(services, communicator, call, Form::kNonblocking, &made));
  *request = made;
  return made->start();
}

Status initialize(const Services& services, comm::Communicator& communicator, const Call& call,
                  request::Request** request) {
  engine::Visit visit(services.engine);
  CollectiveRequest* made = nullptr;
  LAPWING_TRY(make_request(services, communicator, call, Form::kPersistent, &made));
  *request = made;
  return {};
}

}  // namespace lapwing::coll
