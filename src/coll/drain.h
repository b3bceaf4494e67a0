// The messages that still come to a collective call that this rank has given up (collective_request.h): they are received into nothing, so that no
// sender waits for an answer, and none stays among the unexpected ones. With the endpoint's lock held.
#pragma once

#include <memory>
#include <vector>

#include "p2p/messenger.h"
#include "p2p/receive_request.h"

namespace lapwing::coll {

class Drain {
 public:
  Drain() = default;
  ~Drain() { stop(); }
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  // One message, whatever its length.
  void take(p2p::Messenger& messenger, p2p::ReceiveArguments message);
  // Those that have not come are awaited no longer.
  void stop() noexcept;

 private:
  struct Awaited final : p2p::ReceiveRequest {
    using ReceiveRequest::ReceiveRequest;
  };
  std::vector<std::unique_ptr<Awaited>> awaited_;
};

}  // namespace lapwing::coll
