// Authenticated encryption of the records of one direction of one connection, or of the packets from one rank to another, by libsodium.
//
// A nonce is the number of a record or packet, and never comes twice under a key: each direction has a key of its own. A key is replaced by one
// that is computed from it after kRecordsPerKey records (packet_seal.h: kPacketsPerKey packets), so that it never encrypts more than 2^34 blocks of
// AES: RFC 8446, section 5.5, allows 2^34.5 for a margin of 2^-57. The one that was replaced is wiped.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/secret.h"

namespace lapwing::wire {

enum class Cipher {
  kAes256Gcm,         // where both processors have instructions for it
  kChaCha20Poly1305,  // everywhere
};

class Aead {
 public:
  static constexpr std::size_t kTagBytes = 16;
  static constexpr std::uint64_t kRecordsPerKey = std::uint64_t{1} << 22;  // of at most 2^12 blocks each

  Aead(Cipher cipher, const Secret& key) noexcept;
  ~Aead();
  Aead(const Aead&) = delete;
  Aead& operator=(const Aead&) = delete;

  // `header` is authenticated and stays as it is. `in` and `out` are the same, or do not overlap.
  void encrypt(std::uint64_t number, const std::byte* header, std::size_t header_bytes, const std::byte* in,
               std::size_t bytes, std::byte* out, std::byte* tag) const noexcept;
  // False: something is not as it was, and `out` is of no use.
  [[nodiscard]] bool decrypt(std::uint64_t number, const std::byte* header, std::size_t header_bytes, const std::byte* in,
                             std::size_t bytes, const std::byte* tag, std::byte* out) const noexcept;
  // What replaces the key when it has been used enough.
  Secret next_key() const noexcept;
  void renew() noexcept;
  const char* describe() const noexcept {
    return cipher_ == Cipher::kAes256Gcm ? "sealed by AES-256-GCM" : "sealed by ChaCha20-Poly1305";
  }

  static bool has_aes() noexcept;

 private:
  void expand() noexcept;

  const Cipher cipher_;
  Secret key_;
  alignas(64) std::byte expanded_[512];  // AES: the key as the instructions want it
};

}  // namespace lapwing::wire
