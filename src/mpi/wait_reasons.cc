#include "mpi/wait_reasons.h"

#include "coll/collective_request.h"
#include "mpi/completion.h"

namespace lapwing::mpi {

wire::HangItem describe_for_hang(const p2p::Request& request) {
  using Kind = p2p::Request::Kind;
  if (request.kind() == Kind::kSend) return p2p::Messenger::describe(static_cast<const p2p::SendRequest&>(request));
  if (request.kind() == Kind::kReceive)
    return p2p::Messenger::describe(static_cast<const p2p::ReceiveRequest&>(request));
  wire::HangItem item;
  if (request.kind() == Kind::kCollective) {
    static_cast<const coll::CollectiveRequest&>(request).describe(item);
  } else {
    if (request.communicator() != nullptr) item.communicator = request.communicator()->name;
    item.state = request.kind() == Kind::kGeneralized    ? "a generalized request, which the program itself completes"
                 : request.kind() == Kind::kPartitioned ? "partitioned communication"
                                                        : "a request of several parts";
  }
  return item;
}

void RequestWait::describe(wire::HangWait& wait) const {
  wait.items.push_back(describe_for_hang(request_));
}

// With more requests than the report has room for: where any of them is enough, one that awaits no rank stands for the rest, because
// the launcher must not conclude from a part.
void RequestsWait::describe(wire::HangWait& wait) const {
  wait.any = any_;
  for (int i = 0; i < count_; ++i) {
    const p2p::Request* request = request_of(requests_[i]);
    if (request == nullptr || !request->active() || request->done()) continue;
    if (wait.items.size() < wire::HangReport::kMaxItems) {
      wait.items.push_back(describe_for_hang(*request));
    } else {
      if (any_) wait.items.back() = {};
      if (any_) wait.items.back().state = "and more requests";
      return;
    }
  }
}

void ProbeWait::describe(wire::HangWait& wait) const {
  wait.items.push_back(p2p::Messenger::describe_probe(communicator_, source_, tag_));
}

}  // namespace lapwing::mpi
