// MPI 5.0, sections 3.7.3 to 3.7.6, 3.8.4 and 3.9: what a user does with requests of any kind.
//
// A request that is done is recognised without the lock; the lock is taken to drive progress, to wait, and to free.
#include <mutex>

#include "coll/collective_request.h"
#include "mpi/completion.h"
#include "mpi/implementation.h"
#include "mpi/shim_support.h"
#include "mpi/status_fields.h"
#include "request/waiting.h"

namespace lapwing::mpi {

using request::all_done;
using request::find_done;
using request::is_active;
using request::Request;
using request::wait_for_all;
using request::wait_for_one;

void fill_status(const request::Result& result, MPI_Status* status) noexcept {
  if (status != MPI_STATUS_IGNORE) status_fill(*status, result.source, result.tag, result.bytes, result.cancelled);
}

void fill_empty_status(MPI_Status* status) noexcept {
  if (status != MPI_STATUS_IGNORE) status_set_empty(*status);
}

Status noted(const Request& request, Status failure) {
  if (!failure.ok() && request.communicator() != nullptr) note_failed_communicator(*request.communicator());
  return failure;
}

namespace {

// Generalized requests fill their statuses themselves, also those of failures.
Status describe(Request& request, MPI_Status* status) {
  if (!request.completed_by_program()) {
    fill_status(request.result(), status);
    return {};
  }
  MPI_Status own;
  status_set_empty(own);
  Status outcome = request.query(own);
  if (status != MPI_STATUS_IGNORE) {
    own.MPI_ERROR = status->MPI_ERROR;
    *status = own;
  }
  return outcome;
}

std::span<const MPI_Request> all_of(int count, const MPI_Request requests[]) noexcept {
  return {requests, static_cast<std::size_t>(count)};
}

// What a request that is done came to.
Status outcome_of(Request& request, MPI_Status* status) {
  Status outcome = describe(request, status);
  if (outcome.ok() && !request.result().status.ok()) outcome = std::move(request.result().status);
  return noted(request, std::move(outcome));
}

// A wait that need not wait: the application has no more to post at the moment, and what was kept back for more leaves. That a single
// operation is waited for means nothing yet (Progress::turn_is_due).
void end_burst(int operations) noexcept {
  engine::Engine& engine = process().engine;
  if (operations == 1 ? engine.turn_is_due() : engine.turn_wanted()) make_progress();
}

MPI_Status* status_at(MPI_Status statuses[], int index) noexcept {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[index];
}

// Collects the outcomes of functions that complete several requests: each status gets its error. The function has one failure to raise, where it
// came from: the first one, unless a later one ends the job, which the program would not hear of otherwise.
class Outcomes {
 public:
  Outcomes() = default;
  Outcomes(const Outcomes&) = delete;
  Outcomes& operator=(const Outcomes&) = delete;
  ~Outcomes() { comm::Communicator::drop(communicator_); }

  void add(Status outcome, MPI_Status* status) {
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = outcome.error_class();
    if (!outcome.ok()) add_failure(std::move(outcome), take_failed_communicator());
  }
  Status result() {
    if (raised_.ok()) return {};
    if (communicator_ != nullptr) note_failed_communicator(*communicator_);
    return Status::error(MPI_ERR_IN_STATUS, "%s (the MPI_ERROR fields of the statuses tell which requests failed)",
                         raised_.text());
  }

 private:
  void add_failure(Status failure, comm::Communicator* communicator) {
    if (raised_.ok() || (!failure_ends_job(communicator_) && failure_ends_job(communicator))) {
      raised_ = std::move(failure);
      std::swap(communicator_, communicator);
    }
    comm::Communicator::drop(communicator);
  }

