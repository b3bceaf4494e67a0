#include "coll/execute.h"

#include "coll/cache.h"
#include "coll/communicator_state.h"
#include "coll/compile.h"
#include "coll/description.h"
#include "coll/tag.h"
#include "request/waiting.h"

namespace lapwing::coll {

Status make_request(const Services& services, comm::Communicator& communicator, const Call& call, bool persistent,
                    CollectiveRequest** request) {
  LAPWING_TRY(check(call, communicator));
  CommunicatorState& state = state_of(communicator);
  CollectiveRequest* made = nullptr;
  const bool repeatable = !persistent && call.repeatable(communicator);
  if (repeatable) made = take_kept(communicator, call);
  if (made != nullptr) made->set_description(without_history(made->description()));
  if (made == nullptr) {
    made = new CollectiveRequest(services, communicator, name(call.what), persistent);
    made->call = call;
    made->cacheable = repeatable;
    if (repeatable) made->arrays = ArrayContents(call, communicator);
    // Persistent operations may start in another order on each rank, so they have no turn at an area.
    const bool area = !persistent && state.place.area(services.areas, communicator) != nullptr;
    compile(call, communicator, area, services.algorithms, made->schedule());
    made->set_description(describe(call, communicator));
  }
  made->set_description(with_history(made->description(), state.add_to_history(made->description())));
  made->set_tag(collective_tag(state.next_number(), persistent));
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
  CollectiveRequest* request = nullptr;
  LAPWING_TRY(make_request(services, communicator, call, false, &request));
  return run_to_end(visit, *request, request->name());
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
