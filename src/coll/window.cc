#include "coll/window.h"

#include <algorithm>

#include "base/tuning.h"

namespace lapwing::coll {
namespace {

// What the way to a rank holds while the next message is asked for.
std::uint64_t bytes_in_flight(const model::Link& link) noexcept {
  if (link.per_byte <= 0) return 0;
  return static_cast<std::uint64_t>(2 * (link.latency + 2 * link.overhead) / link.per_byte);
}

}  // namespace

Window::Window(const Schedule& schedule) noexcept
    : most_transfers_(tuning().coll_alltoall_under_way), others_(static_cast<std::uint64_t>(schedule.size()) - 1) {
  const Situation team = schedule.situation();
  if (team.link != model::LinkKind::kHosts) return;
  const std::uint64_t sharing = team.levels == nullptr ? 1 : static_cast<std::uint64_t>(team.levels->most_members());
  most_bytes_ = std::max<std::uint64_t>(tuning().coll_port_bytes, bytes_in_flight(team.parameters->link(team.link))) / sharing;
}

bool Window::has_room_for(std::uint64_t bytes) const noexcept {
  if (under_way_.size() >= most_transfers_) return false;
  return under_way_.size() < 2 || bytes_under_way_ + bytes <= most_bytes_;
}

void Window::make_room(Schedule& schedule, std::uint64_t bytes) {
  while (!has_room_for(bytes)) {
    gate_ = schedule.join({gate_, under_way_.front().step});
    bytes_under_way_ -= under_way_.front().bytes;
    under_way_.pop_front();
  }
}

bool Window::asks(std::uint64_t bytes) const noexcept {
  return most_bytes_ != kAnyBytes && bytes >= tuning().coll_least_asked && others_ > most_bytes_ / bytes;
}

}  // namespace lapwing::coll
