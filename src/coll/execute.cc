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

// What algorithms are chosen by, but for the number of ranks.
Situation situation_of(const Services& services, comm::Communicator& communicator, Form form) {
  static const SelectionRules kDefaults;
  const SelectionRules& rules = services.rules != nullptr ? *services.rules : kDefaults;
  CommunicatorState& state = state_of(communicator);
  if (!state.link) state.link = link_of(services, rules, communicator);
  Situation situation;
  situation.levels = state.levels(services.hosts, communicator);
  // Persistent operations may start in another order on each rank, so they have no turn at an area.
  situation.area = form != Form::kPersistent &&
                   state.place.area(services.areas, communicator, situation.levels) != nullptr;
  situation.oversubscribed = communicator.oversubscribed;
  situation.blocking = form == Form::kBlocking;
  situation.link = *state.link;
  situation.cores = rules.cores;
  situation.wanted = rules.wanted;
  situation.parameters = &rules.parameters;
  return situation;
}

// Compiles a call, which is checked.
CollectiveRequest* make(const Services& services, comm::Communicator& communicator, const Call& call, Form form) {
  auto* made = new CollectiveRequest(services, communicator, name(call.what), form == Form::kPersistent);
  made->call = call;
  made->form = form;
  made->cacheable = form != Form::kPersistent && call.repeatable(communicator);
  if (made->cacheable) made->arrays = ArrayContents(call, communicator);
  compile(call, communicator, situation_of(services, communicator, form), made->schedule());
  made->set_description(describe(call, communicator));
  return made;
}

// Its place among the calls of the communicator.
void number(comm::Communicator& communicator, CollectiveRequest& request) noexcept {
  CommunicatorState& state = state_of(communicator);
  const std::uint64_t call = without_history(request.description());
  request.set_description(with_history(call, state.add_to_history(call)));
  request.set_tag(collective_tag(state.next_number(), request.persistent()));
}

}  // namespace

CollectiveRequest* repeat(comm::Communicator& communicator, const Call& call, Form form) noexcept {
  CollectiveRequest* kept = call.repeatable(communicator) ? take_kept(communicator, call, form) : nullptr;
  if (kept != nullptr) number(communicator, *kept);
  return kept;
}

Status make_request(const Services& services, comm::Communicator& communicator, const Call& call, Form form,
                    CollectiveRequest** request) {
  CollectiveRequest* made = form == Form::kPersistent ? nullptr : repeat(communicator, call, form);
  if (made != nullptr) {
    made->lend(communicator);
  } else {
    LAPWING_TRY(check(call, communicator));
    made = make(services, communicator, call, form);
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

Status run(const Services& services, comm::Communicator& communicator, const Call& call) {
  engine::Visit visit(services.engine);
  if (CollectiveRequest* kept = repeat(communicator, call, Form::kBlocking)) {
    if (kept->run_at_once(communicator)) {
      keep_again(communicator, *kept);
      return {};
    }
    kept->lend(communicator);
    return run_to_end(visit, *kept, kept->name());
  }
  LAPWING_TRY(check(call, communicator));
  CollectiveRequest* made = make(services, communicator, call, Form::kBlocking);
  number(communicator, *made);
  return run_to_end(visit, *made, made->name());
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
