#include "comm/communicator.h"

#include "comm/error_handler.h"

namespace lapwing::comm {

Communicator::Communicator(std::uint64_t context, Group* local, Group* remote) noexcept
    : Object(ObjectKind::kCommunicator),
      context_(context),
      rank_(local->rank()),
      local_(local),
      remote_(remote),
      peers_(remote != nullptr ? remote : local) {}

Communicator::~Communicator() {
  drop_error_handler(error_handler_);
  Group::drop(local_);
  Group::drop(remote_);
}

void Communicator::drop(Communicator* communicator) noexcept {
  if (communicator != nullptr && communicator->release()) delete communicator;
}

}  // namespace lapwing::comm
