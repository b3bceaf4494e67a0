#include "net/tcp/rails.h"

#include <algorithm>

namespace lapwing::net::tcp {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kFirstPause = kSecond, kLongestPause = 64 * kSecond;  // between two attempts to make rails

}  // namespace

Rails::Rails(SharedState& shared, PeerId peer, const std::vector<Address>& addresses, bool same_host,
             const std::vector<CommonNetwork>& networks, RailUser& user)
    : shared_(shared) {
  const bool is_low = shared.own_name() < shared.name(peer);
  for (const CommonNetwork& network : networks) {
    const auto number = static_cast<std::uint16_t>(rails_.size() + 1);
    rails_.push_back({std::make_unique<Link>(shared, peer, addresses, same_host, Rail{number, is_low ? network.high : network.low, &user}), {}});
  }
}

// ---- which rail -----------------------------------------------------------------------------------------------------

Link* Rails::choose(std::uint64_t bytes) noexcept {
  const std::int64_t now = shared_.engine.clock().now();
  const std::size_t standing = look(now);
  if (standing < rails_.size()) make_missing(now);
  if (standing < 2) return nullptr;
  const double unknown = fastest();  // one that has not shown its rate gets the chance to
  Entry* best = nullptr;
  double best_end = 0;
  for (Entry& rail : rails_) {
    if (!rail.stood) continue;
    const double rate = rail.meter.rate() != 0 ? rail.meter.rate() : unknown;
    const double end = static_cast<double>(rail.link->backlog() + bytes) / rate;
    if (best != nullptr && end >= best_end) continue;
    best = &rail;
    best_end = end;
  }
  best->meter.give(wire::kHeaderBytes + bytes);
  return best->link.get();
}

// How many stand.
std::size_t Rails::look(std::int64_t now) noexcept {
  std::size_t standing = 0;
  for (Entry& rail : rails_) {
    const bool stands = rail.link->state() == Link::State::kOpen;
    if (stands && !rail.stood) rail.meter.begin(now);
    if (stands) rail.meter.look(now, rail.link->backlog());
    rail.stood = stands;
    standing += stands;
  }
  return standing;
}

double Rails::fastest() const noexcept {
  double fastest = 1;
  for (const Entry& rail : rails_) fastest = std::max(fastest, rail.meter.rate());
  return fastest;
}

// Those that stood once mend themselves.
void Rails::make_missing(std::int64_t now) noexcept {
  if (now < next_try_) return;
  pause_ = std::clamp(2 * pause_, kFirstPause, kLongestPause);
  next_try_ = now + pause_;
  for (Entry& rail : rails_) rail.link->watch_over();
}

// ---- all of them ----------------------------------------------------------------------------------------------------

bool Rails::something_to_send() const noexcept {
  return std::any_of(rails_.begin(), rails_.end(), [](const Entry& rail) { return rail.link->something_to_send(); });
}

bool Rails::settled() const noexcept {
  return std::all_of(rails_.begin(), rails_.end(), [](const Entry& rail) { return rail.link->settled(); });
}

void Rails::ask() noexcept {
  for (const Entry& rail : rails_) rail.link->ask();
}

bool Rails::inspect() noexcept {
  bool under_way = false;
  for (Entry& rail : rails_) under_way |= rail.link->inspect();
  return under_way;
}

void Rails::close() noexcept {
  for (Entry& rail : rails_) rail.link->close();
}

void Rails::end(const Status& why) noexcept {
  for (Entry& rail : rails_) rail.link->end_with(why);
}

}  // namespace lapwing::net::tcp
