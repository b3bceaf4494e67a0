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
  packets_.push_back({0, 0, slot, State::kWaiting, false});
  return end() - 1;
}

bool PacketSender::next(std::int64_t now, Turn& turn) noexcept {
  if (probe_) {
    turn = {first_, at(first_).slot, true};
    return true;
  }
  while (!lost_.empty() && (lost_.front() < first_ || at(lost_.front()).state != State::kWaiting)) lost_.pop_front();
  if (!has_candidate() || !window_open() || pacer_.next(now) > now) return false;
  const std::uint64_t number = lost_.empty() ? unsent_ : lost_.front();
  const bool last_of_window = static_cast<double>(under_way_ + 1) >= congestion_.window();
  turn = {number, at(number).slot, last_of_window || number + 1 == allowed_ || !lost_.empty()};
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
    packet.again = true, ++counters_.sent_again;
  if (packet.state != State::kUnderWay) ++under_way_;
  if (under_way_ == 1) heard_at_ = now;
  packet.state = State::kUnderWay;
  packet.sent_at = sent_at_ = now;
  packet.transmission = ++count_;
  transmissions_.push_back({number, count_});
  ++counters_.sent;
  pacer_.sent(now, congestion_.window(), congestion_.starting(), round_trip_.smoothed());
}

std::int64_t PacketSender::paced_until(std::int64_t now) const noexcept {
  return has_candidate() && window_open() ? pacer_.next(now) : kNever;
}

// ---- what the peer says ---------------------------------------------------------------------------------------------

const char* PacketSender::acknowledge(std::uint32_t before, std::span<const std::uint64_t> map, std::int64_t now, std::vector<Slot>& freed) {
  const std::uint32_t fresh = before - static_cast<std::uint32_t>(first_);
  if (fresh > wire::kMostPacketsUnderWay) {
    constexpr std::uint32_t kOld = std::uint32_t{1} << 31;  // one that others have overtaken
    return fresh >= kOld ? nullptr : "it acknowledges packets that were not sent";
  }
  if (fresh > unsent_ - first_) return "it acknowledges packets that were not sent";
  News news;
  const std::uint64_t up_to = first_ + fresh;
  for (std::uint64_t number = first_; number < up_to; ++number) arrived(number, news);
  while (first_ < up_to) {
    freed.push_back(packets_.front().slot);
    packets_.pop_front();
    ++first_;
  }
  take_map(map, news);
  judge(news, now);
  return nullptr;
}

void PacketSender::take_map(std::span<const std::uint64_t> map, News& news) noexcept {
  for (std::size_t word = 0; word < map.size(); ++word) {
    for (std::uint64_t bits = map[word]; bits != 0; bits &= bits - 1) {
      const std::uint64_t number = first_ + 1 + 64 * word + static_cast<unsigned>(__builtin_ctzll(bits));
      if (number >= unsent_) return;  // a peer's claim that costs nothing but its own packets
      arrived(number, news);
    }
  }
}

void PacketSender::arrived(std::uint64_t number, News& news) noexcept {
  Packet& packet = at(number);
  if (packet.state == State::kArrived) return;
  if (packet.state == State::kUnderWay) --under_way_;
  packet.state = State::kArrived;
  ++news.arrived;
  if (packet.transmission > news.latest) {
    news.latest = packet.transmission;
    news.latest_sent_at = packet.sent_at;
  }
  if (!packet.again && packet.sent_at > news.measured_sent_at) {
    news.measured_sent_at = packet.sent_at;
    news.measured_number = number;
  }
}

void PacketSender::judge(const News& news, std::int64_t now) noexcept {
  if (news.arrived == 0) return;
  const bool limited = static_cast<double>(under_way_ + news.arrived) >= congestion_.window() * 0.9;
  heard_at_ = now;
  backoff_ = 0;
  probe_ = false;
  if (news.latest > latest_arrived_) {
    latest_arrived_ = news.latest;
    latest_arrived_sent_at_ = news.latest_sent_at;
  }
  if (news.measured_sent_at >= 0) {
    round_trip_.sample(now - news.measured_sent_at);
    congestion_.measured(now - news.measured_sent_at, news.measured_number, unsent_);
  }
  congestion_.acknowledged(news.arrived, limited, now, round_trip_.smoothed());
  find_lost(now);
}

bool PacketSender::stale(const Transmission& transmission) noexcept {
  if (transmission.number < first_) return true;
  const Packet& packet = at(transmission.number);
  return packet.state != State::kUnderWay || packet.transmission != transmission.count;
}

// The oldest transmissions first: where one is not lost, no later one is.
void PacketSender::find_lost(std::int64_t now) noexcept {
  reordered_until_ = kNever;
  while (!transmissions_.empty()) {
    const Transmission oldest = transmissions_.front();
    if (!stale(oldest)) {
      if (oldest.count > latest_arrived_) return;
      const std::int64_t late = at(oldest.number).sent_at + round_trip_.reordering();
      if (oldest.count + kOvertaken > latest_arrived_ && now < late) {
        reordered_until_ = late;
        return;
      }
      lose(oldest.number);
      if (oldest.number >= cut_until_) {
        cut_until_ = unsent_;
        congestion_.lost(now);
      }
    }
    transmissions_.pop_front();
  }
}

void PacketSender::lose(std::uint64_t number) noexcept {
  at(number).state = State::kWaiting;
  --under_way_;
  lost_.push_back(number);
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
