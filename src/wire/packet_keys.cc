#include "wire/packet_keys.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>

#include "wire/little_endian.h"
#include "wire/raw_bytes.h"

namespace lapwing::wire {
namespace {

static_assert(crypto_scalarmult_BYTES == PacketKeys::kPublicKeyBytes && crypto_scalarmult_SCALARBYTES == Secret::kBytes);
static_assert(kProofBytes == Secret::kBytes);

constexpr std::string_view kLabel = "lapwing packets seal 2 ";
constexpr std::string_view kAes = ",aes";

struct Side {
  std::uint32_t rank;
  const PacketKeys::Public& key;
};

// What a key stands for: who sends to whom, and by which pairs.
class Text {
 public:
  Text(const Secret& shared, const Side& sender, const Side& receiver) noexcept {
    add(kLabel.data(), kLabel.size());
    add(shared.bytes.data(), Secret::kBytes);
    for (const Side* side : {&sender, &receiver}) {
      store_little(text_ + bytes_, side->rank);
      bytes_ += sizeof side->rank;
      text_[bytes_++] = std::byte{side->key.has_aes};
      add(side->key.key.data(), side->key.key.size());
    }
  }
  ~Text() { sodium_memzero(text_, sizeof text_); }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  void make_key(const JobKey& job, Secret& key) const noexcept { job.authenticate(text_, bytes_, key.bytes.data()); }

 private:
  static constexpr std::size_t kSideBytes = sizeof(std::uint32_t) + 1 + PacketKeys::kPublicKeyBytes;

  void add(const void* from, std::size_t bytes) noexcept {
    std::memcpy(text_ + bytes_, from, bytes);
    bytes_ += bytes;
  }

  std::byte text_[kLabel.size() + Secret::kBytes + 2 * kSideBytes];
  std::size_t bytes_ = 0;
};

}  // namespace

PacketKeys::PacketKeys(bool has_aes) noexcept : secret_(Secret::random()) {
  public_.has_aes = has_aes;
  crypto_scalarmult_base(raw(public_.key.data()), raw(secret_.bytes.data()));
}

bool PacketKeys::agree(const JobKey& job, std::uint32_t self, std::uint32_t peer, const Public& peers, SessionKeys& keys) const noexcept {
  Secret shared;
  if (crypto_scalarmult(raw(shared.bytes.data()), raw(secret_.bytes.data()), raw(peers.key.data())) != 0) return false;
  Text(shared, {self, public_}, {peer, peers}).make_key(job, keys.own);
  Text(shared, {peer, peers}, {self, public_}).make_key(job, keys.peers);
  keys.cipher = public_.has_aes && peers.has_aes ? Cipher::kAes256Gcm : Cipher::kChaCha20Poly1305;
  return true;
}

std::string encode_packet_key(const PacketKeys::Public& key) {
  char digits[2 * PacketKeys::kPublicKeyBytes + 1];
  sodium_bin2hex(digits, sizeof digits, raw(key.key.data()), key.key.size());
  return std::string(digits) + (key.has_aes ? std::string(kAes) : std::string());
}

bool decode_packet_key(std::string_view text, PacketKeys::Public& key) noexcept {
  constexpr std::size_t kDigits = 2 * PacketKeys::kPublicKeyBytes;
  key.has_aes = text.size() == kDigits + kAes.size() && text.substr(kDigits) == kAes;
  if (text.size() != kDigits + (key.has_aes ? kAes.size() : 0)) return false;
  std::size_t bytes = 0;
  return sodium_hex2bin(raw(key.key.data()), key.key.size(), text.data(), kDigits, nullptr, &bytes, nullptr) == 0 && bytes == key.key.size();
}

}  // namespace lapwing::wire
