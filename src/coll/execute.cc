#include "coll/execute.h"

#include "coll/cache.h"
#include "coll/communicator_state.h"
#include "coll/compile.h"
#include "coll/description.h"
#include "coll/tag.h"
#include "request/waiting.h"

namespace lapwing::coll {

namespace {

// Compiles a call, which is checked.
CollectiveRequest* make(const Services& services, comm::Communicator& communicator, const Call& call, bool persistent) {
  auto* made = new CollectiveRequest(services, communicator, name(call.what), persistent);
  made->call = call;
  made->cacheable = !persistent && call.repeatable(communicator);
  if (made->cacheable) made->arrays = ArrayContents(call, communicator);
  // Persistent operations may start in another order on each rank, so they have no turn at an area.
  CommunicatorState& state = state_of(communicator);
  const Levels* levels = state.levels(services.hosts, communicator);
  const bool area = !persistent && state.place.area(services.areas, communicator, levels) != nullptr;
  compile(call, communicator, {area, levels, services.algorithms}, made->schedule());
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

CollectiveRequest* repeat(comm::Communicator& communicator, const Call& call) noexcept {
  CollectiveRequest* kept = call.repeatable(communicator) ? take_kept(communicator, call) : nullptr;
  if (kept != nullptr) number(communicator, *kept);
  return kept;
}

Status make_request(const Services& services, comm::Communicator& communicator, const Call& call, bool persistent,
                    CollectiveRequest** request) {
  CollectiveRequest* made = persistent ? nullptr : repeat(communicator, call);
  if (made != nullptr) {
    made->lend(communicator);
  } else {
    LAPWING_TRY(check(call, communicator));
    made = make(services, communicator, call, persistent);
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
  if (CollectiveRequest* kept = repeat(communicator, call)) {
    if (kept->run_at_once(communicator)) {
      keep_again(communicator, *kept);
      return {};
    }
    kept->lend(communicator);
    return run_to_end(visit, *kept, kept->name());
  }
  LAPWING_TRY(check(call, communicator));
  CollectiveRequest* made = make(services, communicator, call, false);
  number(communicator, *made);
  return run_to_end(visit, *made, made->name());
}

Status start(const Services& services, comm::Communicator& communicator, const Call& call, request::Request** request) {
  engine::Visit visit(services.engine);
  CollectiveRequest* made = nullptr;
  LAPWING_TRY(make_request(services, communicator, call, false, &made));
  *request = made;
  return made->start();
}

Status initialize(const Services& services, comm::Communicator& communicator, const Call& call,
                  request::Request** request) {
  engine::Visit visit(services.engine);
  CollectiveRequest* made = nullptr;
  LAPWING_TRY(make_request(services, communicator, call, true, &made));
  *request = made;
  return {};
}

}  // namespace lapwing::coll
