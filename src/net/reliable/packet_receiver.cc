#include "net/reliable/packet_receiver.h"

#include <algorithm>

namespace lapwing::net::reliable {

PacketReceiver::Arrival PacketReceiver::arrive(std::uint32_t number, std::uint32_t transmission, bool asks) noexcept {
  ++owed_;
  hear(transmission);
  const std::uint32_t ahead = number - static_cast<std::uint32_t>(received_);
  if (ahead >= kWindow) {
    constexpr std::uint32_t kBehind = std::uint32_t{1} << 31;
    now_ = true;
    return ahead >= kBehind ? came_again() : Arrival::kBeyond;
  }
  const std::uint64_t whole = received_ + ahead;
  if (whole >= allowed_) return Arrival::kBeyond;
  now_ |= asks || ahead != 0 || highest_ != received_;
  if (has(whole)) return came_again();
  again_in_a_row_ = 0;
  set(whole);
  highest_ = std::max(highest_, whole + 1);
  while (has(received_)) clear(received_++);
  return Arrival::kNew;
}

// Those between the latest and this one have not come, or are overtaken.
void PacketReceiver::hear(std::uint32_t transmission) noexcept {
  constexpr std::uint32_t kBehind = std::uint32_t{1} << 31;
  const std::uint32_t ahead = transmission - heard_;
  if (ahead >= kBehind) return loss_.came_late();
  heard_ = transmission;
  loss_.arrived();
  if (ahead > 1) loss_.lost(ahead - 1);
}

std::size_t PacketReceiver::map(std::uint64_t* words) const noexcept {
  if (highest_ <= received_ + 1) return 0;
  const std::uint64_t bits = highest_ - received_ - 1;
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>((bits + 63) / 64, wire::kMostMapWords));
  for (std::size_t word = 0; word < count; ++word) {
    words[word] = 0;
    const std::uint64_t begin = received_ + 1 + 64 * word;
    for (std::uint64_t bit = 0; bit < 64 && begin + bit < highest_; ++bit) words[word] |= std::uint64_t{has(begin + bit)} << bit;
  }
  return count;
}

std::uint32_t PacketReceiver::credit(std::uint64_t window) noexcept {
  allowed_ = std::max(allowed_, received_ + std::min(window, kWindow));
  return static_cast<std::uint32_t>(allowed_);
}

}  // namespace lapwing::net::reliable
