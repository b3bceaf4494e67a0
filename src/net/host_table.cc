#include "net/host_table.h"

#include <string>
#include <unordered_map>

namespace lapwing::net {

std::uint32_t HostTable::number(ProcessId process) const {
  if (process.index >= cards_.size()) return kUnknown;
  if (one_host_) return 0;
  if (numbers_.empty()) read();
  return numbers_[process.index];
}

// A card that cannot be read is so on every rank.
void HostTable::read() const {
  std::unordered_map<std::string, std::uint32_t> known;
  wire::Card card;
  for (std::uint32_t rank = 0; rank < cards_.size(); ++rank) {
    if (!cards_.read(rank, card).ok() || !card.has("host")) {
      numbers_.push_back(kUnknown);
      continue;
    }
    numbers_.push_back(known.emplace(card.get("host"), static_cast<std::uint32_t>(known.size())).first->second);
  }
}

}  // namespace lapwing::net