  Status raised_;
  comm::Communicator* communicator_ = nullptr;  // of it, with a reference
};

// Ends as a group, under one lock: all but persistent requests and those that end with a user's callback.
bool ends_plainly(const Request* request) noexcept {
  return is_active(request) && !request->persistent() && !request->completed_by_program();
}

Status take_all(int count, MPI_Request requests[], MPI_Status statuses[]) {
  Outcomes outcomes;
  for (int i = 0; i < count; ++i) {
    MPI_Status* status = status_at(statuses, i);
    Request* request = request_of(requests[i]);
    if (!is_active(request))
      fill_empty_status(status);
    else
      outcomes.add(ends_plainly(request) ? outcome_of(*request, status) : take_result(requests[i], *request, status),
                   status);
  }
  const std::lock_guard guard(process().engine.lock());
  for (int i = 0; i < count; ++i) {
    Request* request = request_of(requests[i]);
    if (!ends_plainly(request)) continue;
    requests[i] = MPI_REQUEST_NULL;
    drop(*request);
  }
  return outcomes.result();
}

Status take_done(int count, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]) {
  Outcomes outcomes;
  *outcount = 0;
  for (int i = 0; i < count; ++i) {
    Request* request = request_of(requests[i]);
    if (!is_active(request) || !request->done()) continue;
    MPI_Status* status = status_at(statuses, *outcount);
    indices[(*outcount)++] = i;
    outcomes.add(take_result(requests[i], *request, status), status);
  }
  return outcomes.result();
}

Status no_active_request(int* index, MPI_Status* status) noexcept {
  *index = MPI_UNDEFINED;
  fill_empty_status(status);
  return {};
}

Status begin(MPI_Request handle) {
  Request* request = request_of(handle);
  if (request == nullptr) return Status::error(MPI_ERR_REQUEST, "MPI_REQUEST_NULL cannot be started");
  return noted(*request, restart(*request));
}

// MPI 5.0, sections 6.12 and 6.13: the other ranks depend on a collective operation.
Status check_freeable(const Request& request) {
  const auto* collective = dynamic_cast<const coll::CollectiveRequest*>(&request);
  if (collective == nullptr || !request.active()) return {};
  return Status::error(MPI_ERR_REQUEST, "%s: a collective operation cannot be freed before it is completed, by a wait or a test", collective->name());
}

}  // namespace

Status take_result(MPI_Request& handle, Request& request, MPI_Status* status) {
  Status outcome = outcome_of(request, status);
  if (request.persistent()) {
    request.set_active(false);
    return outcome;
  }
  handle = MPI_REQUEST_NULL;
  Status freed = retire(process().engine, request);
  return outcome.ok() ? std::move(freed) : std::move(outcome);
}

void make_progress() noexcept {
  engine::Engine& engine = process().engine;
  engine::Visit visit(engine);
  engine.quick_turn();
  engine.run_application_tasklets();
}

// ---- waiting ----------------------------------------------------------------------------------------------------------

Status wait(MPI_Request* handle, MPI_Status* status) {
  Request* request = request_of(*handle);
  if (!is_active(request)) {
    fill_empty_status(status);
    return {};
  }
  if (!request->done()) {
    engine::Visit visit(process().engine);
    wait_in("MPI_Wait", visit, *request);
  } else {
    end_burst(1);
  }
  return take_result(*handle, *request, status);
}

Status waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  if (!all_done(all_of(count, requests)))
    wait_for_all("MPI_Waitall", process().engine, all_of(count, requests));
  else
    end_burst(count);
  return take_all(count, requests, statuses);
}

Status waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  int active;
  int found = find_done(all_of(count, requests), active);
  if (found < 0) {
    if (active == 0) return no_active_request(index, status);
    wait_for_one("MPI_Waitany", process().engine, all_of(count, requests));
    found = find_done(all_of(count, requests), active);
  }
  *index = found;
  return take_result(requests[found], *request_of(requests[found]), status);
}

Status waitsome(int count, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]) {
  int active;
  if (find_done(all_of(count, requests), active) < 0) {
    if (active == 0) {
      *outcount = MPI_UNDEFINED;
      return {};
    }
    wait_for_one("MPI_Waitsome", process().engine, all_of(count, requests));
  }
  return take_done(count, requests, outcount, indices, statuses);
}

// ---- testing ----------------------------------------------------------------------------------------------------------

Status test(MPI_Request* handle, int* flag, MPI_Status* status) {
  Request* request = request_of(*handle);
  *flag = 1;
  if (!is_active(request)) {
    fill_empty_status(status);
    return {};
  }
  if (!request->done()) make_progress();
  if (request->done()) return take_result(*handle, *request, status);
  *flag = 0;
  return {};
}

Status testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  if (!all_done(all_of(count, requests))) make_progress();
  *flag = all_done(all_of(count, requests));
  return *flag ? take_all(count, requests, statuses) : Status();
}

