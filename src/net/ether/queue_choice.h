// Which receive queue a rank takes, and where it runs then (paper 3: the process bound to the core that handles its queue). Pure but for the last
// function.
//
// The launcher says on which processors a rank may run; a rank never leaves these, because others may be elsewhere. So it looks for a queue that its
// own processors serve, and, where that is wished (LAPWING_ETHER_BIND), keeps of them only those. Ranks do not speak with each other for it: of
// several queues that the same processors serve, only the rank with the first one binds itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "net/ether/queue_service.h"

namespace lapwing::net::ether {

struct QueueOrder {
  std::vector<std::uint32_t> queues;  // all of them, the best first
  std::size_t own = 0;                // so many at the beginning are the first that a processor of the rank serves
};
QueueOrder order_queues(const std::vector<QueueService>& services, const ProcessorSet& own);

// On which of its processors a rank with this queue is to stay; it is none where it stays as it is, and `why` says why.
ProcessorSet processors_for(const std::vector<QueueService>& services, std::uint32_t queue, const ProcessorSet& own, std::string& why);

// Binds all threads of this process so, and says in half a sentence what has become of it, and why.
std::string stay_where_served(const std::vector<QueueService>& services, std::uint32_t queue);

}  // namespace lapwing::net::ether
