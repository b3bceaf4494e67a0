// What makes of a packet (packet.h) one that is sealed (docs/wire-format.md, Sealed packets), and the other way round. A carrier that loses, doubles
// and reorders brings each by itself, so each tells its number; one that is sent again has another number, and looks like no other.
//
//   0          40                  40 + bytes       + 8          + 16
//   | header   | body, encrypted   | number         | tag        |
//
// The header is authenticated and stays as it is: the receiver's kernel reads it. Pure: spans in, spans out. One object stands for one direction
// between two ranks, at one of its ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "wire/aead.h"
#include "wire/packet.h"
#include "wire/packet_frame.h"
#include "wire/replay_window.h"

namespace lapwing::wire {

inline constexpr std::size_t kPacketSealBytes = sizeof(std::uint64_t) + Aead::kTagBytes;
// Of at most 2^10 blocks of AES each: no more blocks under a key than records have (aead.h).
inline constexpr std::uint64_t kPacketsPerKey = std::uint64_t{1} << 24;
static_assert(kMostFramedPacket <= (std::size_t{1} << 10) * 16);

class PacketSealer {
 public:
  // `packets_per_key`: another number for tests.
  PacketSealer(Cipher cipher, const Secret& key, std::uint64_t packets_per_key = kPacketsPerKey) noexcept
      : aead_(cipher, key), packets_per_key_(packets_per_key) {}

  const char* describe() const noexcept { return aead_.describe(); }
  // `packet`: as encode() and stamp() have made it. `out`: for as many bytes and kPacketSealBytes more. Returns how many they are.
  std::size_t close(const std::byte* packet, std::byte* out) noexcept;

 private:
  Aead aead_;
  const std::uint64_t packets_per_key_;
  std::uint64_t number_ = 0;
};

class PacketOpener {
 public:
  PacketOpener(Cipher cipher, const Secret& key, std::uint64_t packets_per_key = kPacketsPerKey)
      : cipher_(cipher), packets_per_key_(packets_per_key), aead_(std::make_unique<Aead>(cipher, key)) {}

  enum class Outcome {
    kOpened,
    kAgain,  // it has come before, or is so late that this is not known any more
    kWrong,  // it is not as the peer has sent it
  };
  // `header`: what decode_header() has found in the `size` bytes. `out`: for the packet as the peer had it before it was sealed; of use only where
  // it is opened.
  Outcome open(const PacketHeader& header, const std::byte* packet, std::size_t size, std::byte* out);

 private:
  Aead* key_of(std::uint64_t number);

  const Cipher cipher_;
  const std::uint64_t packets_per_key_;
  std::unique_ptr<Aead> aead_, next_;  // the latest key that the peer has used, and the one after it, where that was looked at
  std::uint64_t key_number_ = 0;
  ReplayWindow window_;
};

}  // namespace lapwing::wire