Status testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  int active;
  int found = find_done(all_of(count, requests), active);
  *flag = 1;
  if (found < 0 && active == 0) return no_active_request(index, status);
  if (found < 0) {
    make_progress();
    found = find_done(all_of(count, requests), active);
  }
  *index = found < 0 ? MPI_UNDEFINED : found;
  if (found >= 0) return take_result(requests[found], *request_of(requests[found]), status);
  *flag = 0;
  return {};
}

Status testsome(int count, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]) {
  int active;
  if (find_done(all_of(count, requests), active) < 0) {
    if (active == 0) {
      *outcount = MPI_UNDEFINED;
      return {};
    }
    make_progress();
  }
  return take_done(count, requests, outcount, indices, statuses);
}

// ---- looking without taking -------------------------------------------------------------------------------------------

namespace {

// What a wait would report, without ending the request.
Status look_at(MPI_Request handle, MPI_Status* status) {
  Request* request = request_of(handle);
  if (!is_active(request)) {
    fill_empty_status(status);
    return {};
  }
  Status outcome = describe(*request, status);
  if (outcome.ok()) outcome = request->result().status.copy();
  return noted(*request, std::move(outcome));
}

}  // namespace

Status request_get_status(MPI_Request handle, int* flag, MPI_Status* status) {
  if (!all_done(all_of(1, &handle))) make_progress();
  *flag = all_done(all_of(1, &handle));
  return *flag ? look_at(handle, status) : Status();
}

Status request_get_status_all(int count, const MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  if (!all_done(all_of(count, requests))) make_progress();
  *flag = all_done(all_of(count, requests));
  if (!*flag) return {};
  Outcomes outcomes;
  for (int i = 0; i < count; ++i) outcomes.add(look_at(requests[i], status_at(statuses, i)), status_at(statuses, i));
  return outcomes.result();
}

Status request_get_status_any(int count, const MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  int active;
  int found = find_done(all_of(count, requests), active);
  *flag = 1;
  if (found < 0 && active == 0) return no_active_request(index, status);
  if (found < 0) {
    make_progress();
    found = find_done(all_of(count, requests), active);
  }
  *index = found < 0 ? MPI_UNDEFINED : found;
  if (found >= 0) return look_at(requests[found], status);
  *flag = 0;
  return {};
}

Status request_get_status_some(int count, const MPI_Request requests[], int* outcount, int indices[],
                               MPI_Status statuses[]) {
  int active;
  if (find_done(all_of(count, requests), active) < 0) {
    if (active == 0) {
      *outcount = MPI_UNDEFINED;
      return {};
    }
    make_progress();
  }
  Outcomes outcomes;
  *outcount = 0;
  for (int i = 0; i < count; ++i) {
    const Request* request = request_of(requests[i]);
    if (!is_active(request) || !request->done()) continue;
    MPI_Status* status = status_at(statuses, *outcount);
    indices[(*outcount)++] = i;
    outcomes.add(look_at(requests[i], status), status);
  }
  return outcomes.result();
}

// ---- start, cancel, free ----------------------------------------------------------------------------------------------

Status start(MPI_Request* handle) {
  engine::Visit visit(process().engine);
  return begin(*handle);
}

Status startall(int count, MPI_Request requests[]) {
  engine::Visit visit(process().engine);
  for (int i = 0; i < count; ++i) LAPWING_TRY(begin(requests[i]));
  return {};
}

Status cancel(MPI_Request* handle) {
  Request* request = request_of(*handle);
  if (request == nullptr) return Status::error(MPI_ERR_REQUEST, "MPI_REQUEST_NULL cannot be cancelled");
  if (!request->active())
    return noted(*request, Status::error(MPI_ERR_REQUEST, "an inactive request cannot be cancelled"));
  if (request->completed_by_program()) return noted(*request, request->cancel());
  engine::Engine& engine = process().engine;
  engine::Visit visit(engine);
  if (!engine.has_event_thread()) engine.quick_turn();  // a program may do nothing but begin receives and cancel them until one has its message
  return noted(*request, request->cancel());
}

Status request_free(MPI_Request* handle) {
  Request* request = request_of(*handle);
  if (request == nullptr) return Status::error(MPI_ERR_REQUEST, "MPI_REQUEST_NULL cannot be freed");
  LAPWING_TRY(noted(*request, check_freeable(*request)));
  *handle = MPI_REQUEST_NULL;
  return give_up(process().engine, *request);
}

}  // namespace lapwing::mpi
