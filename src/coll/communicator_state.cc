#include "coll/communicator_state.h"

#include "coll/collective_request.h"

namespace lapwing::coll {

CommunicatorState::CommunicatorState() = default;
CommunicatorState::~CommunicatorState() = default;

void make_state(comm::Communicator& communicator) {
  communicator.collectives = std::make_unique<CommunicatorState>();
}

}  // namespace lapwing::coll
