#include "net/reliable/packet_sender.h"

#include <algorithm>

namespace lapwing::net::reliable {
namespace {

constexpr std::uint64_t kOvertaken = 3;        // transmissions
constexpr unsigned kCollapseAfter = 3;         // time-outs in a row
constexpr unsigned kMostBackoff = 8;

}  // namespace

// ---- packets on their way out ---------------------------------------------------------------------------------------

std::uint64_t PacketSender::add(Slot slot) {
  packets_.push_back({0, slot, State::kWaiting});
  return end() - 1;
}

bool PacketSender::next(std::int64_t now, Turn& turn) noexcept {
  const auto next_transmission = static_cast<std::uint32_t>(count_ + 1);
  if (probe_) {
    turn = {first_, next_transmission, at(first_).slot, true};
    return true;
  }
  while (!lost_.empty() && (lost_.front() < first_ || at(lost_.front()).state != State::kWaiting)) lost_.pop_front();
  if (!has_candidate() || !window_open() || pacer_.next(now) > now) return false;
  const std::uint64_t number = lost_.empty() ? unsent_ : lost_.front();
  const bool last_of_window = static_cast<double>(under_way_ + 1) >= congestion_.window();
  turn = {number, next_transmission, at(number).slot, last_of_window || number + 1 == allowed_ || !lost_.empty()};
  return true;
}

void PacketSender::sent(std::uint64_t number, std::int64_t now) noexcept {
  Packet& packet = at(number);
  if (probe_) {
    probe_ = false;
    ++counters_.probes;
  } else if (!lost_.empty()) {
    lost_.pop_front();
  }
  if (number == unsent_)
    ++unsent_;
  else
    ++counters_.sent_again;
  if (packet.state != State::kUnderWay) ++under_way_;
  if (under_way_ == 1) heard_at_ = now;
  packet.state = State::kUnderWay;
  sent_at_ = now;
  packet.transmission = ++count_;
  transmissions_.push_back({number, now});
  ++counters_.sent;
  pacer_.sent(now, congestion_.window(), congestion_.starting(), round_trip_.shortest());
}

std::int64_t PacketSender::paced_until(std::int64_t now) const noexcept {
  return has_candidate() && window_open() ? pacer_.next(now) : kNever;
}

// ---- what the peer says ---------------------------------------------------------------------------------------------

const char* PacketSender::acknowledge(std::uint32_t before, std::uint32_t heard, std::span<const std::uint64_t> map, std::int64_t now,
                                      std::vector<Slot>& freed) {
  const std::uint32_t fresh = before - static_cast<std::uint32_t>(first_);
  constexpr std::uint32_t kOld = std::uint32_t{1} << 31;  // one that others have overtaken
  if (fresh >= kOld) return nullptr;
  if (fresh > unsent_ - first_ || static_cast<std::uint32_t>(count_) - heard > count_) return "it acknowledges packets that were not sent";
  std::uint64_t arrivals = 0;
  for (const std::uint64_t up_to = first_ + fresh; first_ < up_to; ++first_) {
    arrivals += arrived(first_);
    freed.push_back(packets_.front().slot);
    packets_.pop_front();
  }
  arrivals += take_map(map);
  hear(heard, now);
  judge(arrivals, now);
  return nullptr;
}

std::uint64_t PacketSender::take_map(std::span<const std::uint64_t> map) noexcept {
  std::uint64_t arrivals = 0;
  for (std::size_t word = 0; word < map.size(); ++word) {
    for (std::uint64_t bits = map[word]; bits != 0; bits &= bits - 1) {
      const std::uint64_t number = first_ + 1 + 64 * word + static_cast<unsigned>(__builtin_ctzll(bits));
      if (number >= unsent_) return arrivals;  // a peer's claim that costs nothing but its own packets
      arrivals += arrived(number);
    }
  }
  return arrivals;
}

bool PacketSender::arrived(std::uint64_t number) noexcept {
  Packet& packet = at(number);
  if (packet.state == State::kArrived) return false;
  if (packet.state == State::kUnderWay) --under_way_;
  packet.state = State::kArrived;
  loss_.arrived();
  return true;
}

// The first time that a transmission is told, it is known how long its way and that of the answer took.
void PacketSender::hear(std::uint32_t transmission, std::int64_t now) noexcept {
  const std::uint64_t count = count_ - (static_cast<std::uint32_t>(count_) - transmission);
  if (count <= heard_) return;
  heard_ = count;
  const std::uint64_t before = count_ - transmissions_.size();  // those that are not kept
  if (count <= before) return;
  const Transmission& latest = transmissions_[static_cast<std::size_t>(count - before - 1)];
  // A packet that is sent while a batch is taken may be newer than the batch's time, and its answer may be in that batch.
  if (now > latest.sent_at) round_trip_.sample(now - latest.sent_at, now);
}

void PacketSender::judge(std::uint64_t fresh, std::int64_t now) noexcept {
  if (fresh != 0) {
    heard_at_ = now;
    backoff_ = 0;
    const bool limited = static_cast<double>(under_way_ + fresh) >= congestion_.window() * 0.9;
    congestion_.acknowledged(fresh, limited, now, round_trip_.smoothed());
  }
  if (fresh != 0 || first_ == unsent_) probe_ = false;  // there may be nothing left to ask about
  find_lost(now);
}

bool PacketSender::stale(const Transmission& transmission, std::uint64_t count) noexcept {
  if (transmission.number < first_) return true;
  const Packet& packet = at(transmission.number);
  return packet.state != State::kUnderWay || packet.transmission != count;
}

// The oldest transmissions first: where one is not lost, no later one is.
void PacketSender::find_lost(std::int64_t now) noexcept {
  reordered_until_ = kNever;
  for (; !transmissions_.empty(); transmissions_.pop_front()) {
    const Transmission oldest = transmissions_.front();
    const std::uint64_t count = count_ - transmissions_.size() + 1;
    if (stale(oldest, count)) continue;
    if (count > heard_) return;
    const std::int64_t late = oldest.sent_at + round_trip_.reordering();
    if (count + kOvertaken > heard_ && now < late) {
      reordered_until_ = late;
      return;
    }
    lose(oldest.number);
    if (oldest.number < cut_until_) continue;
    cut_until_ = unsent_;
    congestion_.lost(now);
  }
}

void PacketSender::lose(std::uint64_t number) noexcept {
  at(number).state = State::kWaiting;
  --under_way_;
  lost_.push_back(number);
  loss_.lost(1);
  ++counters_.lost;
}

void PacketSender::allow(std::uint32_t credit) noexcept {
  const std::uint32_t more = credit - static_cast<std::uint32_t>(allowed_);
  if (more <= wire::kMostPacketsUnderWay) allowed_ += more;
}

// ---- time -----------------------------------------------------------------------------------------------------------

std::int64_t PacketSender::deadline() const noexcept {
  if (packets_.empty() || unsent_ == first_) return kNever;
  const std::int64_t timeout = std::min(round_trip_.timeout() << std::min(backoff_, kMostBackoff), RoundTrip::kMostTimeout);
  return std::min(sent_at_ + timeout, reordered_until_);
}

void PacketSender::expired(std::int64_t now) noexcept {
  if (deadline() > now) return;
  if (reordered_until_ <= now) return find_lost(now);
  ++backoff_;
  sent_at_ = now;  // the next time-out counts from here, also where the carrier takes nothing now
  probe_ = true;
  if (backoff_ == kCollapseAfter) congestion_.timed_out(now);
}

void PacketSender::ask_now(std::int64_t now) noexcept {
  if (unsent_ == first_) return;
  backoff_ = 0;
  sent_at_ = now;
  probe_ = true;
}

void PacketSender::give_up(std::vector<Slot>& freed) {
  for (const Packet& packet : packets_) freed.push_back(packet.slot);
  first_ = unsent_ = end();
  packets_.clear();
  transmissions_.clear();
  lost_.clear();
  under_way_ = 0;
  probe_ = false;
  reordered_until_ = kNever;
}

}  // namespace lapwing::net::reliable
