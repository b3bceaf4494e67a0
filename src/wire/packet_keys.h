// The keys of the packets between two ranks where they are sealed. Packets come without a handshake, so each rank's card has the public half of a key
// pair that its process made for itself, and each of the two computes the keys from its own pair, the other's card and the job's key: somebody who
// changes a card, and lacks the job's key, only makes that packets cannot be opened.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "wire/job_key.h"
#include "wire/secret.h"
#include "wire/session_keys.h"

namespace lapwing::wire {

class PacketKeys {
 public:
  static constexpr std::size_t kPublicKeyBytes = 32;

  // What a rank's card tells.
  struct Public {
    std::array<std::byte, kPublicKeyBytes> key{};  // X25519
    bool has_aes = false;                          // its processor has instructions for AES-256-GCM
  };

  // A pair of this process. `has_aes`: another answer than the processor's for tests.
  explicit PacketKeys(bool has_aes = Aead::has_aes()) noexcept;
  const Public& own() const noexcept { return public_; }

  // False: the peer's public key is no sound one.
  [[nodiscard]] bool agree(const JobKey& job, std::uint32_t self, std::uint32_t peer, const Public& peers, SessionKeys& keys) const noexcept;

 private:
  Secret secret_;
  Public public_;
};

// As the card has it: 64 hexadecimal digits, and ",aes" where that is so.
std::string encode_packet_key(const PacketKeys::Public& key);
bool decode_packet_key(std::string_view text, PacketKeys::Public& key) noexcept;

}  // namespace lapwing::wire
