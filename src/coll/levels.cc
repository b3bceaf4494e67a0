#include "coll/levels.h"

#include <algorithm>
#include <unordered_map>

namespace lapwing::coll {

std::unique_ptr<const Levels> Levels::make(const std::vector<std::uint32_t>& host_of, int rank) {
  std::unique_ptr<const Levels> made(new Levels(host_of, rank));
  const bool worth_it = made->hosts() > 1 && made->most_members() > 1;
  return worth_it ? std::move(made) : nullptr;
}

Levels::Levels(const std::vector<std::uint32_t>& host_of, int rank) : rank_(rank) {
  std::unordered_map<std::uint32_t, int> known;
  for (int each = 0; each < static_cast<int>(host_of.size()); ++each) {
    const int host = known.emplace(host_of[static_cast<std::size_t>(each)], hosts()).first->second;
    if (host == hosts()) members_.emplace_back();
    std::vector<int>& members = members_[static_cast<std::size_t>(host)];
    in_order_ = in_order_ && (members.empty() || members.back() == each - 1);
    host_of_.push_back(host);
    place_of_.push_back(static_cast<int>(members.size()));
    members.push_back(each);
    most_members_ = std::max(most_members_, static_cast<int>(members.size()));
  }
}

std::vector<int> Levels::speakers(int root) const {
  std::vector<int> ranks;
  for (const std::vector<int>& members : members_) ranks.push_back(members.front());
  ranks[static_cast<std::size_t>(host_of(root))] = root;
  return ranks;
}

}  // namespace lapwing::coll
