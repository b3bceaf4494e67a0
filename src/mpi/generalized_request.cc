// MPI 5.0, section 13.2: generalized requests (request/generalized_request.h).
#include "request/generalized_request.h"

#include "mpi/completion.h"
#include "mpi/implementation.h"

namespace lapwing::mpi {

Status grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                      MPI_Grequest_cancel_function* cancel_fn, void* extra_state, MPI_Request* request) {
  auto* object = new request::GeneralizedRequest(query_fn, free_fn, cancel_fn, extra_state);
  engine::Visit visit(process().engine);
  process().engine.begin(*object);
  object->set_active(true);
  *request = handle_of(*object);
  return {};
}

Status grequest_complete(MPI_Request handle) {
  return request::complete_generalized(process().engine, request_of(handle));
}

}  // namespace lapwing::mpi
