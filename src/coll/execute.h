// Running a collective call: what src/mpi calls.
#pragma once

#include "base/status.h"
#include "coll/call.h"
#include "coll/coll.h"
#include "coll/collective_request.h"

namespace lapwing::coll {

// With the endpoint's lock held: a kept request for the same call as one before, whose arguments were checked then, in the same
// variant; to be run at once, or lent and started. Null when there is none.
CollectiveRequest* repeat(comm::Communicator& communicator, const Call& call, Form form, std::uint32_t variant) noexcept;
// With the endpoint's lock held: checks the call, and makes a request that is ready to start, from a kept schedule if
// there is one. The caller owns one reference.
Status make_request(const Services& services, comm::Communicator& communicator, const Call& call, Form form,
                    CollectiveRequest** request);

// Without the lock: the blocking form.
Status run(const Services& services, comm::Communicator& communicator, const Call& call);
// Without the lock: starts the non-blocking form. The caller owns *request.
Status start(const Services& services, comm::Communicator& communicator, const Call& call, request::Request** request);
// Without the lock: the persistent form, inactive.
Status initialize(const Services& services, comm::Communicator& communicator, const Call& call,
                  request::Request** request);

// During a visit: starts, waits for and gives up a request that the caller owns. `call` is the MPI function that does so.
Status run_to_end(engine::Visit& visit, CollectiveRequest& request, const char* call);

}  // namespace lapwing::coll
