// What a thread that waits in an MPI call says in a report on a hang (docs/debugging.md). Each refers to what its caller keeps meanwhile.
#pragma once

#include "engine/wait_reason.h"
#include "mpi.h"
#include "mpi/process.h"
#include "p2p/receive_request.h"
#include "p2p/send_request.h"
#include "wire/hang_report.h"

namespace lapwing::mpi {

wire::HangItem describe_for_hang(const p2p::Request& request);

// For one request of any kind.
class RequestWait final : public engine::WaitReason {
 public:
  RequestWait(const char* call, const p2p::Request& request) noexcept : WaitReason(call), request_(request) {}
  void describe(wire::HangWait& wait) const override;

 private:
  const p2p::Request& request_;
};

// For a user's requests: all of them, or any.
class RequestsWait final : public engine::WaitReason {
 public:
  RequestsWait(const char* call, int count, const MPI_Request requests[], bool any) noexcept
      : WaitReason(call), count_(count), requests_(requests), any_(any) {}
  void describe(wire::HangWait& wait) const override;

 private:
  int count_;
  const MPI_Request* requests_;
  bool any_;
};

// For a message that can be probed for.
class ProbeWait final : public engine::WaitReason {
 public:
  ProbeWait(const char* call, comm::Communicator& communicator, int source, int tag) noexcept
      : WaitReason(call), communicator_(communicator), source_(source), tag_(tag) {}
  void describe(wire::HangWait& wait) const override;

 private:
  comm::Communicator& communicator_;
  int source_;
  int tag_;
};

// Blocks until `request` is done.
inline void wait_in(const char* call, engine::Call& visit, p2p::Request& request) noexcept {
  visit.wait_because<RequestWait>(request, call, request);
}

}  // namespace lapwing::mpi
