#include "wire/aead.h"

#include <sodium.h>

#include <array>
#include <string_view>

#include "wire/little_endian.h"
#include "wire/raw_bytes.h"

namespace lapwing::wire {
namespace {

static_assert(crypto_aead_aes256gcm_KEYBYTES == Secret::kBytes && crypto_aead_chacha20poly1305_ietf_KEYBYTES == Secret::kBytes);
static_assert(crypto_aead_aes256gcm_ABYTES == Aead::kTagBytes && crypto_aead_chacha20poly1305_ietf_ABYTES == Aead::kTagBytes);

constexpr std::size_t kNonceLength = 12;
static_assert(crypto_aead_aes256gcm_NPUBBYTES == kNonceLength && crypto_aead_chacha20poly1305_ietf_NPUBBYTES == kNonceLength);

constexpr std::string_view kRenewalLabel = "lapwing renewed 2";

std::array<std::byte, kNonceLength> nonce_of(std::uint64_t number) noexcept {
  std::array<std::byte, kNonceLength> nonce{};
  store_little(nonce.data(), number);
  return nonce;
}

}  // namespace

Aead::Aead(Cipher cipher, const Secret& key) noexcept : cipher_(cipher), key_(key) {
  expand();
}

Aead::~Aead() {
  sodium_memzero(expanded_, sizeof expanded_);
}

void Aead::expand() noexcept {
  static_assert(sizeof(crypto_aead_aes256gcm_state) <= sizeof expanded_);
  if (cipher_ == Cipher::kAes256Gcm)
    crypto_aead_aes256gcm_beforenm(reinterpret_cast<crypto_aead_aes256gcm_state*>(expanded_), raw(key_.bytes.data()));
}

void Aead::encrypt(std::uint64_t number, const std::byte* header, std::size_t header_bytes, const std::byte* in,
                   std::size_t bytes, std::byte* out, std::byte* tag) const noexcept {
  const auto nonce = nonce_of(number);
  if (cipher_ == Cipher::kAes256Gcm)
    crypto_aead_aes256gcm_encrypt_detached_afternm(raw(out), raw(tag), nullptr, raw(in), bytes, raw(header), header_bytes, nullptr,
                                                   raw(nonce.data()),
                                                   reinterpret_cast<const crypto_aead_aes256gcm_state*>(expanded_));
  else
    crypto_aead_chacha20poly1305_ietf_encrypt_detached(raw(out), raw(tag), nullptr, raw(in), bytes, raw(header), header_bytes, nullptr,
                                                       raw(nonce.data()), raw(key_.bytes.data()));
}

bool Aead::decrypt(std::uint64_t number, const std::byte* header, std::size_t header_bytes, const std::byte* in,
                   std::size_t bytes, const std::byte* tag, std::byte* out) const noexcept {
  const auto nonce = nonce_of(number);
  if (cipher_ == Cipher::kAes256Gcm)
    return crypto_aead_aes256gcm_decrypt_detached_afternm(raw(out), nullptr, raw(in), bytes, raw(tag), raw(header), header_bytes,
                                                          raw(nonce.data()),
                                                          reinterpret_cast<const crypto_aead_aes256gcm_state*>(expanded_)) == 0;
  return crypto_aead_chacha20poly1305_ietf_decrypt_detached(raw(out), nullptr, raw(in), bytes, raw(tag), raw(header), header_bytes,
                                                            raw(nonce.data()), raw(key_.bytes.data())) == 0;
}

Secret Aead::next_key() const noexcept {
  Secret next;
  crypto_generichash(raw(next.bytes.data()), next.bytes.size(), reinterpret_cast<const unsigned char*>(kRenewalLabel.data()), kRenewalLabel.size(),
                     raw(key_.bytes.data()), key_.bytes.size());
  return next;
}

void Aead::renew() noexcept {
  key_ = next_key();
  expand();
}

bool Aead::has_aes() noexcept {
  return crypto_aead_aes256gcm_is_available() != 0;
}

}  // namespace lapwing::wire
