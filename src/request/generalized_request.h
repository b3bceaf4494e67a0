// Generalized requests (MPI 5.0, section 13.2): the program's own operations, waited for like messages.
//
// The callbacks run without the endpoint's lock, on the application thread that waits, tests, cancels or frees; and free_fn on the
// one that calls MPI_Grequest_complete when the request was freed before.
#pragma once

#include "request/request.h"

namespace lapwing::request {

class GeneralizedRequest final : public Request {
 public:
  GeneralizedRequest(MPI_Grequest_query_function* query, MPI_Grequest_free_function* free,
                     MPI_Grequest_cancel_function* cancel, void* extra_state) noexcept
      : Request(false, CompletedBy::kProgram), query_(query), free_(free), cancel_(cancel), extra_state_(extra_state) {}

  Status start() override { return Status::error(MPI_ERR_REQUEST, "a generalized request is not persistent"); }
  Status query(MPI_Status& status) override { return outcome(query_(extra_state_, &status), "query"); }
  Status on_given_up() override { return outcome(free_(extra_state_), "free"); }
  // Without the lock, unlike other requests.
  Status cancel() override { return outcome(cancel_(extra_state_, done() ? 1 : 0), "cancel"); }
  void describe(wire::HangItem& item) const override;
  void destroy() noexcept override { delete this; }

 private:
  ~GeneralizedRequest() = default;
  static Status outcome(int code, const char* which);

  MPI_Grequest_query_function* query_;
  MPI_Grequest_free_function* free_;
  MPI_Grequest_cancel_function* cancel_;
  void* extra_state_;
};

// MPI_Grequest_complete, an error for every other sort of request. Takes the lock.
Status complete_generalized(engine::Engine& engine, Request* request);

}  // namespace lapwing::request
