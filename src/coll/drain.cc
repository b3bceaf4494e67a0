#include "coll/drain.h"

#include "datatype/datatype.h"

namespace lapwing::coll {

// A message that is just coming has an end of its own.
void Drain::stop() noexcept {
  for (auto& receive : awaited_) {
    (void)receive->cancel().ok();
    if (receive->done()) continue;
    receive->set_continuation([](engine::Operation& operation) noexcept { delete static_cast<Awaited*>(&operation); });
    (void)receive.release();
  }
  awaited_.clear();
}

void Drain::take(p2p::Messenger& messenger, p2p::ReceiveArguments message) {
  std::erase_if(awaited_, [](const auto& receive) { return receive->done(); });
  message.buffer = nullptr;
  message.count = 0;
  message.type = datatype::resolve(MPI_BYTE);
  awaited_.push_back(std::make_unique<Awaited>(message));
  messenger.start(*awaited_.back());
}

}  // namespace lapwing::coll
