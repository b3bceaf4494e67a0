// The packets of one direction that have come: which are new, and what the peer is to be told of them. Pure; it sees no payload.
//
// Acknowledgements travel with what goes back. A packet of its own is made for them
//   at once    when a packet asked for it, came out of order or twice, or when kMostOwed are owed
//   later      by RoundTrip::kLatestAcknowledgement, or when its owner finds nothing else to do
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "net/reliable/loss_meter.h"
#include "wire/packet.h"

namespace lapwing::net::reliable {

class PacketReceiver {
 public:
  static constexpr std::uint64_t kWindow = wire::kMostPacketsUnderWay;
  static constexpr unsigned kMostOwed = 16;

  enum class Arrival {
    kNew,
    kAgain,   // it had come
    kBeyond,  // it must not have been sent: there is no credit for it
  };
  Arrival arrive(std::uint32_t number, std::uint32_t transmission, bool asks) noexcept;
  // Packets in a row that had come before. Many: what acknowledges them does not reach the peer.
  unsigned again_in_a_row() const noexcept { return again_in_a_row_; }
  // The latest transmission that has come.
  std::uint32_t heard() const noexcept { return heard_; }

  // Of what the peer has sent, transmissions of the same packet counted each.
  const LossMeter& loss() const noexcept { return loss_; }

  // All packets before it have come.
  std::uint64_t received() const noexcept { return received_; }
  // The bitmap of what has come beyond it (wire/packet.h): its words, none at the end that are 0.
  std::size_t map(std::uint64_t* words) const noexcept;

  // The peer may send packets before it. `window`: how many the owner has memory for at present.
  std::uint32_t credit(std::uint64_t window) noexcept;

  bool owes() const noexcept { return owed_ != 0; }
  bool owes_now() const noexcept { return now_ || owed_ >= kMostOwed; }
  // What leaves now says all.
  void told() noexcept { owed_ = 0, now_ = false; }

 private:
  static constexpr std::size_t kWords = kWindow / 64;
  bool has(std::uint64_t number) const noexcept { return (bits_[number / 64 % kWords] >> (number % 64) & 1) != 0; }
  void set(std::uint64_t number) noexcept { bits_[number / 64 % kWords] |= std::uint64_t{1} << (number % 64); }
  void clear(std::uint64_t number) noexcept { bits_[number / 64 % kWords] &= ~(std::uint64_t{1} << (number % 64)); }

  Arrival came_again() noexcept {
    ++again_in_a_row_;
    return Arrival::kAgain;
  }
  void hear(std::uint32_t transmission) noexcept;

  LossMeter loss_;
  std::array<std::uint64_t, kWords> bits_{};  // of the packets from received_ on, each at its number modulo kWindow
  std::uint64_t received_ = 0;
  std::uint64_t highest_ = 0;   // one more than the highest number that has come
  std::uint64_t allowed_ = 64;  // PacketSender::kFirstCredit
  std::uint32_t heard_ = 0;
  unsigned owed_ = 0;
  unsigned again_in_a_row_ = 0;
  bool now_ = false;
};

}  // namespace lapwing::net::reliable
